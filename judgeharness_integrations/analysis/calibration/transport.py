"""Whether the cases of a run are like those a calibration was measured on: what is counted of both, and a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Final

from judgeharness_integrations.verdictlog.encoding import p_text
from judgeharness_integrations.verdictlog.row import VerdictRow, finite_number

from ..aggregation.cases import CaseDecision, case_consistency
from ..aggregation.grouping import Clusters, is_numeric
from ..statistics.proportions import holm
from .items import LabelledItem
from .population import (
    CHARACTERS,
    CaseFacts,
    Decided,
    Population,
    case_columns,
    column_text,
    length_start,
    lengths_of,
    population_of,
)
from .saved import CalibrationState
from .strata import SMALLEST_EXPECTED, homogeneity_p, selection_of_items, stratum_text

__all__ = [
    "ALPHA",
    "FEWEST",
    "LEAST_FACTOR",
    "LEAST_H",
    "STOPPED",
    "ShiftFeature",
    "ShiftTest",
    "column_apart",
    "shift_test",
    "told_apart_by",
    "transported",
    "unlike",
    "unlike_others",
]

ALPHA: Final = 0.01  # a report is made of every run: one in a hundred is called shifted by chance
FEWEST: Final = 20
LEAST_H: Final = 0.2  # Cohen's h between shares from which a difference matters: what he calls small (1988, ch. 6)
LEAST_FACTOR: Final = 1.5  # of lengths; a bin of them is 1.41 wide, so that no single character makes it
STOPPED: Final = "the run was asked until its own gate is settled, which cases that look like success do sooner"
_MOST_NAMED: Final = 3
_MOST_CATEGORIES: Final = 10
_OTHERS: Final = "others"
_CONSTANT: Final = "it is the same in every case"
_BATCH: Final = "one value in all labelled cases and another in all of the run, which may be a batch or a date"
_UNCOUNTED: Final = "the calibration was saved by an earlier version, without what its cases are like: calibrate again"
_ALIKE: Final = "no difference was found between this run's cases and the labelled ones"
_WHAT_TO_DO: Final = "label cases of this run and measure again on them"

_DRAW: Final = "label a random sample of the cases"

_Counts = Mapping[str, int]
_Group = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ShiftFeature:
    """One thing in which labelled cases and the run's are compared.

    `feature` is `decisions` or `consistency` of the criterion `of`, `lengths` by the measure `of`, or `strata` of the
    column `of`, one that was named or any other of which the labelled cases have few values. `p` is of chi square or an
    exact test (`homogeneity_p`), `p_adjusted` of Holm's adjustment over all features. `category` is where the two
    differ most: it holds `labelled` of the labelled cases and `run` of the run's, as shares of `labelled_cases` and
    `run_cases`. Without a p-value `reason` says why.
    `effect` is how large the difference is: Cohen's h of these two shares, or the factor by which lengths differ in the
    geometric mean, matched in their order (2 to the Wasserstein distance of their binary logarithms). Below
    `least_effect` it does not matter, however surely it is there.
    """

    feature: str
    of: str
    labelled_cases: int
    run_cases: int
    category: str = ""
    labelled: float | None = None
    run: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    reason: str = ""
    effect: float | None = None
    least_effect: float | None = None

    @property
    def differs(self) -> bool:
        """Whether there is a difference beyond chance, of any size."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA

    @property
    def shifted(self) -> bool:
        """Whether there is one, and it is large enough to matter."""
        return self.differs and self.effect is not None and self.effect >= (self.least_effect or 0.0)

    @property
    def name(self) -> str:
        """The feature and what it is of."""
        return f"lengths in {self.of}" if self.feature == "lengths" else f"{self.feature} of {self.of}"

    def __str__(self) -> str:
        """Return what differs, by how much, and how likely that is by chance."""
        shares = f"{100 * (self.labelled or 0):.0f} % of {self.labelled_cases} labelled cases"
        here = f"{100 * (self.run or 0):.0f} % of {self.run_cases} here"
        return f"{self.name} ({stratum_text(self.category)}: {shares}, {here}, p {p_text(self.p_adjusted)})"

    @property
    def small_text(self) -> str:
        """How small a difference is that does not matter."""
        measure = "a factor" if self.feature == "lengths" else "Cohen's h"
        return (
            f"{self.name} ({measure} of {self.effect or 0:.2f}, {self.least_effect or 0:g} counts, "
            f"p {p_text(self.p_adjusted)})"
        )


