"""A Python file with its judges at a level."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import libcst as cst

from judgeharness_integrations.judging.harness import Shape

from ..discovery import find_sites
from ..evaluators import reached_from
from ..frameworks import STRING_EVALUATOR
from ..inspection import Inspection, described, may_call_judges, suppressions_of, unresolved_judges
from ..modules import Source, SourceError, may_hold_judges
from ..questions import at_temperature_zero, model_calls
from ..repetition import JudgeCount, judge_count
from ..rules.undecided import UNDECIDED_PASSES
from ..syntax import JudgeSite
from ..view import ModuleView
from .changes import (
    ONCE,
    PRESET_OF,
    Action,
    ByHand,
    Change,
    Level,
    Raise,
    Rewrite,
    Use,
    calls_of,
    design_arguments,
    harnessed_calls,
    raises,
)
from .edits import Edit, Names, Places, edited, insertion, removed_imports
from .wrappers import (
    HOMES,
    Around,
    Replacement,
    RunEvaluators,
    Wrap,
    decision,
    is_discrete,
    is_harnessed,
    replacement,
    run_evaluators,
)


def rewritten_python(source: Source, level: Level) -> Rewrite:
    """Return a file with every judge that can be wrapped mechanically at a level; no level is ever lowered.

    Raises:
        SourceError: the file cannot be parsed.

    """
    inspection = _inspected(source)
    if inspection is None:
        return Rewrite(before=source.text, after=source.text)
    found = [site for site in inspection.sites if site.definition is None]
    sites, unknown = _judges(found), _unknown(inspection)
    bare = [site for site in sites if not is_harnessed(source.view, site)]
    evaluators = run_evaluators(inspection, bare)
    notes = (*_line_notes_on(inspection), *_notes_on_uses(inspection, evaluators.covered))
    if not (sites or evaluators.wraps or evaluators.by_hand) and "JudgeHarness" not in source.text:
        uses = _uses(inspection, evaluators, raised=False)
        return Rewrite(before=source.text, after=source.text, by_hand=unknown, line_notes=notes, uses=uses)
    work = FileWork(Places(source), level)
    by_hand = [*evaluators.by_hand, *_rewrite(work, [site for site in bare if site not in evaluators.covered])]
    for around in evaluators.wraps:
        work.wrap_function(around)
    raised = _raise(work, sites) if level == "measured" else []
    done = [site for site in sites if site not in bare and site not in raised]
    after = edited(source.text, work.all_edits())
    problem = _problem(source.with_text(after), by_hand) if after != source.text else None
    return Rewrite(
        before=source.text,
        after=source.text if problem else after,
        changes=() if problem else tuple(sorted(work.changes, key=lambda one: one.line)),
        by_hand=tuple(sorted((*by_hand, *unknown), key=lambda one: one.line)),
        harnessed_calls=tuple(harnessed_calls(source.view, site) for site in done),
        notes=() if problem else tuple(_notes_on(work.changes)),
        line_notes=notes,
        uses=_uses(inspection, evaluators, raised=any(change.action == "raised" for change in work.changes)),
        problem=problem,
    )


def _uses(inspection: Inspection, evaluators: RunEvaluators, *, raised: bool) -> tuple[Use, ...]:
    """Return what is done here about judges of other files."""
    wrapped = {around.site for around in evaluators.wraps}
    found = []
    for site in inspection.sites:
        if site.definition is not None and not site.deterministic:
            state: Literal["changed", "harnessed", "bare", "listed"] = "harnessed" if site.harnessed else "bare"
            if site in wrapped or (site.harnessed and raised):
                state = "changed"
            elif site in evaluators.covered:
                state = "listed"
            found.append(Use(path=site.definition[0], line=site.definition[1], state=state))
    return tuple(found)


def _inspected(source: Source) -> Inspection | None:
    """Return a file under inspection; None where nothing in its text speaks of judges."""
    text = source.text
    tree = source.tree
    concerned = tree is not None and tree.concerns(source.path, text)
    named = tree is not None and may_call_judges(text, tree.outline(source.path))
    if not (concerned or named or may_hold_judges(text) or "JudgeHarness" in text):
        return None
    return Inspection(source)


def _unknown(inspection: Inspection) -> tuple[ByHand, ...]:
    """Return what looks like a judge and is not resolved, where a tree of files was looked through."""
    found = unresolved_judges(inspection) if inspection.source.tree is not None else ()
    return tuple(
        ByHand(line=one.line, framework="handwritten", kind=one.name, why=one.why, todo=one.todo) for one in found
    )


def _judges(found: Iterable[JudgeSite]) -> list[JudgeSite]:
    """Return the judges that ask a model, and those that only a class LangSmith has removed could run."""
    return [site for site in found if not site.deterministic or site.kind == STRING_EVALUATOR]


def _rewrite(work: FileWork, bare: Sequence[JudgeSite]) -> list[ByHand]:
    """Wrap and replace what can be, and return the rest."""
    by_hand: list[ByHand] = []
    wraps: dict[cst.CSTNode, list[Wrap]] = {}
    for site in bare:
        found = None if site.kind == STRING_EVALUATOR else decision(work.places.view, site)
        if isinstance(found, Wrap):
            wraps.setdefault(found.node, []).append(found)
        elif found is not None:
            by_hand.append(found)
    for node in sorted(wraps, key=work.names.is_local):  # what the module imports, its functions need not
        work.wrap(wraps[node])
    replaced = []
    for site in bare:
        if site.kind == STRING_EVALUATOR:
            stands_in = replacement(work.places, site, wraps)
            if isinstance(stands_in, Replacement):
                work.replace(stands_in)
                replaced.append(stands_in.node)
            else:
                by_hand.append(stands_in)
    work.edits += removed_imports(work.places, STRING_EVALUATOR, replaced)
    return by_hand


def _raise(work: FileWork, sites: Iterable[JudgeSite]) -> list[JudgeSite]:
    """Raise every harness of one sample, and return the judges that were seen beside them."""
    view = work.places.view
    discrete = frozenset(site.node for site in sites if site.node is not None and is_discrete(view, site.node))
    judges = list(sites)

    def beside(judge: cst.CSTNode) -> list[JudgeSite]:
        reached = reached_from(view, [judge]) if isinstance(judge, cst.FunctionDef) else frozenset()
        return [
            one
            for one in judges
            if one.node is not None and (one.node is judge or any(above in reached for above in view.above(one.node)))
        ]

    def asked(judge: cst.CSTNode) -> cst.Call | None:
        return judge if isinstance(judge, cst.Call) else next((one.node for one in beside(judge)), None)

    seen: list[JudgeSite] = []
    for found in raises(work.places, asked, discrete=discrete, quote=work.quote):
        mine = [] if found.judge is None else beside(found.judge)
        work.raise_(found, mine)
        seen += mine
    return seen


def _problem(after: Source, by_hand: Sequence[ByHand]) -> str | None:
    """Return why a new text is not to be written: it cannot be parsed, or a judge of it is still asked bare."""
    try:
        bare = Counter(
            (str(site.framework), site.kind)
            for site in _judges(find_sites(after))
            if not is_harnessed(after.view, site)
        )
    except SourceError as error:
        return f"the new text could not be parsed ({error}), so the file stays as it is: please report it."
    bare.subtract((one.framework, one.kind) for one in by_hand)
    left = sorted(kind for (_, kind), count in bare.items() if count > 0)
    if not left:
        return None
    return f"{', '.join(left)} would still be asked without a harness, so the file stays as it is: wrap it by hand."


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
        marks = [node.value[-1] for node in self.places.view.nodes if isinstance(node, cst.SimpleString)]
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

    def wrap_function(self, found: Around) -> None:
        """Put a wrapper around a function where LangSmith's `evaluate` is given it."""
        node, call, asked = found.given.node, found.given.call, found.site.node
        beside = None if call is None else call.func
        wrapper = self.names.of(HOMES["HarnessRunEvaluator"], "HarnessRunEvaluator", at=node, beside=beside)
        once = asked is not None and at_temperature_zero(self.places.view, asked)
        core = self.names.of(_CORE, "JudgeHarness", at=node, beside=beside)
        arguments = design_arguments("any", self.level, once=once, quote=self.quote)
        harness = f"{core}.{PRESET_OF[self.level]}({arguments})"
        start, end = self.places.start(node), self.places.end(node)
        self.edits += [insertion(start, f"{wrapper}(", rank=-end), insertion(end, f", {harness})", rank=1)]
        self._count(replace(found.site, line=self.places.line(node), node=None), "wrapped", "any", once=once)

    def replace(self, found: Replacement) -> None:
        """Put a `HarnessRunEvaluator` in the place of what LangSmith has removed."""
        node = found.node
        loader = harness = ""
        if found.kind is not None:
            loader = self._loader(node)
            harness = self._harness(found.site.shape, node)
        run_evaluator = self.names.of(HOMES["HarnessRunEvaluator"], "HarnessRunEvaluator", at=node)
        text = found.text(self.places, self._edited_text, run_evaluator=run_evaluator, loader=loader, harness=harness)
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

    def _edited_text(self, node: cst.CSTNode) -> str:
        """Return an expression with the edits inside it made, and keep them no longer."""
        start, end = self.places.start(node), self.places.end(node)
        inside = [edit for edit in self.edits if start <= edit.start and edit.end <= end]
        self.edits = [edit for edit in self.edits if edit not in inside]
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
        made = JudgeCount() if site.node is None else judge_count(self.places.view, site.node)
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


