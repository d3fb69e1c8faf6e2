"""Judges that a framework's call makes."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.asking import asks_of
from judgeharness_integrations.migration.harnessing import harnessed_nodes
from judgeharness_integrations.migration.naming import bound_name
from judgeharness_integrations.migration.recognising.kinds import Kind
from judgeharness_integrations.migration.recognising.langchain import langchain_kinds
from judgeharness_integrations.migration.recognising.langsmith import langsmith_kinds
from judgeharness_integrations.migration.recognising.openevals import openevals_kinds
from judgeharness_integrations.migration.recognising.ours import our_kinds
from judgeharness_integrations.migration.repeating import samples_of
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["made_sites"]

_RECOGNISERS = (langchain_kinds, openevals_kinds, langsmith_kinds, our_kinds)


def made_sites(view: ModuleView) -> tuple[JudgeSite, ...]:
    """Return the judges of LangChain, openevals, LangSmith and of this package that a module makes."""
    harnessed = harnessed_nodes(view)
    return tuple(_site(view, call, kind, call in harnessed) for call, kind in _kinds(view))


def _kinds(view: ModuleView) -> Iterator[tuple[cst.Call, Kind]]:
    for call in view.calls:
        names = view.names(call.func)
        if names:
            for recogniser in _RECOGNISERS:
                for kind in recogniser(view, call, names):
                    yield call, kind


def _site(view: ModuleView, call: cst.Call, kind: Kind, harnessed: bool) -> JudgeSite:  # noqa: FBT001 - private
    asks = asks_of(view, call)
    place = view.position(call)
    return JudgeSite(
        framework=kind.framework,
        kind=kind.kind,
        shape=kind.shape,
        node=call,
        line=place.start.line,
        column=place.start.column + 1,
        end_line=place.end.line,
        end_column=place.end.column + 1,
        name=bound_name(view, call),
        is_async=kind.is_async if kind.is_async is not None or not asks else any(ask.is_async for ask in asks),
        harnessed=harnessed or kind.harnessed,
        deterministic=kind.deterministic,
        samples=samples_of(view, [ask.call for ask in asks]),
        evidence=kind.evidence,
    )
