"""Perturbations by name, as configuration files, command lines and logs spell them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import PlanError, UnknownNameError
from judgeharness_integrations.perturbations.base import Perturbation, compose
from judgeharness_integrations.perturbations.formats import format_change
from judgeharness_integrations.perturbations.names import name_swap
from judgeharness_integrations.perturbations.none import none
from judgeharness_integrations.perturbations.order import position_swap
from judgeharness_integrations.perturbations.rewriting import paraphrase, prompt_variant
from judgeharness_integrations.perturbations.slots import slot_names
from judgeharness_integrations.perturbations.typography import typography
from judgeharness_integrations.perturbations.whitespace import whitespace
from judgeharness_integrations.verdictlog.row import PROBE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from judgeharness_integrations.perturbations.base import Rewriter

__all__ = ["PERTURBATION_NAMES", "perturbation"]

_PLAIN: dict[str, Callable[[], Perturbation]] = {
    "format_change": format_change,
    "name_swap": name_swap,
    "none": none,
    "position_swap": position_swap,
    "slot_names": slot_names,
    "typography": typography,
    "whitespace": whitespace,
}
PERTURBATION_NAMES: tuple[str, ...] = tuple(sorted([*_PLAIN, "paraphrase", "prompt_variant"]))

_SPEC = re.compile(r"([^()]*+)(?:\(([^()]*+)\))?")
_TWO_LABELS = 2


def perturbation(
    spec: str | Perturbation,
    *,
    rewriter: Rewriter | None = None,
    instructions: Sequence[str] = (),
    more: Mapping[str, Callable[[], Perturbation]] = MappingProxyType({}),
) -> Perturbation:
    """Return the perturbation a name stands for; the result's own name stands for it again.

    Args:
        spec: a `Perturbation`, which is returned as it is, or a name: `typography`, `slot_names(X/Y)`,
            `prompt_variant(2)`, an adversarial probe (`probe:injection.encoded(b)`), or several joined by `+`.
        rewriter: what `paraphrase` and `prompt_variant` use.
        instructions: the texts that `prompt_variant(1)`, `prompt_variant(2)` ... stand for.
        more: perturbations that a framework's cases have besides, or instead of, those of the same name.

    Raises:
        UnknownNameError: there is no perturbation of that name.
        PlanError: the name's parameters are malformed, or what it needs is missing.

    """
    if isinstance(spec, Perturbation):
        return spec
    if not isinstance(spec, str):
        raise PlanError(
            "a plain function has no name in the log: Perturbation(name, function) gives it one."
            if callable(spec)
            else f"a perturbation is a name or a Perturbation, not {type(spec).__name__}."
        )
    plain = {**_PLAIN, **more}
    return compose(*(_one(part.strip(), spec, plain, rewriter, instructions) for part in spec.split("+")))


def _one(
    part: str,
    spec: str,
    plain: Mapping[str, Callable[[], Perturbation]],
    rewriter: Rewriter | None,
    instructions: Sequence[str],
) -> Perturbation:
    parsed = _SPEC.fullmatch(part)
    if not part or not parsed:
        raise PlanError(f"{spec!r} is malformed: write name, name(parameter) or a+b.")
    name, parameter = parsed[1].strip(), parsed[2]
    if name.startswith(PROBE):
        from judgeharness_integrations.probes.naming import named_probe  # noqa: PLC0415 - few runs attack their judge

        return named_probe(part, spec)
    if name not in (known := sorted({*plain, *PERTURBATION_NAMES})):
        raise UnknownNameError("perturbation", name, known)
    if name == "slot_names" and parameter is not None:
        return _labelled(part, parameter)
    if name == "prompt_variant" and parameter is not None:
        return _numbered(part, parameter, instructions)
    if parameter is not None:
        raise PlanError(f"{name} takes no parameters: write {name!r}, not {part!r}.")
    if name == "paraphrase":
        return paraphrase(rewriter)
    return prompt_variant(rewriter=rewriter) if name == "prompt_variant" else plain[name]()


def _labelled(part: str, parameter: str) -> Perturbation:
    labels = [label.strip() for label in parameter.split("/")]
    if len(labels) != _TWO_LABELS:
        raise PlanError(f"{part!r} is malformed: write slot_names(first/second).")
    return slot_names(*labels)


def _numbered(part: str, parameter: str, instructions: Sequence[str]) -> Perturbation:
    if not re.fullmatch(r"[ ]*+[0-9]{1,6}[ ]*+", parameter) or int(parameter) < 1:
        raise PlanError(f"{part!r} is malformed: write prompt_variant(1) for the first of the instructions.")
    number = int(parameter)
    if number > len(instructions):
        raise PlanError(f"{part!r} needs {number} prompt variants, and {len(instructions)} are given.")
    return prompt_variant(instructions[number - 1], number)
