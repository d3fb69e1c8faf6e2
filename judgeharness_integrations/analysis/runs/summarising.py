"""Results of cases: what each judge and criterion comes to, judges and designs told apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict, is_number

from ..aggregation.grouping import Answered, Clusters
from ..aggregation.statistics import pair_disagreement
from ..calibration.controls import Controls, controls_of, longer_of
from ..calibration.items import LabelledItem, read_golds, unread_sentence
from ..calibration.population import CaseFacts
from ..calibration.rates import Rate
from ..calibration.strata import selection_of_items
from ..calibration.transport import LABELLED_ALONE, told_apart_by, unlike_others
from ..certifying.applying import withheld_of
from ..design import Design
from ..measure import facts_of_result
from ..probability.measuring import ProbabilitySummary, probability_summary
from ..replay.replaying import JudgeFold
from ..replay.report import JudgeReplay
from ..result import CriterionResult, HarnessResult
from ..statistics.means import Estimate, cluster_degrees, estimate, z_quantile
from ..statistics.proportions import clustered_wilson, wilson_of
from .report import CriterionSummary, FlipRate


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


_DIGITS = 6  # of a fingerprint: enough to tell a suite's judges apart


def told_apart(results: Iterable[HarnessResult]) -> list[HarnessResult]:
    """Return results whose judges share a name and a design but are not one under names that say which is which.

    A suite has many judges under one default name: two criteria of one chain, a raw and a normalised score. Numbers of
    different questions or scales are never pooled; those of different designs are told apart anyway. Judges without a
    fingerprint keep their name.
    """
    listed = list(results)
    known: dict[tuple[str, Hashable], set[str]] = {}
    for result in listed:
        if result.fingerprint is not None:
            known.setdefault((result.judge, design_key(result.design)), set()).add(result.fingerprint)
    several = {judge for (judge, _), fingerprints in known.items() if len(fingerprints) > 1}
    return [
        replace(result, judge=f"{result.judge} [{result.fingerprint[:_DIGITS]}]")
        if result.fingerprint is not None and result.judge in several
        else result
        for result in listed
    ]


_FEWEST = 3  # different inputs that got the same answer
_SIDES = (("author", "output"), ("author_b", "output_b"))


def unvaried_systems(cases: Iterable[Answered], texts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a sentence for every judged system with the same answer to all of three or more different inputs.

    Answers that differ in white space or capitals alone are the same.

    A system is who wrote an answer (the columns `author` and `author_b`), else the place of its answers, `output` or
    `output_b`. A case whose texts are not known says nothing.

    Args:
        cases: with their rows.
        texts: case -> field -> text of what was judged.

    """
    given: dict[str, tuple[set[str], set[str]]] = {}
    for case in cases:
        known, columns = texts.get(case.case_id, {}), case.rows[0].attributes if case.rows else {}
        for author, place in _SIDES:
            if known.get(place) is not None and known.get("input") is not None:
                inputs, answers = given.setdefault(str(columns.get(author) or place), (set(), set()))
                inputs.add(known["input"])
                answers.add(" ".join(known[place].split()).casefold())
    for name, (inputs, answers) in given.items():
        if len(inputs) >= _FEWEST and len(answers) == 1:
            yield (
                f"the answers of {name} do not vary: it gives one and the same text to all {len(inputs)} inputs, so "
                "that no result of it is one of reading them"
            )


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


_UNCHANGED = "none"
_MOST_SHARES = 20
_POSITIVES = (("PASS", frozenset({"PASS", "FAIL"})), ("A", frozenset({"A", "B", "TIE"})))


def summaries(
    results: Iterable[HarnessResult],
    *,
    planned: Mapping[str, int] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
) -> list[CriterionSummary]:
    """Return what each judge and criterion comes to, in order of appearance; designs are never mixed.

    Args:
        results: measurements of cases, by any judges under any designs.
        planned: judge -> cases that were to be asked; those without a result count as not graded, under the judge's
            first design.
        texts: case -> field -> text of what was judged, as far as that is known.

    """
    listed = tuple(results)
    groups: dict[Hashable, list[HarnessResult]] = {}
    for result in listed:
        groups.setdefault((result.judge, design_key(result.design)), []).append(result)
    missing = {judge: count - sum(one.judge == judge for one in listed) for judge, count in (planned or {}).items()}
    return [
        summary
        for group in groups.values()
        for summary in _of_judge(group, len(group) + max(missing.pop(group[0].judge, 0), 0), texts or {})
    ]


def positive_of(measured: Sequence[CriterionResult]) -> str | None:
    """Return the label that a pass rate is of: PASS against FAIL, A against B and TIE; None for other verdicts."""
    given = {verdict for one in measured for verdict in _labels(one)}
    return next((positive for positive, labels in _POSITIVES if given and given <= labels), None)