@dataclass(frozen=True, kw_only=True)
class ShiftTest:
    """Whether a run's cases are `shifted` against labelled ones; None, with the `reason`, where it was not tested."""

    shifted: bool | None
    features: tuple[ShiftFeature, ...] = ()
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if self.shifted is None:
            return f"whether this run's cases are like the labelled ones was not measured: {self.reason}"
        if not self.shifted:
            return self._alike()
        return f"this run's cases are not like the labelled ones in {self.apart}: {_WHAT_TO_DO}"

    @property
    def apart(self) -> str:
        """In what the cases are shifted, the surest difference first; empty where they are not."""
        found = sorted((one for one in self.features if one.shifted), key=lambda one: one.p_adjusted or 0.0)
        named = ", ".join(map(str, found[:_MOST_NAMED]))
        return f"{named} and {len(found) - _MOST_NAMED} more features" if len(found) > _MOST_NAMED else named

    def _alike(self) -> str:
        tested = [one for one in self.features if one.p_adjusted is not None]
        left = ", ".join(one.name for one in self.features if one.reason not in {"", _CONSTANT})
        told = [f"not compared: {left}"] if left else []
        small = [one for one in tested if one.differs]
        if small:
            told.insert(0, f"too small to matter: {', '.join(one.small_text for one in small)}")
        if alike := [one for one in tested if not one.differs]:
            least = min(one.p_adjusted or 0.0 for one in alike)
            found = f"{_ALIKE} in {', '.join(one.name for one in alike)} (smallest p {p_text(least)})"
        else:
            found = f"{_ALIKE} that matters"
        return "; ".join([found, *told])

    def to_dict(self) -> dict[str, Any]:
        """Return the test as JSON keeps it."""
        return asdict(self) | {"features": [asdict(one) for one in self.features]}


def transported(state: CalibrationState, test: ShiftTest) -> CalibrationState:
    """Return the state of a calibration for a whole run: what holds case by case does not where the run is shifted."""
    if test.shifted and state.status in {"valid", "unverifiable"}:
        return CalibrationState(status="shifted", reason=test.sentence)
    return state


def shift_test(labelled: Population | None, run: Population, *, tests: int = 1) -> ShiftTest:
    """Test whether a run's cases are of the population of the labelled ones.

    Every feature that both sides have is tested on its counts; Holm's adjustment keeps the level of .01 over all of
    them. Columns that nobody named share the weight of one feature, so that many of them hide no shift of the others. A
    difference counts where it is large enough to matter, too (`ShiftFeature.effect`): among many cases the
    smallest one is significant. Labelled cases that are in the run as well make the two more alike, which makes the
    test more careful.

    Args:
        labelled: what a calibration keeps of its cases; None of one that an earlier version saved.
        run: the same of the run.
        tests: how many such tests are made of one run; the level is that of all of them together (Bonferroni).

    """
    if labelled is None:
        return ShiftTest(shifted=None, reason=_UNCOUNTED)
    for whose, one in (("labelled", labelled), ("run's", run)):
        if one.worth < FEWEST:
            worth = f"{one.cases} cases" if one.copies <= 1 else f"{one.cases} cases in clusters worth {one.worth:.0f}"
            return ShiftTest(shifted=None, reason=f"the {whose} cases are too few: {worth}, {FEWEST} are needed")
    copies = max(labelled.copies, run.copies)
    features = list(_features(labelled, run, copies))
    tested = [place for place, one in enumerate(features) if one.p is not None]
    unnamed = [one.feature == "strata" and one.of != labelled.column for one in features]
    weights = [1 / sum(unnamed[place] for place in tested) if unnamed[place] else 1.0 for place in tested]
    for place, adjusted in zip(tested, holm([features[place].p or 0.0 for place in tested], weights), strict=True):
        features[place] = replace(features[place], p_adjusted=min(tests * adjusted, 1.0))
    if not tested:
        reason = "; ".join(dict.fromkeys(f"{one.name}: {one.reason}" for one in features))
        return ShiftTest(shifted=None, features=tuple(features), reason=reason)
    return ShiftTest(shifted=any(one.shifted for one in features), features=tuple(features))


