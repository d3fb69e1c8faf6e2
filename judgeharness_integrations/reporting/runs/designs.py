"""Designs in one report: which results are summed up together, and how several designs of a judge are told apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from judgeharness_integrations.design import Design

__all__ = ["design_key", "design_text", "designs_apart"]


def design_key(design: Design) -> Hashable:
    """Return what keeps designs apart; a rule is known by its name, as functions of the caller's own come back anew."""
    return (
        design.rule.name,
        design.rule_fixed,
        design.perturbations,
        design.repetitions,
        design.min_valid,
        design.tolerance,
        design.wordings,
        design.curtail,
        design.stopping_rule,
    )


def design_text(design: Design) -> str:
    """Return a design in a few words: `majority, none + format_change x 3`."""
    return f"{design.rule.name}, {' + '.join(design.perturbations)} x {design.repetitions}"


def designs_apart(designs: Iterable[Design]) -> dict[Hashable, str]:
    """Return the key of every design and what to call it beside the others: nothing where there is one alone."""
    known = {design_key(design): design for design in designs}
    if len(known) == 1:
        return dict.fromkeys(known, "")
    texts = [design_text(design) for design in known.values()]
    told = [
        ", ".join([text, *(_details(design) if texts.count(text) > 1 else ())])
        for text, design in zip(texts, known.values(), strict=True)
    ]
    return {
        key: text if told.count(text) == 1 else f"{text} ({number})"
        for number, (key, text) in enumerate(zip(known, told, strict=True), start=1)
    }


def _details(design: Design) -> Iterator[str]:
    """Yield what tells designs apart that ask the same and fold it by the same rule."""
    yield "chosen before the samples" if design.rule_fixed == "before" else "chosen after the samples"
    yield "half of the samples" if design.min_valid is None else f"at least {design.min_valid} valid"
    yield f"tolerance {design.tolerance:g}"
    if design.curtail:
        yield "early stopping"