def _labels(measured: CriterionResult) -> Iterator[Verdict]:
    """Yield the labels among samples and decision: scores that a rule turns into PASS or FAIL are none."""
    if not measured.numeric:
        yield from measured.sample_distribution
    if measured.status == "decided" and isinstance(measured.verdict, str):
        yield measured.verdict


def _of_judge(
    results: Sequence[HarnessResult], planned: int, texts: Mapping[str, Mapping[str, str]]
) -> Iterator[CriterionSummary]:
    names = dict.fromkeys(name for result in results for name in result.criteria)
    clusters = Clusters.of_cases(results)
    for replay in _replays(results, names, planned, clusters.shared()):
        pairs = [
            (result, result.criteria[replay.criterion]) for result in results if replay.criterion in result.criteria
        ]
        keys = clusters_of(pairs, clusters, missing=replay.cases - len(pairs))
        apart, batch = _labels_apart(replay.criterion, pairs, keys)
        yield replace(
            _summary(pairs, results[0].design, replay, keys),
            controls=_controls(pairs, keys, texts),
            probabilities=_probabilities([result for result, _ in pairs], replay.criterion),
            apart=apart,
            batch=batch,
        )


def _probabilities(results: Sequence[HarnessResult], criterion: str) -> ProbabilitySummary | None:
    rows = [row for one in results for row in (*one.rows, *one.probe_rows) if row.criterion == criterion]
    if all(row.probabilities is None for row in rows):
        return None
    return probability_summary(rows)


def _replays(
    results: Sequence[HarnessResult], names: Iterable[str], planned: int, clusters: Mapping[str, Hashable]
) -> Iterator[JudgeReplay]:
    first = results[0]
    scales = {name: c.tolerance for one in results for name, c in one.criteria.items() if c.tolerance is not None}
    fold = JudgeFold(
        judge=first.judge,
        rule=first.design.rule,
        criteria=names,
        min_valid=first.design.min_valid,
        tolerance=first.design.tolerance,
        tolerances=scales,
    )
    for result in results:
        if result.rows:
            planned_samples = max(measured.planned for measured in result.criteria.values())
            cluster = clusters.get(result.case_id)
            fold.add(result.rows, planned=planned_samples, withheld=withheld_of(result), cluster=cluster)
    return fold.finish(planned_cases=planned)


def _summary(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]],
    design: Design,
    replay: JudgeReplay,
    clusters: Sequence[Hashable],
) -> CriterionSummary:
    measured = [one for _, one in pairs]
    decided = Counter(one.verdict for one in measured if one.status == "decided" and one.verdict is not None)
    positive = positive_of(measured)
    missing = [False] * (replay.cases - len(measured))
    compared = [one for one in measured if one.valid > 1 or one.planned <= 1]  # one of several agrees with itself
    outcomes: Counter[str] = Counter()
    for one in measured:
        outcomes.update(one.outcomes)
    return CriterionSummary(
        judge=replay.judge,
        criterion=replay.criterion,
        design=design,
        replay=replay,
        cases=replay.cases,
        verdicts=dict(decided.most_common()),
        positive=positive,
        positive_rate=None
        if positive is None
        else Rate.over([*(one.verdict == positive for one in measured), *missing], clusters),
        coverage=Rate.over([*(one.status == "decided" for one in measured), *missing], clusters),
        abstention=Rate.over([*(one.status == "abstained" for one in measured), *missing], clusters),
        accuracy=accuracy_of(pairs, clusters),
        mean_score=_mean_score(measured, clusters) if replay.kind == "numbers" else None,
        consistency_rate=_mean(one.consistency_rate for one in compared),
        chance_consistency=_mean(one.chance_consistency for one in compared),
        agreement=_mean(one.agreement for one in measured),
        flips=tuple(_flips(measured, clusters)),
        outcomes=dict(outcomes),
        planned=sum(one.planned for one in measured),
        noise=_noise(measured, clusters),
        shares={
            label: rate
            for label, _ in decided.most_common(_MOST_SHARES)
            if not is_number(label)
            and (rate := Rate.over([*(one.verdict == label for one in measured), *missing], clusters)) is not None
        },
        repeated=len(pairs) - len({result.case_id for result, _ in pairs}),
    )


def clusters_of(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]], clusters: Clusters, *, missing: int
) -> list[Hashable]:
    """Return which cluster each case is in, then the missing cases, each in one of its own."""
    found = [clusters.of(result.case_id) for result, _ in pairs]
    return [*found, *(("missing", number) for number in range(missing))]


def accuracy_of(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]], clusters: Sequence[Hashable], *, confidence: float = 0.95
) -> Rate | None:
    """Return the share of right decisions, of labels among decided cases with a gold label; scores are never right."""
    labelled = [
        (measured.verdict == gold, cluster)
        for (result, measured), cluster in zip(pairs, clusters, strict=False)
        if measured.status == "decided" and not is_number(measured.verdict)
        if (gold := gold_of(result, measured.criterion)) is not None
        if not is_number(gold)  # a score is neither the right label nor a wrong one
    ]
    return Rate.over([hit for hit, _ in labelled], [cluster for _, cluster in labelled], confidence=confidence)


