"""Decisions on fewer samples than were certified: failed samples make a judge look sure of itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations import AnswerCase, JudgeHarness, JudgeIdentity
from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.certifying import Certificate, Wanted, certify
from judgeharness_integrations.analysis.certifying.certificate import certificate_text
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.judging.judge import Answer, Judgment, Probe
from judgeharness_integrations.judging.running import fingerprint_parts
from judgeharness_integrations.verdictlog import VerdictRow
from judgeharness_integrations.verdictlog.row import Verdict

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def cases(number: int, votes: Sequence[Verdict | None], gold: Verdict, prefix: str, **common: Any) -> list[VerdictRow]:
    return [row for n in range(number) for row in sampled(votes, case_id=f"{prefix}{n}", gold=gold, **common)]


def certified(rows: list[VerdictRow], **wanted: Any) -> Certificate:
    return certify(rows, rule("majority"), Wanted(**wanted), Labels(name="people"), measured_at=NOW.isoformat())


SURE, THIN = ["PASS"] * 4, ["PASS", "PASS", None, None]


def test_cases_with_fewer_graded_samples_are_left_out_and_counted() -> None:
    found = certified([*cases(40, SURE, "PASS", "sure"), *cases(20, THIN, "FAIL", "thin")])
    [selection] = found.selections
    assert (selection.samples, selection.thin, selection.cases, selection.labelled) == (4, 20, 60, 60)
    assert (selection.threshold, selection.covered) == (1.0, 40)
    assert "  20 cases have fewer than 4 graded samples: not certified, however sure" in certificate_text(found)
    [one] = certified([*cases(40, SURE, "PASS", "sure"), *cases(1, THIN, "FAIL", "thin")]).selections
    assert one.thin == 1
    assert "  1 case has fewer than 4 graded samples: not certified, however sure" in certificate_text(
        certified([*cases(40, SURE, "PASS", "sure"), *cases(1, THIN, "FAIL", "thin")])
    )


def test_what_most_cases_have_is_enough_where_a_sample_always_fails() -> None:
    always = ["PASS", "PASS", "PASS", None]
    [selection] = certified([*cases(40, always, "PASS", "most"), *cases(10, SURE, "PASS", "whole")]).selections
    assert (selection.samples, selection.thin, selection.covered) == (3, 0, 50)


def test_a_margin_counts_failed_samples_already() -> None:
    rows = [*cases(40, SURE, "PASS", "sure"), *cases(20, THIN, "FAIL", "thin")]
    [selection] = certified(rows, score="margin").selections
    assert (selection.samples, selection.thin) == (4, 0)
    assert [step.threshold for step in selection.steps] == [1.0, 0.5]


def test_samples_that_early_stopping_spared_did_not_fail() -> None:
    spared = cases(40, ["PASS"] * 3, "PASS", "sure", attributes={"planned_samples": 5})
    failed = cases(10, ["PASS", "PASS", None, "PASS"], "FAIL", "thin", attributes={"planned_samples": 5})
    [selection] = certified([*spared, *failed]).selections
    assert (selection.samples, selection.thin, selection.covered) == (5, 10, 40)


def test_cases_that_were_asked_more_often_are_refused() -> None:
    rows = [*cases(40, SURE, "PASS", "sure"), *cases(10, ["PASS"] * 8, "PASS", "more")]
    with pytest.raises(UsageError, match=r"^10 of 50 cases hold more samples than the commonest number, 4: how sure"):
        certified(rows)


@pytest.mark.parametrize("value", ["very", float("nan"), "inf", ""])
def test_a_column_that_says_no_number_is_refused_and_the_case_named(value: Any) -> None:
    rows = [
        *cases(30, ["PASS"], "PASS", "sure", attributes={"sure": 0.9}),
        *cases(30, ["PASS"], "PASS", "odd", attributes={"sure": value}),
    ]
    with pytest.raises(UsageError, match=r"^case 'odd0' says '.*' in column 'sure', which tells nobody how sure"):
        certified(rows, score="column:sure")


class Faltering:
    """Says PASS; where a case is hard it says nothing after the second time."""

    name = "faltering"
    criteria = None
    identity = JudgeIdentity(name="faltering", model="m")

    async def judge(self, probe: Probe) -> Judgment:
        if "hard" in probe.case.output and probe.repetition > 1:
            raise TimeoutError("no answer")
        return Judgment(answers=(Answer(criterion="verdict", verdict="PASS"),))


def test_a_case_with_fewer_graded_samples_than_were_certified_abstains() -> None:
    plan: dict[str, Any] = {
        "perturbations": ["none"],
        "repetitions": 4,
        "aggregation_rule": "majority",
        "clock": lambda: NOW,
    }
    judge, bare = Faltering(), JudgeHarness(**plan)
    known = [AnswerCase(case_id=f"c{n}", output=f"easy {n}", gold="PASS") for n in range(30)]
    given = certify(
        [row for result in bare.evaluate_many(judge, known) for row in result.rows],
        bare.design.rule,
        Wanted(),
        Labels(name="people"),
        parts=fingerprint_parts(judge, bare.design),
        measured_at=NOW.isoformat(),
    )
    harness = JudgeHarness(**plan, certificate=given, max_attempts=1)
    easy, hard = (harness.evaluate(judge, AnswerCase(case_id="new", output=text)) for text in ("easy", "hard"))
    assert (easy.status, hard.status, hard.consistency_rate) == ("decided", "abstained", 1.0)
    assert hard.reason.endswith(
        "2 graded samples, fewer than the 4 that were certified: fewer agree more often by chance"
    )
    document = json.loads(json.dumps(given.to_dict()))
    assert Certificate.from_dict(document) == given
    for selection in document["selections"]:
        for name in ("samples", "thin", "clusters"):
            del selection[name]
    earlier = Certificate.from_dict(document)
    assert earlier.selections[0].samples is None
    assert JudgeHarness(**plan, certificate=earlier, max_attempts=1).evaluate(judge, known[0]).status == "decided"
