"""What the rules look at: a file, its judges, and where their answers go."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.asking import asks_of
from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.harnessing import wrappers_of
from judgeharness_integrations.migration.imported import imported_sites
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.sites import find_sites
from judgeharness_integrations.migration.sources import ConfigSource, Source

if TYPE_CHECKING:
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["ConfigInspection", "Inspection", "described"]


class Inspection:
    """A Python file under inspection."""

    def __init__(self, source: Source) -> None:
        """Find its judges.

        Raises:
            SourceError: it cannot be parsed.

        """
        self.source = source
        own = find_sites(source)
        self.sites = (*own, *imported_sites(source.view)) if source.tree is not None else own
        self._flows: dict[tuple[JudgeSite, bool], Flow] = {}

    @property
    def view(self) -> ModuleView:
        """What its tree says."""
        return self.source.view

    @cached_property
    def judges(self) -> tuple[JudgeSite, ...]:
        """The judges of this file no harness asks."""
        return tuple(site for site in self.used if site.definition is None)

    @cached_property
    def used(self) -> tuple[JudgeSite, ...]:
        """The judges no harness asks, those of other scanned files that are used here too."""
        return tuple(site for site in self.sites if not site.harnessed and not site.deterministic)

    def asks(self, site: JudgeSite) -> tuple[cst.Call, ...]:
        """The calls that ask a judge; one written by hand is such a call itself."""
        if site.node is None:
            return ()
        if site.uses:
            return site.uses
        if site.kind in {"invoke", "run_evaluator"}:
            return (site.node,)
        makers = (site.node, *wrappers_of(self.view, site.node)) if site.harnessed else (site.node,)
        return tuple(ask.call for made in makers for ask in asks_of(self.view, made))

    def flow(self, site: JudgeSite, *, decisions: bool = True) -> Flow:
        """Where a judge's answers go."""
        if (site, decisions) not in self._flows:
            asks = self.asks(site)
            several = any(self._samples(ask) > 1 for ask in asks)
            self._flows[site, decisions] = Flow(self.view, asks, decisions=decisions, several=several)
        return self._flows[site, decisions]

    def _samples(self, ask: cst.Call) -> int:
        given = self.view.argument(ask, "n")
        value = self.view.value(given) if given is not None else 1
        return value if isinstance(value, int) else 1

    def finding(self, code: str, node: cst.CSTNode, message: str, site: JudgeSite | None = None) -> Finding:
        """Return a finding at a node."""
        place = self.view.position(node)
        return Finding(
            code=code,
            path=self.source.path,
            line=place.start.line,
            column=place.start.column + 1,
            end_line=place.end.line,
            end_column=place.end.column + 1,
            message=message,
            site=site,
        )

    def finding_at(self, code: str, site: JudgeSite, message: str) -> Finding:
        """Return a finding at the place where a judge is made or asked."""
        return _at(self.source, code, site, message)


class ConfigInspection:
    """An ADK config under inspection."""

    def __init__(self, source: ConfigSource) -> None:
        """Find its judges.

        Raises:
            SourceError: it is not JSON.

        """
        self.source = source
        self.sites = find_sites(source)

    @cached_property
    def judges(self) -> tuple[JudgeSite, ...]:
        """The metrics that ask a model and that no harness asks."""
        return tuple(site for site in self.sites if not site.harnessed and not site.deterministic)

    def finding_at(self, code: str, site: JudgeSite, message: str) -> Finding:
        """Return a finding at a metric."""
        return _at(self.source, code, site, message)


def _at(source: Source | ConfigSource, code: str, site: JudgeSite, message: str) -> Finding:
    return Finding(
        code=code,
        path=source.path,
        line=site.line,
        column=site.column,
        end_line=site.end_line,
        end_column=site.end_column,
        message=message,
        site=site,
    )


def described(site: JudgeSite) -> str:
    """Return a judge in words: `judge` (pairwise_string), final_response_match_v2."""
    if site.kind in {"invoke", "run_evaluator"}:
        return "this judge written by hand"
    return f"{site.name} ({site.kind})" if site.name and site.name != site.kind else site.kind
