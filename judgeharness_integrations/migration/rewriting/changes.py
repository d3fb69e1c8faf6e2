"""What a rewrite changes: levels, the harness written at each, calls before and after, what is left to the author."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import libcst as cst

from judgeharness_integrations.judging.harness import PRESETS, Shape

from ..evaluators import given_judges, is_wrapper
from ..questions import at_temperature_zero
from ..repetition import judge_count, literal_length
from ..syntax import JudgeSite
from ..view import ModuleView
from .edits import Edit, Places, insertion

Level: TypeAlias = Literal["single", "measured"]
Action: TypeAlias = Literal["wrapped", "replaced", "raised", "registered"]
REGISTER = "register"  # the kind of what is to be done by hand about an app, not about a judge


@dataclass(frozen=True, kw_only=True)
class Change:
    """One judge that is put under a harness, or one step on the way there.

    `calls_before` and `calls_after` are judge calls a case (of ADK: an invocation); None where they cannot be known,
    and for a change that concerns no judge of its own (`registered`). They are of all judges the line makes, `judges`
    of them; of at least so many where not `exact`. `once`: the model has temperature 0, and repetitions are left out.
    """

    line: int
    framework: str
    kind: str
    action: Action
    calls_before: int | None = None
    calls_after: int | None = None
    judges: int = 1
    exact: bool = True
    once: bool = False

    @property
    def extra_calls(self) -> int | None:
        """Calls a case that the change adds; None where they are not known."""
        if self.calls_before is None or self.calls_after is None:
            return None
        return self.calls_after - self.calls_before


@dataclass(frozen=True, kw_only=True)
class ByHand:
    """A judge that is not rewritten: where it is, why, and what its author can do."""

    line: int
    framework: str
    kind: str
    why: str
    todo: str


@dataclass(frozen=True, kw_only=True)
class Use:
    """A judge of another file (where it is made or asked there), and whether it is harnessed here, or will be.

    `listed` is one that is left to its author where it is used here.
    """

    path: Path
    line: int
    state: Literal["bare", "harnessed", "changed", "listed"]


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """One file before and after.

    `harnessed` counts the judges that need no change at this level, `harnessed_calls` what they cost a case, each; None
    of those whose design is not to be seen. `uses` are of judges of other files. `notes` are on the numbers;
    `line_notes` on lines that are left as they are and that the diff points at. `problem` is a sentence where the new
    text was found wanting: then `after` equals `before`, and nothing is to be written.
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    by_hand: tuple[ByHand, ...] = ()
    harnessed_calls: tuple[int | None, ...] = ()
    notes: tuple[str, ...] = ()
    line_notes: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    problem: str | None = None

    @property
    def changed(self) -> bool:
        """Whether the text is another one."""
        return self.after != self.before

    @property
    def harnessed(self) -> int:
        """How many judges need no change."""
        return len(self.harnessed_calls)


ONCE = "has temperature 0, and repetitions would be copies of one answer: each question is asked once (repetitions=1)"

Wrapper: TypeAlias = Literal["harness_evaluator", "harness_judge", "HarnessRunEvaluator"]

PRESET_OF: dict[Level, str] = {"single": "single", "measured": "standard"}
_NEAR = "0.1"  # scores of evaluation frameworks are from 0 to 1 by convention


def design_arguments(
    shape: Shape, level: Level, *, discrete: bool = False, once: bool = False, quote: str = '"'
) -> str:
    """Return what stands in the parentheses of `JudgeHarness.single(...)` or `JudgeHarness.standard(...)`.

    What is measured may not end a suite that ran before, so an answer that cannot be laid out anew is skipped there;
    scores of given choices are folded to one of them, and a model at temperature 0 is asked each question once.

    Args:
        shape: what the judge answers.
        level: which preset.
        discrete: the judge's scores are all of given ones.
        once: its model has temperature 0, so that repetitions would be copies.
        quote: the quotation mark of the file.

    """
    parts = [f"{quote}{shape}{quote}"]
    if level == "measured" and shape != "pairwise":
        parts.append(f"on_unfit={quote}skip{quote}")
        if shape == "any":
            parts.append(f"tolerance={_NEAR}")
        if discrete:
            rule = "mode" if shape == "scores" else "supermajority(2/3) | mode"
            parts.append(f"aggregation_rule={quote}{rule}{quote}")
    if level == "measured" and once:
        parts.append("repetitions=1")
    return ", ".join(parts)


def calls_of(shape: Shape, level: Level, *, once: bool = False) -> int:
    """Return the judge calls a case of a level: perturbations x repetitions, one of these where `once`."""
    perturbations, repetitions, _ = PRESETS[PRESET_OF[level]][shape]
    return len(perturbations) * (1 if once else repetitions)


_SINGLE = "judgeharness_integrations.JudgeHarness.single"


@dataclass(frozen=True, kw_only=True, eq=False)
class Raise:
    """A `JudgeHarness.single(...)` and the edits that make it `JudgeHarness.standard(...)`.

    `shape` is None where only running the code tells; `judge` is the call that makes the judge beside it, or the
    function that is it, and `once` whether its model has temperature 0.
    """

    node: cst.Call
    shape: Shape | None
    judge: cst.CSTNode | None
    edits: tuple[Edit, ...]
    once: bool = False


