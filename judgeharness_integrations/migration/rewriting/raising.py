"""Harnesses that stand in the code at the level `single`, and are to measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from judgeharness_integrations.migration.model_facts import at_temperature_zero
from judgeharness_integrations.migration.rewriting.designs import design_arguments
from judgeharness_integrations.migration.rewriting.edits import Edit, insertion
from judgeharness_integrations.migration.rewriting.places import Places
from judgeharness_integrations.presets import PRESETS

if TYPE_CHECKING:
    from judgeharness_integrations.presets import Shape

__all__ = ["Raise", "raises"]

_SINGLE = "judgeharness_integrations.JudgeHarness.single"


@dataclass(frozen=True, kw_only=True, eq=False)
class Raise:
    """A `JudgeHarness.single(...)` and the edits that make it `JudgeHarness.standard(...)`.

    `shape` is None where only running the code tells; `judge` is the call that makes the judge beside it, and `once`
    whether its model has temperature 0.
    """

    node: cst.Call
    shape: Shape | None
    judge: cst.CSTNode | None
    edits: tuple[Edit, ...]
    once: bool = False


def raises(places: Places, *, discrete: frozenset[cst.CSTNode] = frozenset(), quote: str = '"') -> Iterator[Raise]:
    """Yield every harness of one sample in a file.

    Args:
        places: the file.
        discrete: calls that make judges whose scores are of given choices.
        quote: the quotation mark of the file.

    """
    for call in places.view.calls:
        if isinstance(call.func, cst.Attribute) and _is_single(places, call.func):
            yield _raised(places, call, call.func, discrete, quote)


def _raised(places: Places, call: cst.Call, func: cst.Attribute, discrete: frozenset[cst.CSTNode], quote: str) -> Raise:
    edits = [Edit(start=places.start(func.attr), end=places.end(func.attr), text="standard")]
    judge = _judged(places, call)
    given = [arg for arg in call.args if arg.keyword is None and not arg.star]
    shape = places.view.value(given[0].value) if len(given) == 1 else None
    if shape not in PRESETS["standard"]:
        return Raise(node=call, shape=None, judge=judge, edits=tuple(edits))
    once = isinstance(judge, cst.Call) and at_temperature_zero(places.view, judge)
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
    """Return the call that makes the judge beside a harness, as in `harness_judge(create_llm_as_judge(...), here)`."""
    arg = places.view.parent(harness)
    around = None if arg is None else places.view.parent(arg)
    first = around.args[0].value if isinstance(around, cst.Call) and around.args else None
    if first is None or first is harness:
        return None
    return next((one for one in places.view.origins(first) if isinstance(one, cst.Call)), None)
