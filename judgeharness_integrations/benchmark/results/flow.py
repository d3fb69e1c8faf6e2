"""From the plan to what is kept: how many pairs came through each layer and step, and why others did not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from pydantic import Field

from judgeharness_integrations.benchmark.pair import LAYERS, Conditions, Layer, Pair
from judgeharness_integrations.benchmark.records import Record
from judgeharness_integrations.benchmark.results.curation import Step
from judgeharness_integrations.ranking.cascade import NO_VALUE

__all__ = ["FlowRow", "Reason", "Survival", "flow", "reasons", "survival"]

Ending: TypeAlias = str
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_CURATED: Final = ("flagged", "ambiguous", "unanimous_right", "unanimous_wrong", "unanswered", "hardest")


class FlowRow(Record):
    """Pairs with one `value` in a `column` (None: all), each counted in one of the endings, which sum to `planned`.

    `unfinished`: not written yet; `form` to `grounding`: rejected there; `unread`: no answer of the verifier could be
    read; `unverified`: it was not asked; `accepted`. `judged`: those of the last three that a judge was asked about.
    """

    column: str | None
    value: str
    planned: int = Field(ge=0)
    unfinished: int = Field(ge=0)
    form: int = Field(ge=0)
    coherence: int = Field(ge=0)
    adherence: int = Field(ge=0)
    grounding: int = Field(ge=0)
    unread: int = Field(ge=0)
    unverified: int = Field(ge=0)
    accepted: int = Field(ge=0)
    judged: int = Field(ge=0)


class Reason(Record):
    """Why a layer rejected pairs: what was said of the first of them; one pair may have several reasons.

    `pairs`: how many have a reason alike, but for numbers and details; `example`: the id of the first of them.
    """

    layer: Layer
    reason: str
    pairs: int = Field(ge=1)
    example: str


def flow(
    pairs: Iterable[Pair], planned: Sequence[Conditions], *, judged: Collection[str], columns: Sequence[str]
) -> tuple[FlowRow, ...]:
    """Return a row for all pairs, then for each column one for each value.

    Args:
        pairs: that were written.
        planned: conditions of all pairs, written or not.
        judged: ids of pairs that a judge was asked about.
        columns: of conditions: domain, failure_type, behaviour, n_rounds ...

    """
    endings = {pair.pair_id: _ending(pair) for pair in pairs}
    rows = [_row(None, "all", planned, endings, judged)]
    for column in columns:
        groups: dict[Any, list[Conditions]] = {}
        for one in planned:
            groups.setdefault(getattr(one, column), []).append(one)
        rows += [_row(column, str(value) or NO_VALUE, groups[value], endings, judged) for value in sorted(groups)]
    return tuple(rows)


def reasons(pairs: Iterable[Pair], *, most: int = 5) -> tuple[Reason, ...]:
    """Return the most frequent reasons of each layer that rejected pairs, layer by layer."""
    return tuple(_reasons(list(pairs), most))


class Survival(Record):
    """One step: of the `entered` pairs it took `lost`, which leaves `left`.

    `rate`: left / entered; `share`: left of all planned pairs; None of no pairs. `written`: those not written yet are
    lost; `form` to `grounding`: rejected by that layer; `judged`: no judge was asked about them, in the mode the
    curation goes by; the others as in `Step`.
    """

    step: str
    entered: int = Field(ge=0)
    lost: int = Field(ge=0)
    left: int = Field(ge=0)
    rate: float | None = Field(ge=0, le=1)
    share: float | None = Field(ge=0, le=1)


def survival(made: FlowRow, curated: Step | None) -> tuple[Survival, ...]:
    """Return every step from the plan on; up to verification where nobody was asked.

    Args:
        made: what became of all planned pairs.
        curated: what became of all judged ones; None where nobody was asked.

    """
    rows: list[Survival] = []
    left = made.planned
    for step, lost in _losses(made, curated):
        entered, left = left, left - lost
        rows.append(
            Survival(
                step=step,
                entered=entered,
                lost=lost,
                left=left,
                rate=left / entered if entered else None,
                share=left / made.planned if made.planned else None,
            )
        )
    return tuple(rows)


def _ending(pair: Pair) -> Ending:
    failed = pair.verification.failed
    if failed is not None:
        return failed.layer
    if pair.state == "accepted":
        return "accepted"
    return "unread" if any(layer.status == "unread" for layer in pair.verification.layers) else "unverified"


def _row(
    column: str | None,
    value: str,
    planned: Sequence[Conditions],
    endings: dict[str, Ending],
    judged: Collection[str],
) -> FlowRow:
    counts = Counter(endings.get(one.pair_id, "unfinished") for one in planned)
    through = ("unread", "unverified", "accepted")
    asked = sum(one.pair_id in judged and endings.get(one.pair_id) in through for one in planned)
    names = ("unfinished", *LAYERS, *through)
    return FlowRow(
        column=column, value=value, planned=len(planned), judged=asked, **{name: counts[name] for name in names}
    )


def _reasons(pairs: Sequence[Pair], most: int) -> Iterator[Reason]:
    for layer in LAYERS:
        found: dict[str, dict[str, str]] = {}
        for pair in pairs:
            failed = pair.verification.failed
            if failed is not None and failed.layer == layer:
                for reason in failed.reasons:
                    found.setdefault(_kind(reason), {}).setdefault(pair.pair_id, reason)
        for _, said in sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:most]:
            example, reason = next(iter(said.items()))
            yield Reason(layer=layer, reason=reason, pairs=len(said), example=example)


def _kind(reason: str) -> str:
    """Return what reasons that differ in rounds and details have in common."""
    return _NUMBER.sub("N", reason.partition(":")[0])


def _losses(made: FlowRow, curated: Step | None) -> Iterator[tuple[str, int]]:
    yield "written", made.unfinished
    for layer in LAYERS:
        yield layer, getattr(made, layer)
    if curated is not None:
        yield "judged", made.unread + made.unverified + made.accepted - curated.judged
        for step in _CURATED:
            yield step, getattr(curated, step)
