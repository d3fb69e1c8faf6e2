"""Sentinels: answers whose verdict is known beforehand. A worthless one must lose, a copy must tie."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final

from judgeharness_integrations.checking.properties.above import above_finding, hit_shares
from judgeharness_integrations.checking.properties.finding import Finding, Speaking, missing
from judgeharness_integrations.checking.properties.leaning import Lean, lean_finding
from judgeharness_integrations.checking.properties.samples import Place, Samples
from judgeharness_integrations.checking.properties.words import ever_text
from judgeharness_integrations.verdictlog.probenames import probe_name
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["losing", "tying"]

_SLOTS: Final = {("A", False): 1, ("B", False): -1, ("A", True): -1, ("B", True): 1}


def losing(
    samples: Samples, name: str, rows: Mapping[Place, Sequence[VerdictRow]], *, tolerance: float, asked: int
) -> Finding:
    """Return how often a worthless answer does not lose."""
    hit = _survives(samples)
    if isinstance(hit, str):
        return missing(name, samples.criterion, hit, asked=asked)
    told = {"pairwise": "did not lose", "graded": "passed", "scores": "reached the median score of genuine answers"}
    split = _split(rows) if samples.kind == "pairwise" else ""
    return _shares(samples, name, rows, hit, tolerance=tolerance, asked=asked, told=told[samples.kind], split=split)


def _survives(samples: Samples) -> Callable[[VerdictRow], bool] | str:
    """Return whether a worthless answer survives in a sample, or why that cannot be told."""
    if samples.kind == "pairwise":
        return _not_lost
    if samples.kind == "graded":
        return lambda row: row.verdict == "PASS"
    if samples.kind != "scores":
        return "the verdicts are not A/B/TIE, PASS/FAIL or scores: which of them is bad is not known"
    genuine = [
        row.verdict for group in samples.unchanged.values() for row in group if isinstance(row.verdict, (int, float))
    ]
    if not genuine:
        return "no scores of genuine answers to compare with"
    middle = median(genuine)
    return _bottom(samples, middle) or (lambda row: isinstance(row.verdict, (int, float)) and row.verdict >= middle)


def _bottom(samples: Samples, middle: float) -> str | None:
    """Return why no score is below that of genuine answers; None where one is, or could be."""
    if samples.lowest is not None:
        return (
            "genuine answers get the lowest score themselves: nothing is below it" if middle <= samples.lowest else None
        )
    if middle > min(row.verdict for row in samples.rows if isinstance(row.verdict, (int, float))):
        return None
    return "no score is below the median of genuine answers: whether one could be, a log does not say"


def _split(rows: Mapping[Place, Sequence[VerdictRow]]) -> str:
    """Return ` (won 3, tied 12)`, what worthless answers did that did not lose; nothing where all of them lost."""
    verdicts = [row.verdict for group in rows.values() for row in group if _not_lost(row)]
    tied = verdicts.count("TIE")
    return f" (won {len(verdicts) - tied}, tied {tied})" if verdicts else ""


def _not_lost(row: VerdictRow) -> bool:
    found = probe_name(row.perturbation)
    return found is not None and row.verdict != ("B" if found.side == "a" else "A")


def tying(
    samples: Samples, name: str, rows: Mapping[Place, Sequence[VerdictRow]], *, tolerance: float, asked: int
) -> Finding:
    """Return how often one of two equal answers wins; a judge that knows no tie must at least favour no slot."""
    if samples.kind != "pairwise":
        return missing(name, samples.criterion, "only of two answers one can be a copy of the other", asked=asked)
    if any(row.verdict == "TIE" for row in samples.rows):
        return _shares(
            samples, name, rows, lambda row: row.verdict != "TIE", tolerance=tolerance, asked=asked, told="had a winner"
        )
    leaning = {
        case: sum(_SLOTS[str(row.verdict), row.swapped] for row in group) for case, group in _by_case(rows).items()
    }
    first, second = sum(one > 0 for one in leaning.values()), sum(one < 0 for one in leaning.values())
    lean = Lean(cases=len(leaning), first=first, second=second)
    speaking = _speaking(samples, rows, lambda row: _SLOTS[str(row.verdict), row.swapped] * (first - second) > 0)
    told = (
        f"between equal answers, which it never calls a tie, the first slot won in {first} and the second in {second}"
    )
    finding = lean_finding(
        lean, name=name, criterion=samples.criterion, tolerance=tolerance, told=told, asked=asked, speaking=speaking
    )
    return replace(finding, calls=samples.calls_as_it_is + sum(map(len, rows.values())) / lean.cases)


def _shares(
    samples: Samples,
    name: str,
    rows: Mapping[Place, Sequence[VerdictRow]],
    hit: Callable[[VerdictRow], bool],
    *,
    tolerance: float,
    asked: int,
    told: str,
    split: str = "",
) -> Finding:
    groups = _by_case(rows)
    valid = sum(map(len, groups.values()))
    shares = hit_shares(groups, hit)
    return above_finding(
        shares,
        name=name,
        criterion=samples.criterion,
        tolerance=tolerance,
        told=ever_text(shares.values(), told) + split,
        asked=asked,
        valid=valid,
        calls=samples.calls_as_it_is + valid / len(groups),  # asked as it is, too: who wins is to be known
        speaking=_speaking(samples, rows, hit),
    )


def _by_case(rows: Mapping[Place, Sequence[VerdictRow]]) -> dict[str, list[VerdictRow]]:
    groups: dict[str, list[VerdictRow]] = {}
    for place in sorted(rows):
        groups.setdefault(place[0], []).extend(rows[place])
    return groups


def _speaking(
    samples: Samples, rows: Mapping[Place, Sequence[VerdictRow]], hit: Callable[[VerdictRow], bool]
) -> list[Speaking]:
    """Return the cases with the event, each with the first sample that shows it beside the case as it is."""
    first: dict[str, Speaking] = {}
    for place in sorted(rows):
        base = next(iter(samples.unchanged.get(place, ())), None)
        shown = [row for row in rows[place] if hit(row)]
        if shown:
            first.setdefault(place[0], (len(shown) / len(rows[place]), place[0], base, shown[0]))
    return list(first.values())
