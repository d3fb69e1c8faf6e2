"""The gold labels of a report's results, read once, so that all that is made of a report reads them the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from judgeharness_integrations.aggregation.grouping import EVERY_CRITERION
from judgeharness_integrations.calibration.words import read_golds, unread_sentence
from judgeharness_integrations.reporting.runs.designs import design_key
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["Unread", "gold_of", "with_read_golds"]

_Place: TypeAlias = "tuple[str, Hashable, str]"  # judge, design, criterion
_Reading: TypeAlias = Mapping[Verdict, "Verdict | None"]


def gold_of(result: HarnessResult, criterion: str) -> Verdict | None:
    """Return the gold label of a case and criterion, also where every call failed; None without one."""
    named = (criterion, EVERY_CRITERION)
    return next((row.gold for row in result.rows if row.criterion in named and row.gold is not None), None)


@dataclass(kw_only=True)
class _Labels:
    """The gold labels of one criterion, with the number of cases that have them, and what was decided."""

    golds: Counter[Verdict] = field(default_factory=Counter)
    verdicts: dict[Verdict, None] = field(default_factory=dict)
    scored: bool = False

    def reading(self) -> _Reading:
        """Return label -> how it is read; a score stays one where samples are scores."""
        found = read_golds(self.golds, self.verdicts, scored=self.scored)
        return {gold: gold if self.scored and is_number(gold) else label for gold, label in found.items()}


class Unread(NamedTuple):
    """How many cases of a criterion have a gold label that cannot be read, and that in a sentence."""

    cases: int
    sentence: str


def with_read_golds(
    results: Sequence[HarnessResult],
) -> tuple[tuple[HarnessResult, ...], Mapping[tuple[str, Hashable, str], Unread]]:
    """Return results with their gold labels in the words of the decisions, and what could not be read.

    Such a label is taken out: see `calibration.words.read_golds`. What was taken out stands under the judge, the key of
    the design and the criterion.
    """
    found: dict[_Place, _Labels] = {}
    for result in results:
        design = design_key(result.design)
        for name, measured in result.criteria.items():
            gold = gold_of(result, name)
            one = found.setdefault((result.judge, design, name), _Labels())
            one.scored = one.scored or measured.numeric
            if measured.status == "decided" and measured.verdict is not None:
                one.verdicts[measured.verdict] = None
            if gold is not None:
                one.golds[gold] += 1
    readings = {place: labels.reading() for place, labels in found.items()}
    changed = {place for place, reading in readings.items() if any(gold != label for gold, label in reading.items())}
    if not changed:
        return tuple(results), {}
    return tuple(_read(result, readings, changed) for result in results), _unread(found, readings)


def _read(result: HarnessResult, readings: Mapping[_Place, _Reading], changed: set[_Place]) -> HarnessResult:
    design = design_key(result.design)
    mine = {name: readings[result.judge, design, name] for name in result.criteria}
    if not any((result.judge, design, name) in changed for name in mine):
        return result
    mine[EVERY_CRITERION] = next(iter(mine.values()))  # a call that failed for all of them
    rows = ((row, mine.get(row.criterion, {}).get(row.gold, row.gold)) for row in result.rows if row.gold is not None)
    read = {id(row): replace(row, gold=gold) for row, gold in rows if gold != row.gold}
    return replace(result, rows=tuple(read.get(id(row), row) for row in result.rows))


def _unread(found: Mapping[_Place, _Labels], readings: Mapping[_Place, _Reading]) -> dict[_Place, Unread]:
    several = len({criterion for *_, criterion in found}) > 1
    told: dict[_Place, Unread] = {}
    for place, labels in found.items():
        unread = {gold: count for gold, count in labels.golds.items() if readings[place][gold] is None}
        if unread:
            sentence = unread_sentence(unread, labels.verdicts)
            told[place] = Unread(sum(unread.values()), f"{place[2]}: {sentence}" if several else sentence)
    return told