_SHOWN = 8


def _notes_on(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the notes on the changes of a Python file."""
    frozen = [change.line for change in changes if change.once]
    if frozen:
        yield f"{_lines(frozen)}: the model {ONCE}."
    for one in changes:
        if one.judges > 1:
            several = "" if one.exact else "at least "
            yield f"line {one.line} makes {several}{one.judges} judges; the calls are those of all of them."
    unclear = [change.line for change in changes if not change.exact and change.judges == 1]
    if unclear:
        yield f"{_lines(unclear)}: how many judges a loop makes, only running it tells; at least one is counted."


def _line_notes_on(inspection: Inspection) -> Iterator[str]:
    """Yield a note for each test that passes, or mean that comes out, where a judge decides nothing.

    Chat models that retry by themselves are named after them.
    """
    hidden = suppressions_of(inspection.source)
    found = [finding for finding in UNDECIDED_PASSES.findings(inspection) if not hidden.hide(finding)]
    for one in sorted(found, key=lambda finding: finding.sort_key):
        yield f"line {one.line}: {one.code} {one.message}"
    for line, sentence in sorted(set(_retrying_clients(inspection))):
        yield f"line {line}: {sentence}"


def _notes_on_uses(inspection: Inspection, wrapped: Collection[JudgeSite] = ()) -> Iterator[str]:
    """Yield a note for each judge of another scanned file that is used here and not wrapped: it is changed there."""
    for site in inspection.sites:
        if site.definition is not None and not site.harnessed and site not in wrapped:
            path, line = site.definition
            yield f"line {site.line}: {described(site)} is used here; the place to change is {path}:{line}."


def _lines(lines: Iterable[int]) -> str:
    told = sorted(set(lines))
    shown = ", ".join(map(str, told[:_SHOWN])) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")
    return f"line {shown}" if len(told) == 1 else f"lines {shown}"


_CHAT_MODELS = re.compile(r"^langchain\w*\.(?:\w+\.)*(?:Chat[A-Z]\w*|AzureChat\w+|init_chat_model)$")
# clients of a provider: the adapters switch their retries off, code that asks them by hand does not
_CLIENTS = re.compile(r"^(?:openai|anthropic)\.(?:Async)?(?:Azure)?(?:OpenAI|Anthropic)\w*$")
_RETRIES = "max_retries"


def _retrying_clients(inspection: Inspection) -> Iterator[tuple[int, str]]:
    """Yield line and sentence of every chat model of a judge that retries by itself; a literal 0 says nothing."""
    view, seen = inspection.view, set[cst.Call]()
    for site in inspection.sites:
        for call in (
            ()
            if site.node is None or site.deterministic or site.definition is not None
            else model_calls(view, site.node)
        ):
            name = _name(view, call, by_hand=site.framework == "handwritten")
            if name is None or call in seen:
                continue
            seen.add(call)
            given = view.argument(call, _RETRIES)
            value = ... if given is None else view.value(given)
            if value == 0 and value is not False:
                continue
            own = f"its {_RETRIES}={value}" if isinstance(value, int) else f"its own {_RETRIES}"
            why = "its attempts multiply with those of the harness, which does not see them"
            yield view.position(call).start.line, f"{name} keeps {own}: {why}: give it {_RETRIES}=0."


def _name(view: ModuleView, call: cst.Call, *, by_hand: bool) -> str | None:
    """Return what a call makes, where that retries by itself."""
    known = [_CHAT_MODELS, _CLIENTS] if by_hand else [_CHAT_MODELS]
    names = (name for name in sorted(view.names(call.func)) if any(one.match(name) for one in known))
    return next((name.rpartition(".")[2] for name in names), None)