def unlike_others(labelled: Iterable[CaseFacts], others: Iterable[CaseFacts], what: str) -> str:
    """Return that the labelled cases of a run are not like its others, and what follows; see `shift_test`.

    Whether they are decided alike `calibration.selection` tests, exactly.

    Args:
        labelled: cases that have a label.
        others: cases of the same run and criterion that have none.
        what: follows from it.

    Returns:
        Nothing where no difference was found, or none could be tested.

    """
    known = population_of(labelled)
    return unlike(shift_test(known, population_of(others, columns=known.columns)), what)


def unlike(test: ShiftTest, what: str) -> str:
    """Return that unlabelled cases are not like the labelled ones they were tested against; see `unlike_others`."""
    apart = replace(test, features=tuple(one for one in test.features if one.feature != "decisions")).apart
    if not apart:
        return ""
    return f"the cases here without a label are not like the labelled ones in {apart}; {what}: {_DRAW}"


def told_apart_by(labelled: Iterable[CaseFacts], others: Iterable[CaseFacts]) -> str:
    """Return which column has one value in all labelled cases of a run and another in all others; empty without any.

    It may note who has a label, or what the labelled cases are: nobody can tell, so that it is said and no test.
    """
    mine = population_of(labelled)
    return column_apart(mine, population_of(others, columns=mine.columns))


def column_apart(mine: Population, theirs: Population) -> str:
    """Return which column has one value in all labelled cases and another in all others; see `told_apart_by`."""
    for name, values in mine.columns.items():
        here = theirs.columns.get(name, {})
        if len(values) == len(here) == 1 and values.keys() != here.keys():
            has, have = (stratum_text(next(iter(one))) for one in (values, here))
            return f"{name} is {has} in all cases with a label and {have} in all others: it holds for {has} alone"
    return ""


def _features(labelled: Population, run: Population, copies: float) -> Iterator[ShiftFeature]:
    for name in labelled.criteria:
        if name in run.criteria:
            mine, theirs = labelled.criteria[name], run.criteria[name]
            yield _feature("decisions", name, (mine.decisions, theirs.decisions), copies, _decision_groups)
            yield _feature("consistency", name, (mine.consistency, theirs.consistency), copies, _tenths)
    measure = next((name for name in labelled.lengths if name in run.lengths), None)
    if measure is not None:
        yield _feature("lengths", measure, (labelled.lengths[measure], run.lengths[measure]), copies, _lengths)
    else:
        why = "nothing says how long cases are on both sides: give texts, token counts or length columns"
        yield _unmeasured("lengths", next(iter(labelled.lengths), CHARACTERS), labelled, run, why)
    if labelled.column is not None:
        if run.strata:
            yield _feature("strata", labelled.column, (labelled.strata, run.strata), copies, _nominal)
        else:
            yield _unmeasured("strata", labelled.column, labelled, run, "no case of the run has this column")
    for name, values in labelled.columns.items():
        if (here := run.columns.get(name)) is None:
            continue  # a column of the file with labels
        if len(values) == len(here) == 1 and values.keys() != here.keys():
            yield _unmeasured("strata", name, labelled, run, _BATCH)
        else:
            yield _feature("strata", name, (values, here), copies, _nominal)


def _unmeasured(feature: str, of: str, labelled: Population, run: Population, reason: str) -> ShiftFeature:
    return ShiftFeature(feature=feature, of=of, labelled_cases=labelled.cases, run_cases=run.cases, reason=reason)


_Grouping = Callable[[_Counts, float], list[tuple[str, _Group]]]


