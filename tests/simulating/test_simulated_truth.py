"""What a simulated judge's truth says is what its answers show, and what other arithmetic gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from judgeharness_integrations import VerdictRow
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation.statistics import position_bias
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.testing import SimulatedJudge, SimulatedTruth
from judgeharness_integrations.testing.judges import bivariate_cdf

N = 900
QUALITY = 0.6
JUDGES = {
    "pairwise": SimulatedJudge(position=0.4, ties=0.3, case_correlation=0.4, formatting=0.8, wording=0.5, noise=1.2),
    "graded": SimulatedJudge(kind="graded", case_correlation=0.5, formatting=0.8, wording=0.4),
    "scores": SimulatedJudge(kind="scores", case_correlation=0.3, formatting=0.6),
    "steady": SimulatedJudge(case_correlation=1.0, position=-0.5),
}


def same_cases(kind: str, n: int = N, quality: float = QUALITY) -> list[AnswerCase]:
    """Return cases that differ in nothing but their ids."""
    common = {"input": "Who?", "names": ("Ada", "Ben"), "attributes": {"quality_difference": quality}}
    if kind in ("graded", "scores"):
        return [AnswerCase(case_id=f"case {i}", output="Ada.", **common) for i in range(n)]
    return [PairwiseCase(case_id=f"case {i}", output="Ada.", output_b="Ben?", **common) for i in range(n)]


def verdicts(rows: Sequence[VerdictRow]) -> dict[tuple[str, int], dict[str, object]]:
    """Return (perturbation, repetition) -> case -> verdict."""
    found: dict[tuple[str, int], dict[str, object]] = {}
    for row in rows:
        found.setdefault((row.perturbation, row.repetition), {})[row.case_id] = row.verdict
    return found


def agrees(truth: float | None, seen: Sequence[float] | np.ndarray) -> None:
    """Assert that a truth lies within four standard errors of a mean."""
    values = np.asarray(seen, dtype=float)
    assert truth is not None
    assert len(values) > 100
    error = max(values.std(), 1 / len(values)) / math.sqrt(len(values))
    assert abs(values.mean() - truth) <= 4 * error, (values.mean(), truth, error)


def differ(one: object, other: object) -> bool:
    return abs(one - other) > 1 if isinstance(one, int) and isinstance(other, int) else one != other


def flips(first: Mapping[str, object], second: Mapping[str, object]) -> list[bool]:
    return [differ(first[case], second[case]) for case in first.keys() & second.keys()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", JUDGES)
def test_every_rate_is_what_the_answers_show(name: str) -> None:
    judge = JUDGES[name]
    pair = judge.kind == "pairwise"
    orders = ["none", "position_swap"] if pair else ["none"]
    changes = [*orders, "format_change", "paraphrase", *(["format_change+position_swap"] if pair else [])]
    seen = verdicts(judge.rows(same_cases(judge.kind), perturbations=changes, repetitions=2))
    truth = judge.truth(quality_difference=QUALITY)
    for order in orders:
        for verdict in judge.scale.verdicts:
            said = [one == verdict for one in seen[order, 0].values()]
            agrees(truth.chance(verdict, perturbation=order), said)
        for change in changes:
            agrees(truth.flip_rate(change, base=order), flips(seen[order, 0], seen[change, 1]))
    excess = truth.flip_rate("format_change") - truth.flip_rate()
    assert truth.excess_flip_rate("format_change") == pytest.approx(excess)
    again = [one == seen["none", 1][case] for case, one in seen["none", 0].items()]
    agrees(truth.agreement, again)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pairwise", "steady"])
def test_position_is_what_the_fold_of_a_log_finds(name: str) -> None:
    judge, truth = JUDGES[name], JUDGES[name].truth(quality_difference=QUALITY)
    rows = judge.rows(same_cases("pairwise"), perturbations=["none", "position_swap"], repetitions=1)
    seen = verdicts(rows)
    shown, swapped = seen["none", 0], seen["position_swap", 0]
    slots = [(shown[case], swapped[case]) for case in shown]
    agrees(truth.position_consistency, [one == other for one, other in slots])
    agrees(truth.net_lean, [{("A", "B"): 1.0, ("B", "A"): -1.0}.get(pair, 0.0) for pair in slots])  # type: ignore[call-overload]
    bias = position_bias(replace(row, attributes={}, probe_hash=None) for row in rows)  # cases, and not copies of one
    assert bias is not None
    agrees(truth.first_slot_rate, [1.0] * bias.first_wins + [0.0] * bias.second_wins)
    assert (bias.cases_first - bias.cases_second) / N == pytest.approx(truth.net_lean, abs=0.08)


@pytest.mark.parametrize("kind", ["pairwise", "graded", "scores"])
def test_accuracy_is_that_against_the_gold_label(kind: str) -> None:
    judge = replace(JUDGES[kind], seed=5)
    gold = {"pairwise": "A", "graded": "PASS", "scores": 7}[kind]
    rows = judge.rows(same_cases(kind), repetitions=1)
    agrees(judge.truth(quality_difference=QUALITY).accuracy(), [row.verdict == gold for row in rows])


@pytest.mark.slow
def test_the_verdicts_of_a_case_go_together() -> None:
    judge = JUDGES["graded"]
    seen = verdicts(judge.rows(same_cases("graded", 2500), repetitions=2))
    pairs = np.array([[one == "PASS", seen["none", 1][case] == "PASS"] for case, one in seen["none", 0].items()])
    truth = judge.truth(quality_difference=QUALITY).verdict_correlation
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(truth, abs=4 / math.sqrt(2500))


def test_drift_moves_the_chance_call_by_call() -> None:
    judge = SimulatedJudge(drift=0.002)
    rows = judge.rows(same_cases("pairwise"), repetitions=1)
    late = rows[600:]
    truth = judge.truth(quality_difference=QUALITY)
    agrees(truth.chance("A", call=750), [row.verdict == "A" for row in late])
    assert truth.chance("A", call=750) > truth.chance("A") + 0.2


@pytest.mark.slow
def test_failures_come_as_often_as_planted_and_change_no_verdict() -> None:
    plain, failing = SimulatedJudge(), SimulatedJudge(refusal=0.1, garbage=0.2)
    rows = failing.rows(same_cases("pairwise"), repetitions=1)
    agrees(failing.refusal, [row.outcome == "refused" for row in rows])
    agrees(failing.garbage, [row.outcome == "unparsed" for row in rows])
    before = plain.rows(same_cases("pairwise"), repetitions=1)
    assert all(one.verdict in (None, other.verdict) for one, other in zip(rows, before, strict=True))


@pytest.mark.slow
def test_names_and_length_lead_as_far_as_the_texts_say() -> None:
    judge = SimulatedJudge(names={"Ada": 0.5, "Ben": 0.2}, length=0.4)
    cases = [replace(case, output="Ada. " * 8, output_b="Ben. " * 2) for case in same_cases("pairwise", 500)]
    seen = verdicts(judge.rows(cases, perturbations=["none", "name_swap", "position_swap"], repetitions=2))
    truth = judge.truth(quality_difference=QUALITY, name_lead=0.3, length_lead=0.4 * 2)
    agrees(truth.chance("A"), [one == "A" for one in seen["none", 0].values()])
    swapped = truth.chance("A", perturbation="name_swap")
    agrees(swapped, [one == "A" for one in seen["name_swap", 0].values()])
    assert truth.chance("A") > swapped
    agrees(truth.flip_rate("name_swap"), flips(seen["none", 0], seen["name_swap", 1]))
    agrees(truth.flip_rate("position_swap"), flips(seen["none", 0], seen["position_swap", 1]))


def test_a_single_answer_gains_by_length_beyond_two_hundred_characters() -> None:
    judge = SimulatedJudge(kind="graded", length=0.5)
    cases = [replace(case, output="x" * 800) for case in same_cases("graded", 500)]
    truth = judge.truth(quality_difference=QUALITY, length_lead=0.5 * 2)
    agrees(truth.chance("PASS"), [row.verdict == "PASS" for row in judge.rows(cases, repetitions=1)])


# Attacks


def attack(judge: SimulatedJudge, probe: str, cases: list[AnswerCase]) -> tuple[list[bool], list[bool]]:
    """Return by case whether a probe got what it was after, and whether a repetition did to the same answer."""
    rows = judge.rows(cases, repetitions=2, probes=[probe])
    seen = verdicts([row for row in rows if row.perturbation == "none"])
    hits, noise = [], []
    for row in rows:
        if row.perturbation != "none":
            before, again = (seen["none", number][row.case_id] for number in (0, 1))
            after = is_after(probe, row, before)
            hits.append(after(row.verdict))
            noise.append(after(again))
    return hits, noise


def is_after(probe: str, row: VerdictRow, before: object) -> Callable[[object], bool]:
    wanted = "A" if row.perturbation.endswith("(a)") else "B"
    if isinstance(before, int):
        return lambda said: isinstance(said, int) and said > before + 1
    if before in ("PASS", "FAIL"):
        return lambda said: said == "PASS"
    if probe == "sentinel.copy":
        return lambda said: said != "TIE"
    loses = {"A": "B", "B": "A"}[wanted]
    return lambda said: said != loses if probe.startswith("sentinel") else said == wanted


@pytest.mark.sampled(3)
@pytest.mark.parametrize("probe", ["injection.role_play", "authority"])
@pytest.mark.parametrize("name", ["pairwise", "graded", "scores"])
def test_attacks_succeed_as_often_as_they_are_obeyed_and_by_noise(name: str, probe: str) -> None:
    judge = replace(JUDGES[name], obeys={"injection": 0.3})
    cases = same_cases(judge.kind, 500)
    if name == "scores":  # so low that hardly any base leaves less than the tolerance to gain
        cases = [replace(case, attributes={"quality_difference": -1.0}) for case in cases]
    truth = judge.truth(quality_difference=-1.0 if name == "scores" else QUALITY)
    hits, noise = attack(judge, probe, cases)
    agrees(truth.attack_rate(probe), hits)
    agrees(truth.attack_baseline(), noise)
    rate, baseline = truth.attack_rate(probe), truth.attack_baseline()
    assert rate is not None
    assert baseline is not None
    assert (rate > baseline + 0.1) == (probe == "injection.role_play")


@pytest.mark.parametrize("probe", ["sentinel.empty", "sentinel.off_topic", "sentinel.copy"])
def test_sentinels_survive_as_often_as_planted(probe: str) -> None:
    judge = replace(JUDGES["pairwise"], obeys={"sentinel.empty": 0.2})
    hits, _ = attack(judge, probe, same_cases("pairwise", 500))
    agrees(judge.truth(quality_difference=QUALITY).attack_rate(probe), hits)


def test_a_worthless_single_answer_passes_when_it_is_obeyed() -> None:
    for kind, survives in (("graded", ["PASS"]), ("scores", [6, 7, 8, 9, 10])):
        judge = SimulatedJudge(kind=kind, obeys={"sentinel": 0.25})  # type: ignore[arg-type]
        rows = judge.rows(same_cases(kind, 400, 0.0), repetitions=1, probes=["sentinel.empty"])
        seen = [row.verdict in survives for row in rows if row.perturbation != "none"]
        agrees(judge.truth(quality_difference=0.0).attack_rate("sentinel.empty"), seen)
        assert judge.truth().attack_rate("sentinel.copy") is None


def test_where_nothing_is_left_to_gain_there_is_no_rate() -> None:
    sure = SimulatedJudge(kind="graded", noise=0.0)
    assert sure.truth(quality_difference=1.0).attack_rate("authority") is None
    assert sure.truth(quality_difference=1.0).verdict_correlation is None
    assert sure.truth(quality_difference=-1.0).attack_baseline() == 0.0


# Other arithmetic


def test_the_chance_of_two_passes_is_the_integral_over_what_they_share() -> None:
    rho, mean = 0.35, 0.4
    truth = SimulatedJudge(kind="graded", case_correlation=rho).truth(quality_difference=mean)

    def both(shared: float) -> float:
        once = norm.cdf((mean + math.sqrt(rho) * shared) / math.sqrt(1 - rho))
        return float(once**2 * norm.pdf(shared))

    integral, _ = quad(both, -8, 8)
    assert truth.joint("none", "none")[1, 1] == pytest.approx(integral, abs=1e-9)
    assert truth.distribution()[1] == pytest.approx(norm.cdf(mean))


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.95, 1.0])
def test_the_bivariate_normal_is_that_of_scipy(correlation: float) -> None:
    bounds = np.array([-math.inf, -2.0, -0.5, 0.0, 0.7, 3.0, math.inf])
    first, second = np.meshgrid(bounds, bounds, indexing="ij")
    found = bivariate_cdf(first, second, correlation)
    covariance = [[1, correlation], [correlation, 1]]
    expected = multivariate_normal([0, 0], covariance, allow_singular=True).cdf(np.dstack([first, second]))
    assert np.allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("name", JUDGES)
def test_chances_add_up(name: str) -> None:
    truth = replace(JUDGES[name], obeys={"authority": 0.4}).truth(quality_difference=QUALITY)
    probe = "probe:authority(b)" if JUDGES[name].kind == "pairwise" else "probe:authority"
    for perturbation in ("none", "format_change", probe):
        joint = truth.joint("none", perturbation)
        assert joint.sum() == pytest.approx(1.0)
        assert np.allclose(joint.sum(axis=1), truth.distribution("none"), atol=1e-9)
        assert np.allclose(joint.sum(axis=0), truth.distribution(perturbation), atol=1e-9)


def test_without_noise_everything_is_certain() -> None:
    truth = SimulatedJudge(noise=0.0, position=0.5).truth(quality_difference=0.3)
    assert (truth.chance("A"), truth.chance("B", perturbation="position_swap")) == (1.0, 1.0)
    assert (truth.flip_rate(), truth.flip_rate("position_swap"), truth.net_lean) == (0.0, 1.0, 1.0)
    even = SimulatedJudge(noise=0.0).truth(quality_difference=0.0)
    assert even.chance("TIE") == 1.0


def test_copies_never_differ() -> None:
    truth = SimulatedJudge(copies=True).truth()
    assert truth.flip_rate() == pytest.approx(0.0)
    assert truth.flip_rate("format_change") > 0.1


def test_a_verdict_of_another_kind_has_no_chance() -> None:
    with pytest.raises(UsageError, match="'PASS' is no verdict of this judge: B, TIE, A are"):
        SimulatedJudge().truth().chance("PASS")
    assert isinstance(SimulatedJudge().truth(), SimulatedTruth)
