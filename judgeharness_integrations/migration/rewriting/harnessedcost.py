"""What judges cost that a harness asks already, as far as the design stands in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from judgeharness_integrations.migration.counting import judges_made
from judgeharness_integrations.migration.harnessing import given_judges, is_wrapper
from judgeharness_integrations.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from judgeharness_integrations.migration.site import JudgeSite
    from judgeharness_integrations.migration.view import ModuleView

__all__ = ["harnessed_calls"]

_HARNESS = "JudgeHarness"


def harnessed_calls(view: ModuleView, site: JudgeSite) -> int | None:
    """Return the calls a case of a harnessed judge; None where its design or their number is not to be seen."""
    made = None if site.node is None else judges_made(view, site.node)
    designs = {_calls(view, design) for design in _designs(view, site)}
    if site.samples is None or made is None or not made.exact or len(designs) != 1:
        return None
    calls = designs.pop()
    return None if calls is None else calls * site.samples * made.count


def _designs(view: ModuleView, site: JudgeSite) -> Iterator[cst.Call]:
    """The `JudgeHarness...(...)` of the wrappers a judge is given to."""
    for call in view.calls:
        if is_wrapper(view, call) and any(site.node in view.origins(one) for one in given_judges(view, call)):
            design = view.argument(call, "harness", 1)
            origins = () if design is None else view.origins(design)
            yield from (one for one in origins if isinstance(one, cst.Call) and _preset(view, one) is not None)


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
    perturbations: Any = _length(view, view.argument(design, "perturbations"), len(preset[0]))
    given = view.argument(design, "repetitions")
    repetitions = preset[1] if given is None else view.value(given)
    if not isinstance(perturbations, int) or not isinstance(repetitions, int):
        return None
    return perturbations * repetitions


def _length(view: ModuleView, given: cst.CSTNode | None, default: int) -> int | None:
    if given is None:
        return default
    lists = [one for one in view.origins(given) if isinstance(one, (cst.List, cst.Tuple))]
    return len(lists[0].elements) if len(lists) == 1 else None