def _feature(feature: str, of: str, sides: tuple[_Counts, _Counts], copies: float, groups: _Grouping) -> ShiftFeature:
    """Test one feature; categories are chosen by the pooled counts alone, which keeps the level."""
    labelled, run = sides
    sizes = [sum(counts.values()) for counts in sides]
    found = ShiftFeature(feature=feature, of=of, labelled_cases=sizes[0], run_cases=sizes[1])
    if min(sizes) / copies < FEWEST:
        return replace(found, reason=f"known of {sizes[0]} labelled cases and {sizes[1]} of the run, too few")
    pooled = {name: labelled.get(name, 0) + run.get(name, 0) for name in {*labelled, *run}}
    if len(pooled) == 1:
        return replace(found, reason=_CONSTANT)
    least = SMALLEST_EXPECTED * copies * sum(sizes) / min(sizes)  # what a category needs for chi square
    listed = groups(pooled, least)
    listed = _folded(listed, pooled, least) if copies > 1 else listed
    table = [[sum(counts.get(name, 0) for name in members) for _, members in listed] for counts in sides]
    p = homogeneity_p(table, copies=copies) if len(listed) > 1 else None
    if p is None:
        return replace(found, reason="too few cases of all but one category")
    shares = [[count / size for count in row] for row, size in zip(table, sizes, strict=True)]
    place = max(range(len(listed)), key=lambda one: abs(shares[0][one] - shares[1][one]))
    of_lengths = feature == "lengths"
    return replace(
        found,
        p=p,
        category=listed[place][0],
        labelled=shares[0][place],
        run=shares[1][place],
        effect=_factor(labelled, run) if of_lengths else _cohens_h(shares[0][place], shares[1][place]),
        least_effect=LEAST_FACTOR if of_lengths else LEAST_H,
    )


def _cohens_h(first: float, second: float) -> float:
    """Return the distance of two shares on the scale on which their variance is the same everywhere."""
    return 2 * abs(math.asin(math.sqrt(first)) - math.asin(math.sqrt(second)))


def _factor(labelled: _Counts, run: _Counts) -> float:
    """Return by which factor lengths differ, a geometric mean over the cases of both sides matched in their order."""
    bins = sorted({*labelled, *run}, key=int)
    apart, distance = 0.0, 0.0  # the difference of the shares up to a bin, and its integral
    for here, after in pairwise(bins):
        apart += labelled.get(here, 0) / sum(labelled.values()) - run.get(here, 0) / sum(run.values())
        distance += abs(apart) * math.log2(length_start(after) / length_start(here))
    return float(2**distance)


def _decision_groups(pooled: _Counts, least: float) -> list[tuple[str, _Group]]:
    """Return decisions as categories: scores in their order, labels as they are."""
    scores = {name: value for name in pooled if (value := finite_number(name)) is not None}
    if len(scores) <= 1:
        return _nominal(pooled, least)
    others = [(name, (name,)) for name in sorted(pooled.keys() - scores)]
    ordered = sorted(scores, key=scores.__getitem__)
    merged = _merged(ordered, pooled, least)
    return [*((_span(one, lambda name: name), one) for one in merged), *others]


def _nominal(pooled: _Counts, least: float) -> list[tuple[str, _Group]]:
    """Return the most frequent categories, and all others as one."""
    names = sorted(pooled, key=lambda name: (-pooled[name], name))
    kept = [name for name in names[:_MOST_CATEGORIES] if pooled[name] >= least] if len(names) > 2 else names  # noqa: PLR2004
    kept = kept or names[:1]
    rest = tuple(name for name in names if name not in kept)
    listed: list[tuple[str, _Group]] = [(name, (name,)) for name in kept]
    return [*listed, (rest[0] if len(rest) == 1 else _OTHERS, rest)] if rest else listed


def _tenths(pooled: _Counts, least: float) -> list[tuple[str, _Group]]:
    return [(_span(one, str), one) for one in _merged(sorted(pooled, key=float), pooled, least)]


def _lengths(pooled: _Counts, least: float) -> list[tuple[str, _Group]]:
    merged = _merged(sorted(pooled, key=int), pooled, least)
    return [(f"{length_start(one[0]):.0f} to {length_start(one[-1], after=True):.0f}", one) for one in merged]


def _span(members: _Group, text: Callable[[str], str]) -> str:
    return text(members[0]) if len(members) == 1 else f"{text(members[0])} to {text(members[-1])}"


def _folded(listed: list[tuple[str, _Group]], pooled: _Counts, least: float) -> list[tuple[str, _Group]]:
    """Return categories of which each holds enough for chi square: the rarest are taken together."""
    by_size = sorted(listed, key=lambda one: -sum(pooled[name] for name in one[1]))
    while len(by_size) > 1 and sum(pooled[name] for name in by_size[-1][1]) < least:
        rarest, next_rarest = by_size.pop(), by_size.pop()
        by_size.append((_OTHERS, next_rarest[1] + rarest[1]))
    return by_size