def raises(
    places: Places,
    asked: Callable[[cst.CSTNode], cst.Call | None],
    *,
    discrete: frozenset[cst.CSTNode] = frozenset(),
    quote: str = '"',
) -> Iterator[Raise]:
    """Yield every harness of one sample in a file.

    Args:
        places: the file.
        asked: gives of what makes a judge, or is one, the call whose model tells the temperature.
        discrete: calls that make judges whose scores are of given choices.
        quote: the quotation mark of the file.

    """
    for call in places.view.calls:
        if isinstance(call.func, cst.Attribute) and _is_single(places, call.func):
            yield _raised(places, call, call.func, asked, discrete=discrete, quote=quote)


def _raised(
    places: Places,
    call: cst.Call,
    func: cst.Attribute,
    asked: Callable[[cst.CSTNode], cst.Call | None],
    *,
    discrete: frozenset[cst.CSTNode],
    quote: str,
) -> Raise:
    edits = [Edit(start=places.start(func.attr), end=places.end(func.attr), text="standard")]
    judge = _judged(places, call)
    given = [arg for arg in call.args if arg.keyword is None and not arg.star]
    shape = places.view.value(given[0].value) if len(given) == 1 else None
    if shape not in PRESETS["standard"]:
        return Raise(node=call, shape=None, judge=judge, edits=tuple(edits))
    model = None if judge is None else asked(judge)
    once = model is not None and at_temperature_zero(places.view, model)
    end = places.end(given[0].value)
    if len(call.args) == 1:
        text = design_arguments(shape, "measured", discrete=judge in discrete, once=once, quote=quote)
        edits.append(insertion(end, text.removeprefix(f"{quote}{shape}{quote}")))
    elif once and places.view.argument(call, "repetitions") is None and not any(arg.star for arg in call.args):
        edits.append(insertion(end, ", repetitions=1"))
    return Raise(node=call, shape=shape, judge=judge, edits=tuple(edits), once=once)


def _is_single(places: Places, func: cst.Attribute) -> bool:
    return func.attr.value == "single" and any(
        name == _SINGLE or (name.startswith("judgeharness_integrations.") and name.endswith(".JudgeHarness.single"))
        for name in places.view.names(func)
    )


def _judged(places: Places, harness: cst.Call) -> cst.CSTNode | None:
    """Return the call or function that is the judge in `harness_judge(create_llm_as_judge(...), here)`."""
    arg = places.view.parent(harness)
    around = None if arg is None else places.view.parent(arg)
    first = around.args[0].value if isinstance(around, cst.Call) and around.args else None
    if first is None or first is harness:
        return None
    return next(
        (origin for origin in places.view.origins(first) if isinstance(origin, (cst.Call, cst.FunctionDef))), None
    )


_HARNESS = "JudgeHarness"


def harnessed_calls(view: ModuleView, site: JudgeSite) -> int | None:
    """Return the calls a case of a harnessed judge; None where its design or their number is not to be seen."""
    made = None if site.node is None else judge_count(view, site.node)
    designs = {_calls(view, design) for design in _designs(view, site)}
    if site.samples is None or made is None or not made.exact or len(designs) != 1:
        return None
    calls = designs.pop()
    return None if calls is None else calls * site.samples * made.count


def _designs(view: ModuleView, site: JudgeSite) -> Iterator[cst.Call]:
    """The `JudgeHarness...(...)` of the wrappers a judge is given to."""
    judge = set() if site.node is None else {site.node, *view.above(site.node)}  # a function is given itself
    for call in view.calls:
        if is_wrapper(view, call) and any(judge & {*view.origins(one)} for one in given_judges(view, call)):
            design = view.argument(call, "harness", 1)
            origins = () if design is None else view.origins(design)
            yield from (
                origin for origin in origins if isinstance(origin, cst.Call) and _preset(view, origin) is not None
            )


def _preset(view: ModuleView, call: cst.Call) -> str | None:
    for name in view.names(call.func):
        owner, _, method = name.rpartition(".")
        if name.startswith("judgeharness_integrations.") and owner.endswith(_HARNESS) and method in PRESETS:
            return method
    return None


def _calls(view: ModuleView, design: cst.Call) -> int | None:
    """Return perturbations x repetitions of a preset, what its call says in another way followed."""
    shape = view.value(view.argument(design, "shape", 0))
    preset = PRESETS[_preset(view, design) or "single"].get(shape) if isinstance(shape, str) else None
    if preset is None or any(arg.star for arg in design.args):
        return None
    given = view.argument(design, "perturbations")
    perturbations = len(preset[0]) if given is None else literal_length(view, given)
    given = view.argument(design, "repetitions")
    repetitions = preset[1] if given is None else view.value(given)
    if not isinstance(perturbations, int) or not isinstance(repetitions, int):
        return None
    return perturbations * repetitions
