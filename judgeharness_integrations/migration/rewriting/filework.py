"""One Python file while it is rewritten: the edits so far, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.counting import Made, judges_made
from judgeharness_integrations.migration.model_facts import at_temperature_zero
from judgeharness_integrations.migration.rewriting.deciding import HOMES, Wrap, is_discrete
from judgeharness_integrations.migration.rewriting.designs import PRESET_OF, calls_of, design_arguments
from judgeharness_integrations.migration.rewriting.edits import Edit, edited, insertion
from judgeharness_integrations.migration.rewriting.names import Names
from judgeharness_integrations.migration.rewriting.outcome import Action, Change, Level
from judgeharness_integrations.migration.rewriting.places import Places

if TYPE_CHECKING:
    from judgeharness_integrations.migration.rewriting.raising import Raise
    from judgeharness_integrations.migration.rewriting.stringevaluators import Replacement
    from judgeharness_integrations.migration.sites import JudgeSite
    from judgeharness_integrations.presets import Shape

__all__ = ["FileWork"]

_CORE = "judgeharness_integrations"
_EVALUATION = "langchain_classic.evaluation"
_LOADERS = ("langchain_classic.evaluation", "langchain.evaluation")


@dataclass
class FileWork:
    """The edits of one file and the changes they make; nothing is written anywhere."""

    places: Places
    level: Level
    edits: list[Edit] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Look at the file's names and quotation marks."""
        self.names = Names(self.places)
        marks = [one.value[-1] for one in self.places.view.nodes if isinstance(one, cst.SimpleString)]
        self.quote = "'" if marks.count("'") > marks.count('"') else '"'

    def wrap(self, found: Sequence[Wrap]) -> None:
        """Put a wrapper around a call that makes a judge, or around each evaluator it loads."""
        node, several = found[0].node, found[0].several
        wrapper = self.names.of(HOMES[found[0].wrapper], found[0].wrapper, at=node)
        shape: Shape = found[0].site.shape
        if any(one.site.shape != shape for one in found):
            shape = "any"
        harness = self._harness(shape, node)
        once = at_temperature_zero(self.places.view, node)
        start, end = self.places.start(node), self.places.end(node)
        before, after = f"{wrapper}(", f", {harness})"
        if several:
            before, after = f"[{wrapper}(evaluator, {harness}) for evaluator in ", "]"
        self.edits += [insertion(start, before, rank=-end), insertion(end, after, rank=1)]
        for one in found:
            self._count(one.site, "wrapped", once=once)

    def replace(self, found: Replacement) -> None:
        """Put a `HarnessRunEvaluator` in the place of what LangSmith has removed."""
        node = found.node
        loader = harness = ""
        if found.kind is not None:
            loader = self._loader(node)
            harness = self._harness(found.site.shape, node)
        run_evaluator = self.names.of(HOMES["HarnessRunEvaluator"], "HarnessRunEvaluator", at=node)
        text = found.text(self.places, self._said, run_evaluator=run_evaluator, loader=loader, harness=harness)
        self.edits.append(Edit(start=self.places.start(node), end=self.places.end(node), text=text))
        if found.kind is not None:
            self._count(found.site, "replaced", once=at_temperature_zero(self.places.view, node))

    def raise_(self, found: Raise, beside: Sequence[JudgeSite]) -> None:
        """Let a harness of one sample measure; `beside` are the judges it is given, where they are seen."""
        self.edits += found.edits
        for site in beside:
            self._count(site, "raised", found.shape, once=found.once)
        if not beside:
            after = None if found.shape is None else calls_of(found.shape, self.level)
            line = self.places.line(found.node)
            self.changes.append(
                Change(
                    line=line,
                    framework="judgeharness",
                    kind="JudgeHarness.single",
                    action="raised",
                    calls_before=1,
                    calls_after=after,
                )
            )

    def all_edits(self) -> list[Edit]:
        """Return every edit, those of the imports included."""
        return [*self.edits, *self.names.edits()]

    def _said(self, node: cst.CSTNode) -> str:
        """Return an expression with the edits inside it made, and keep them no longer."""
        start, end = self.places.start(node), self.places.end(node)
        inside = [one for one in self.edits if start <= one.start and one.end <= end]
        self.edits = [one for one in self.edits if one not in inside]
        moved = [replace(one, start=one.start - start, end=one.end - start) for one in inside]
        return edited(self.places.text[start:end], moved)

    def _harness(self, shape: Shape, node: cst.Call) -> str:
        name = self.names.of(_CORE, "JudgeHarness", at=node)
        discrete, once = is_discrete(self.places.view, node), at_temperature_zero(self.places.view, node)
        arguments = design_arguments(shape, self.level, discrete=discrete, once=once, quote=self.quote)
        return f"{name}.{PRESET_OF[self.level]}({arguments})"

    def _loader(self, node: cst.Call) -> str:
        """Return what `load_evaluator` is called here, of whichever package the file has it."""
        known = (self.names.known(home, "load_evaluator", at=node) for home in _LOADERS)
        return next((name for name in known if name), None) or self.names.of(_EVALUATION, "load_evaluator", at=node)

    def _count(self, site: JudgeSite, action: Action, shape: Shape | None = None, *, once: bool) -> None:
        made = Made() if site.node is None else judges_made(self.places.view, site.node)
        calls = None if site.samples is None else site.samples * made.count
        once = once and self.level == "measured"
        self.changes.append(
            Change(
                line=site.line,
                framework=site.framework,
                kind=site.kind,
                action=action,
                calls_before=calls,
                calls_after=None if calls is None else calls * calls_of(shape or site.shape, self.level, once=once),
                judges=made.count,
                exact=made.exact,
                once=once,
            )
        )