def _labels_apart(
    name: str, pairs: Sequence[tuple[HarnessResult, CriterionResult]], keys: Sequence[Hashable]
) -> tuple[str, str]:
    """Return `apart` and `batch` of a summary: what goes with having a gold label."""
    # of a case that was never asked neither is known
    asked = [(*pair, key, gold_of(pair[0], name)) for pair, key in zip(pairs, keys, strict=False) if pair[0].rows]
    if len({gold is None for *_, gold in asked}) <= 1:
        return "", ""
    items = [
        LabelledItem(case_id=one.case_id, criterion=name, gold=gold, verdict=measured.verdict, status=measured.status)
        for one, measured, _, gold in asked
    ]
    found = selection_of_items(items, name, {one.case_id: key for one, _, key, _ in asked})
    sides: tuple[list[CaseFacts], list[CaseFacts]] = ([], [])
    for one, _, key, gold in asked:
        sides[gold is None].append(facts_of_result(one, {}, column=None, cluster=key, criteria={name}))
    apart = found.told(LABELLED_ALONE) if found is not None and found.found else unlike_others(*sides, LABELLED_ALONE)
    return apart, "" if apart else told_apart_by(*sides)


def _controls(
    pairs: Sequence[tuple[HarnessResult, CriterionResult]],
    keys: Sequence[Hashable],
    texts: Mapping[str, Mapping[str, str]],
) -> Controls | None:
    """Return the controls of decided cases with gold; of labels, where decisions are labels."""
    found = [
        (gold, measured.verdict, cluster, longer_of(texts.get(result.case_id, {}), columns_of(result)))
        for (result, measured), cluster in zip(pairs, keys, strict=False)
        if measured.status == "decided" and measured.verdict is not None
        if (gold := gold_of(result, measured.criterion)) is not None
        if is_number(gold) is is_number(measured.verdict)
    ]
    if not found or len({is_number(gold) for gold, *_ in found}) > 1:
        return None
    golds, verdicts, clusters, longer = zip(*found, strict=True)
    return controls_of(golds, verdicts, clusters, longer=longer)


def columns_of(result: HarnessResult) -> Mapping[str, str | float]:
    """Return what the log says of a case beside verdicts."""
    return result.rows[0].attributes if result.rows else {}


def _mean_score(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> Estimate | None:
    scored = [
        (float(one.verdict), cluster)
        for one, cluster in zip(measured, clusters, strict=False)
        if isinstance(one.verdict, (int, float)) and is_number(one.verdict)
    ]
    if not scored:
        return None
    mean = math.fsum(score for score, _ in scored) / len(scored)
    return estimate(mean, [score - mean for score, _ in scored], [cluster for _, cluster in scored])


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _flips(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> Iterator[FlipRate]:
    rates: dict[str, list[tuple[float, Hashable]]] = {}
    for one, cluster in zip(measured, clusters, strict=False):
        for part in one.perturbations:
            if part.flip_rate is not None:
                rates.setdefault(part.name, []).append((part.flip_rate, cluster))
    for name, found in rates.items():
        yield _mean_flip(name, found)


def _noise(measured: Sequence[CriterionResult], clusters: Sequence[Hashable]) -> FlipRate | None:
    """Return how often two samples of the unchanged case differ, over the cases that have a flip rate."""
    found: list[tuple[float, Hashable]] = []
    for one, cluster in zip(measured, clusters, strict=False):
        if any(part.flip_rate is not None for part in one.perturbations):
            given = next(part.sample_distribution for part in one.perturbations if part.name == _UNCHANGED)
            if (samples := sum(given.values())) > 1:  # of all pairs, those of a sample with itself never differ
                apart = pair_disagreement(given, given, tolerance=one.tolerance) or 0.0
                found.append((apart * samples / (samples - 1), cluster))
    return _mean_flip(_UNCHANGED, found) if found else None


def _mean_flip(name: str, found: Sequence[tuple[float, Hashable]]) -> FlipRate:
    value = math.fsum(rate for rate, _ in found) / len(found)
    low, high = careful_interval(value, [cluster for _, cluster in found])
    return FlipRate(perturbation=name, value=value, low=low, high=high, cases=len(found))


def careful_interval(value: float, clusters: Sequence[Hashable]) -> tuple[float, float]:
    """Return Wilson's interval of a mean of shares as if each were yes or no, which vary most, and clusters copies."""
    sizes = Counter(clusters)
    if len(sizes) == len(clusters):
        return wilson_of(value, len(clusters), z_quantile())
    if len(sizes) == 1:
        return 0.0, 1.0
    degrees = cluster_degrees(sizes.values())
    return clustered_wilson(value, degrees + 1, degrees)
