"""`certificate=`: decisions it does not certify are abstentions, with the reason, in whatever the harness measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import AnswerCase, Criterion, HarnessResult, JudgeHarness, JudgeIdentity, VerdictRow
from judgeharness_integrations._errors import ConfigError, PlanError
from judgeharness_integrations.analysis.calibration.transport import STOPPED
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.measure import remeasure
from judgeharness_integrations.analysis.runs.building import certificates_on_run, run_report
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.cases import map_texts
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.judging.perturbations import Perturbation
from judgeharness_integrations.judging.running import fingerprint_parts

NOW = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class Wavering:
    """Says PASS; about a split case FAIL every fourth time. Knows 0.9 or 0.4 how sure it is, and scores in 8s."""

    name: str = "wavering"
    identity: JudgeIdentity | None = field(default_factory=lambda: JudgeIdentity(name="wavering", model="m"))
    criteria: tuple[Criterion, ...] | None = None
    answers: tuple[str, ...] = ("verdict",)
    asked: Counter[str] = field(default_factory=Counter)

    async def judge(self, probe: Probe) -> Judgment:
        output = probe.case.output
        self.asked[probe.case_id] += 1
        split = "split" in output and self.asked[probe.case_id] % 4 == 0
        said = (10 if split else 8) if "score" in output else "FAIL" if split else "PASS"
        answers = tuple(Answer(criterion=name, verdict=said) for name in self.answers)
        return Judgment(answers=answers, facts={"sure": 0.4 if "split" in output else 0.9})


def harness(**options: Any) -> JudgeHarness:
    defaults = {"perturbations": ["none"], "repetitions": 4, "aggregation_rule": "majority", "clock": lambda: NOW}
    return JudgeHarness(**defaults | options)


def labelled(words: str = "", *, kind: str = "old") -> list[AnswerCase]:
    """40 sure cases that are right, and 40 split ones that are wrong half of the time."""
    gold: tuple[Any, Any] = (8, 3) if "score" in words else ("PASS", "FAIL")
    sure = [AnswerCase(case_id=f"sure{n}", input=f"a{n}", output=f"plain {words}", gold=gold[0]) for n in range(40)]
    split = [
        AnswerCase(case_id=f"split{n}", input=f"b{n}", output=f"split {words}", gold=gold[n % 2]) for n in range(40)
    ]
    return [replace(case, attributes={"kind": kind}) for case in (*sure, *split)]


def certificate(judge: Wavering, one: JudgeHarness, cases: Sequence[AnswerCase], **wanted: Any) -> Certificate:
    """What `judgeharness certify` makes of what the harness asked."""
    rows: list[VerdictRow] = [row for result in one.evaluate_many(judge, cases) for row in result.rows]
    return certify(
        rows,
        one.design.rule,
        Wanted(**wanted),
        Labels(name="people"),
        parts=fingerprint_parts(judge, one.design),
        measured_at=NOW.isoformat(),
    )


def measured(output: str, given: Certificate | Path | None, judge: Any = None, **options: Any) -> HarnessResult:
    columns = {"kind": options.pop("kind", "old")} | ({"area": options.pop("area")} if "area" in options else {})
    case = AnswerCase(case_id="new", output=output, attributes=columns)
    return harness(certificate=given, **options).evaluate(judge or Wavering(), case)


@pytest.fixture(scope="module")
def given() -> Certificate:
    return certificate(Wavering(), harness(), labelled())


def test_below_the_threshold_a_case_abstains_and_says_so(given: Certificate, tmp_path: Path) -> None:
    path = given.save(tmp_path / "certificate.json")
    sure, split = measured("plain", path), measured("split", path)
    assert (sure.status, sure.verdict) == ("decided", "PASS")
    assert (split.status, split.verdict) == ("abstained", "ABSTAIN")
    assert split.reason.endswith(
        "consistency 0.75 is below 1.0, from which on decisions agree with people at least 90 % of the time, with 90 % "
        "confidence"
    )
    assert measured("split", None).status == "decided"
    assert (split.sample_distribution, split.certificate) == ({"PASS": 3, "FAIL": 1}, given)
    line = "certificate: people: decided cases agree with people at least 90 % of the time, with 90 % confidence"
    assert line in split.report()


@pytest.mark.parametrize("output", ["plain", "split"])
def test_a_result_comes_back_from_its_document_with_the_certificate(given: Certificate, output: str) -> None:
    result = measured(output, given)
    document = result.to_dict(rows=True)
    assert HarnessResult.from_dict(document) == result
    assert remeasure(result) == result
    assert document["certificate"]["status"] == "valid"
    assert "certificate_report" not in result.to_dict()
    again = remeasure(result, "supermajority(2/3)")
    assert (again.status, again.certificate, again.certificate_state) == ("decided", None, None)
    with pytest.raises(ConfigError, match="'certificate_report' is missing"):
        HarnessResult.from_dict({key: value for key, value in document.items() if key != "certificate_report"})


def test_an_expired_certificate_certifies_nothing(given: Certificate) -> None:
    late = measured("plain", given, clock=lambda: NOW + timedelta(days=31))
    assert late.status == "abstained"
    assert late.reason.endswith("the certificate on people is expired: 31 days old, allowed 30 days")
    assert "certificate: people: expired: 31 days old, allowed 30 days" in late.report()
    assert measured("plain", given, aggregation_rule="strict_majority").reason.endswith("is expired: rule changed")
    other = Wavering(identity=JudgeIdentity(name="wavering", model="another"))
    assert measured("plain", given, other).reason.endswith("is expired: model changed")
    unknown = measured("plain", given, Wavering(identity=None))
    assert unknown.reason.endswith("is unverifiable: the judge declares no identity")
    logged = replace(given, parts=None)
    assert "unverifiable" in measured("plain", logged).reason


def test_an_abstention_of_the_rule_keeps_its_own_reason(given: Certificate) -> None:
    class Even(Wavering):
        async def judge(self, probe: Probe) -> Judgment:
            self.asked[probe.case_id] += 1
            said = "PASS" if self.asked[probe.case_id] % 2 else "FAIL"
            return Judgment(answers=(Answer(criterion="verdict", verdict=said),))

    tied = measured("plain", given, Even())
    assert tied.status == "abstained"
    assert "certif" not in tied.reason


def test_a_declared_column_of_the_answers_is_the_score() -> None:
    given = certificate(Wavering(), harness(), labelled(), score="column:sure")
    assert given.selections[0].threshold == 0.9
    assert measured("plain", given).status == "decided"
    assert "column:sure 0.4 is below 0.9, from which on" in measured("split", given).reason
    silent = harness(certificate=replace(given, parts=fingerprint_parts(Silent(), harness().design)))
    assert "column:sure none is below 0.9" in silent.evaluate(Silent(), AnswerCase(case_id="n", output="x")).reason


@dataclass
class Silent(Wavering):
    """Does not say how sure it is."""

    async def judge(self, probe: Probe) -> Judgment:
        return Judgment(answers=(Answer(criterion="verdict", verdict="PASS"),))


def test_scores_are_certified_within_a_tolerance() -> None:
    design = {"aggregation_rule": "median"}
    given = certificate(Wavering(), harness(**design), labelled("score"), tolerance=0.5)
    assert measured("plain score", given, **design).verdict == 8
    assert "agree with people within 0.5 at least 90 %" in measured("split score", given, **design).reason


@pytest.mark.slow
def test_a_case_of_a_stratum_that_was_refused_or_unknown_abstains() -> None:
    bad = [replace(case, case_id=f"b{case.case_id}", gold="FAIL") for case in labelled(kind="bad")]
    given = certificate(Wavering(), harness(), [*labelled(), *bad], stratum="kind")
    assert measured("plain", given).status == "decided"
    refused, unknown = (measured("plain", given, kind=kind).reason for kind in ("bad", "new"))
    assert refused.endswith("no decision is certified where kind is bad: the certificate on people was refused there")
    assert unknown.endswith("no decision is certified where kind is new: the certificate on people has no labels there")


@pytest.mark.slow
def test_a_case_is_in_the_stratum_of_several_columns_together() -> None:
    good = [replace(case, attributes={"kind": "good", "area": "x"}) for case in labelled()]
    bad = [
        replace(case, case_id=f"b{case.case_id}", gold="FAIL", attributes={"kind": "bad", "area": "x"})
        for case in labelled()
    ]
    given = certificate(Wavering(), harness(), [*good, *bad], stratum="kind, area")
    assert measured("plain", given, kind="good", area="x").status == "decided"
    refused = measured("plain", given, kind="bad", area="x").reason
    assert "no decision is certified where kind, area is bad, x" in refused
    assert "has no labels there" in measured("plain", given, kind="good").reason


def test_a_criterion_without_labels_stays_as_it_is_which_is_a_warning(given: Certificate) -> None:
    two = Wavering(answers=("verdict", "tone"))
    result = measured("split", given, two)
    assert {name: one.status for name, one in result.criteria.items()} == {"verdict": "abstained", "tone": "decided"}
    assert "the certificate on people says nothing about tone: it has no labels of it" in result.warnings


def test_a_certificate_of_a_constant_judge_is_a_warning(given: Certificate) -> None:
    [untold] = [one.untold for one in given.selections]
    assert untold
    result = measured("plain", given)
    assert f"the certificate on people, verdict: {untold}" in result.warnings
    assert HarnessResult.from_dict(result.to_dict(rows=True)).warnings == result.warnings


def test_what_cannot_be_used_is_refused_before_anything_is_asked(given: Certificate) -> None:
    early = replace(given, curtailed=True)
    harness(certificate=early, curtail=True)
    with pytest.raises(PlanError, match=r"of samples stopped early, these are asked in full: how sure decisions are"):
        harness(certificate=early)
    with pytest.raises(PlanError, match=r"of samples asked in full, these are stopped early"):
        harness(certificate=given, curtail=True)
    with pytest.raises(PlanError, match="the certificate on people was refused, so that every case would abstain"):
        harness(certificate=replace(given, selections=(replace(given.selections[0], threshold=None),)))
    with pytest.raises(
        PlanError, match=r"certificate is a Certificate, not int: read it with Certificate\.load\(path\)"
    ):
        harness(certificate=3)


@pytest.mark.slow
def test_a_run_is_compared_with_the_labelled_cases_by_what_its_rule_decided(given: Certificate) -> None:
    labels = CalibrationSet("people", tuple((case, str(case.gold)) for case in labelled()), source="human")
    one = harness(certificate=given, calibration_set=labels)
    results = list(one.evaluate_many(Wavering(), [replace(case, gold=None) for case in labelled()]))
    assert Counter(result.status for result in results) == {"decided": 40, "abstained": 40}
    [section] = run_report(results).judges
    assert (section.shift is not None and section.shift.shifted, section.calibrated) == (False, True)
    assert [state.status for _, state in section.certificates] == ["valid"]


def test_a_run_that_its_own_gate_stopped_is_compared_with_nothing_and_says_so(given: Certificate) -> None:
    results = list(harness(certificate=given).evaluate_many(Wavering(), labelled()))
    [(_, whole)], [(_, stopped)] = (certificates_on_run(results, {}, stopped=one) for one in (False, True))
    assert STOPPED not in whole.reason
    assert (stopped.status, STOPPED in stopped.reason) == ("valid", True)


def test_results_under_several_certificates_are_counted_each_under_its_own(given: Certificate) -> None:
    late = harness(certificate=given, clock=lambda: NOW + timedelta(days=31))
    cases = labelled()
    results = [
        *harness(certificate=given).evaluate_many(Wavering(), cases[:10]),
        *late.evaluate_many(Wavering(), cases[10:20]),
        *harness().evaluate_many(Wavering(), cases[20:30]),
    ]
    report = run_report(results)
    assert [state.status for _, state in report.judges[0].certificates] == ["valid", "expired"]
    assert (report.summaries[0].replay.decided, report.summaries[0].replay.abstained) == (20, 10)


def test_curtailed_samples_are_certified_by_curtailed_samples() -> None:
    given = certificate(Wavering(), harness(curtail=True), [replace(case, gold="PASS") for case in labelled()])
    assert given.curtailed
    assert measured("plain", given, curtail=True).status == "decided"


def shouted(case: Any) -> Any:
    return map_texts(case, str.upper)


def good(*, outputs: str) -> dict[str, Any]:
    return {"key": "good", "score": "SPLIT" not in outputs}


def test_an_adapter_gets_it_through_its_harness(given: Certificate) -> None:
    from judgeharness_openevals import harness_judge

    design = {"perturbations": ["none", Perturbation("alike", lambda case: case), Perturbation("shout", shouted)]}
    plain = harness_judge(good, harness(**design))
    parts = fingerprint_parts(plain.judge, plain.harness.design)
    known = replace(given, parts=parts, selections=(replace(given.selections[0], criterion="good"),))
    under = harness_judge(good, harness(certificate=known, **design))
    assert [plain(outputs=text)["score"] for text in ("plain", "split")] == [True, True]
    assert [under(outputs=text)["score"] for text in ("plain", "split")] == [True, None]
    assert "consistency 0.667 is below 1.0, from which on decisions agree" in under(outputs="split")["comment"]