def _merged(ordered: Sequence[str], pooled: _Counts, least: float) -> list[_Group]:
    """Merge neighbours until each holds a tenth of all cases, and enough for chi square."""
    enough = max(least, sum(pooled.values()) / _MOST_CATEGORIES)
    groups: list[list[str]] = [[]]
    for name in ordered:
        if sum(pooled[one] for one in groups[-1]) >= enough:
            groups.append([])
        groups[-1].append(name)
    if len(groups) > 1 and sum(pooled[one] for one in groups[-1]) < enough:
        last = groups.pop()
        groups[-1] += last
    if len(groups) > 1:
        return [tuple(one) for one in groups]
    mode = max(ordered, key=pooled.__getitem__)  # hardly anything else occurs
    return [(mode,), tuple(name for name in ordered if name != mode)]


LABELLED_ALONE: Final = "accuracy on them is not that of the run"
OF_SOME: Final = "accuracy is of some cases: "


def facts_of_decisions(decided: Mapping[str, Iterable[CaseDecision]], *, column: str | None) -> list[CaseFacts]:
    """Return what is counted of the cases of a log, whose texts are not known.

    Args:
        decided: criterion -> decisions about the cases that count, each of one run.
        column: the column of the strata.

    """
    found: dict[tuple[str, str], tuple[Sequence[VerdictRow], dict[str, Decided]]] = {}
    for criterion, decisions in decided.items():
        cases = list(decisions)
        numeric = bool(is_numeric([row for case in cases for row in case.rows]))
        for case in cases:
            key = (case.rows[0].run, case.case_id)
            _, criteria = found.setdefault(key, (case.rows, {}))
            criteria[criterion] = Decided(
                verdict=case.decision.verdict,
                status=case.decision.status,
                consistency=case_consistency(case, numeric=numeric),
            )
    clusters = Clusters()
    for (_, case_id), (rows, _) in found.items():
        clusters.add_rows(case_id, rows)
    return [
        CaseFacts(
            cluster=clusters.of(case_id),
            criteria=criteria,
            stratum=None if column is None else column_text(rows, column),
            lengths=lengths_of(rows, {}),
            columns=case_columns(rows),
        )
        for (_, case_id), (rows, criteria) in found.items()
    ]


def items_of_decisions(criterion: str, cases: Iterable[CaseDecision]) -> list[LabelledItem]:
    """Return each decision about a criterion with its gold label, where there is one."""
    return [
        LabelledItem(
            case_id=case.case_id,
            criterion=criterion,
            gold=case.gold,
            verdict=case.decision.verdict,
            status=case.decision.status,
        )
        for case in cases
    ]


def labels_apart(criterion: str, cases: Sequence[CaseDecision], what: str) -> str:
    """Return that which cases of a log have a gold label goes with what was decided, or with what they are like.

    `what` follows from it. Empty where neither was found, or all cases have a label.
    """
    if len({case.gold is None for case in cases}) == 1:
        return ""
    clusters = Clusters.of_cases(cases)
    keys = {case.case_id: clusters.of(case.case_id) for case in cases}
    found = selection_of_items(items_of_decisions(criterion, cases), criterion, keys)
    return found.told(what) if found is not None and found.found else unlike_labelled(criterion, cases, what)


def unlike_labelled(criterion: str, cases: Iterable[CaseDecision], what: str) -> str:
    """Return that cases without a gold label are not like those with one, and `what` follows; see `unlike_others`."""
    return unlike_others(*_sides(criterion, cases), what)


def labelled_alone(criterion: str, cases: Iterable[CaseDecision]) -> str:
    """Return which column tells cases with a gold label from all others; see `told_apart_by`."""
    return told_apart_by(*_sides(criterion, cases))


def _sides(criterion: str, cases: Iterable[CaseDecision]) -> tuple[list[CaseFacts], list[CaseFacts]]:
    """Return the facts of the cases with a gold label, and those of the others."""
    sides: tuple[list[CaseDecision], list[CaseDecision]] = ([], [])
    for case in cases:
        sides[case.gold is None].append(case)
    labelled, others = (facts_of_decisions({criterion: side}, column=None) for side in sides)
    return labelled, others
