"""A survey of recorded judges: golden values of LLMBar, planted judges, and what is said where nothing is measured."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.ranking.survey import Survey, survey
from judgeharness_integrations.cli import main
from judgeharness_integrations.cli.demo import recorded_verdicts
from judgeharness_integrations.reporting.survey import judges_table, pictured, survey_page, survey_section
from judgeharness_integrations.verdictlog import VerdictRow, write_log

GOLDEN = json.loads((Path(__file__).parent.parent / "data" / "golden" / "llmbar_aggregate.json").read_text())
PAIRS = 60


def answers(judge: str, first: str, second: str, gold: str) -> Iterator[VerdictRow]:
    """Yield the rows of one judge: `first` and `second` hold its verdicts by pair, a blank is a failure."""
    for place, (one, other, right) in enumerate(zip(first, second, gold, strict=True)):
        for name, verdict in (("none", one), ("position_swap", other)):
            yield VerdictRow(
                judge=judge,
                case_id=f"p{place}",
                criterion="verdict",
                perturbation=name,
                repetition=0,
                outcome="ok" if verdict.strip() else "unparsed",
                verdict=verdict.strip() or None,
                gold=right,
                swapped=name == "position_swap",
            )


def planted() -> list[VerdictRow]:
    """A steady judge, right in 50 of 60; one that always says the first slot; another prompt of the steady one."""
    gold = "AB" * (PAIRS // 2)
    steady = "".join(("A" if one == "B" else "B") if place % 6 == 0 else one for place, one in enumerate(gold))
    other = steady[:-6] + "".join("A" if one == "B" else "B" for one in steady[-6:])
    judges = {"m@steady": (steady, steady), "m@other": (other, other), "slot": ("A" * PAIRS, "B" * PAIRS)}
    return [row for judge, sides in judges.items() for row in answers(judge, *sides, gold)]


@pytest.fixture(scope="module")
def found() -> Survey:
    return survey(planted())


@pytest.fixture(scope="module")
def llmbar() -> Survey:
    return survey(recorded_verdicts(), separator="/")


def test_flips_are_counted_over_pairs_answered_in_both_orders(found: Survey) -> None:
    assert [(one.flips.successes, one.flips.trials) for one in found.judges if one.flips] == [
        (0, 60),
        (0, 60),
        (60, 60),
    ]
    assert (found.flips.successes, found.flips.trials) == (60, 180)


def test_prompts_of_one_model_are_compared_in_the_same_order(found: Survey) -> None:
    assert found.prompts is not None
    assert (found.prompts.successes, found.prompts.trials) == (6, 60)


def test_a_judge_of_one_slot_is_right_in_half_of_its_calls_and_decides_nothing(found: Survey) -> None:
    slot = found.judges[2]
    assert slot.one_call is not None
    assert (slot.one_call.value, slot.coverage and slot.coverage.value, slot.agreeing) == (0.5, 0.0, None)
    assert slot in found.unbeaten


def test_a_failed_answer_is_a_wrong_call_and_no_flip() -> None:
    gold = "AB" * (PAIRS // 2)
    rows = [*answers("one", f" {gold[1:]}", gold, gold), *answers("two", gold, gold, gold)]
    one = survey(rows).judges[0]
    assert one.flips and one.one_call and one.coverage  # noqa: PT018 - each is measured
    assert (one.flips.trials, one.one_call.successes, one.coverage.successes) == (59, 119, 59)


def test_without_two_prompts_of_a_model_nothing_is_said_of_prompts() -> None:
    gold = "AB" * (PAIRS // 2)
    apart = survey([*answers("one", gold, gold, gold), *answers("two", gold, gold, gold)])
    assert apart.prompts is None
    assert not any("the prompt" in str(block) for block in survey_section(apart).blocks)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row for row in planted() if row.judge == "slot"], "of several judges"),
        ([row for row in planted() if not row.swapped], "no pair was answered in both orders"),
        (list(answers("one", "XY", "XY", "XY")), "choices between two answers"),
    ],
)
def test_a_log_that_cannot_be_surveyed_is_refused_in_a_sentence(rows: list[VerdictRow], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        survey(rows)


@pytest.mark.slow
def test_what_both_orders_buy_on_llmbar_is_in_the_goldens(llmbar: Survey) -> None:
    for one in llmbar.judges:
        golden = GOLDEN[one.judge]
        assert one.coverage and one.agreeing and one.one_call  # noqa: PT018 - each is measured
        assert (one.coverage.successes, one.agreeing.successes) == (golden["abs_covered"], golden["abs_correct"])
        assert one.one_call.successes == golden["correct_order1"] + golden["correct_order2"]


@pytest.mark.slow
def test_certificates_are_what_an_exact_test_of_each_draw_gives(llmbar: Survey) -> None:
    rows = [row for row in recorded_verdicts() if row.judge == "GPT-4/Vanilla"]
    sides = [{r.case_id: r.verdict for r in rows if r.swapped == swapped} for swapped in (False, True)]
    gold = {row.case_id: row.gold for row in rows}
    ids = list(gold)
    rng, given = np.random.default_rng(0), 0
    for _ in range(400):
        drawn = [ids[place] for place in rng.choice(len(ids), 150, replace=False)]
        decided = [one for one in drawn if sides[0][one] == sides[1][one]]
        wrong = sum(sides[0][one] != gold[one] for one in decided)
        given += binom.cdf(wrong, len(decided), 0.2) <= 0.1
    judge = next(one for one in llmbar.judges if one.judge == "GPT-4/Vanilla")
    assert judge.certified[0.8] == pytest.approx(given / 400)


@pytest.mark.slow
def test_places_and_inversions_are_those_of_a_plain_count(llmbar: Survey) -> None:
    right: dict[str, list[int]] = {}
    for row in recorded_verdicts():
        right.setdefault(row.judge, [0, 0])[row.swapped] += row.verdict == row.gold
    couples = list(combinations(right.values(), 2))
    assert llmbar.order.compared == len(couples)
    assert llmbar.order.inverted == sum((x[0] - y[0]) * (x[1] - y[1]) < 0 for x, y in couples)


def test_the_page_opens_with_the_finding_and_escapes_names(found: Survey) -> None:
    rows = [*planted(), *answers("<b>", "AB" * 30, "AB" * 30, "AB" * 30)]
    page = survey_page(survey(rows), source="a <log>")
    assert page.index("turn when the answers change places") < page.index('<ul class="why">')
    assert "<b>" not in page.replace("<b></b>", "")
    assert len(judges_table(found).rows) == 3


def test_the_command_surveys_a_log_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(planted(), tmp_path / "log.csv")
    files = ["--html", str(tmp_path / "page.html"), "--markdown", str(tmp_path / "page.md")]
    assert main(["survey", str(tmp_path / "log.csv"), *files]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"33\.3 % of the verdicts of 3 judges turn", shown)
    assert "33.3 %" in (tmp_path / "page.md").read_text()
    assert "33.3 %" in (tmp_path / "page.html").read_text()


def test_an_empty_separator_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", "--separator", ""]) == 2
    assert "--separator is empty" in capsys.readouterr().err


def test_the_document_has_the_numbers_of_the_survey(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_log(planted(), tmp_path / "log.csv")
    assert main(["survey", str(log), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["flips"]["successes"], document["flips"]["trials"]) == (60, 180)
    assert document["order"]["reversed"] == 0
    assert document["judges"][0]["certified"] == {"0.9": 0.0, "0.8": pytest.approx(0.5, abs=0.5)}


def test_a_judge_that_was_asked_in_one_order_is_listed_and_not_drawn() -> None:
    gold = "AB" * (PAIRS // 2)
    once = [row for row in answers("once", gold, gold, gold) if not row.swapped]
    found = survey([*planted(), *once])
    assert found.order.judges == 3
    assert judges_table(found).rows[-1][:2] == ("once", "-")
    assert "once" not in [model.model for model in pictured(found)]


def test_with_one_judge_asked_in_both_orders_there_is_no_leaderboard() -> None:
    gold = "AB" * (PAIRS // 2)
    once = [row for row in answers("once", gold, gold, gold) if not row.swapped]
    section = survey_section(survey([*answers("both", gold, gold, gold), *once]))
    assert "leaderboard" not in str(section)
    assert "the labels of all 60 pairs" in str(section)


def test_labels_drawn_at_random_are_no_reason_to_doubt_a_ranking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = [row if int(row.case_id[1:]) % 10 < 7 else replace(row, gold=None) for row in planted()]
    log = write_log(bare, tmp_path / "log.csv")
    assert main(["rank", str(log), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["apart"] == []
