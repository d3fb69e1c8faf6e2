from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.benchmark_results import judged, make_benchmark, make_pair, verification

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.audit.labels import assign, audited_of, label_log, read_labels, read_results
from judgeharness_integrations.benchmark.folder import StepUsage
from judgeharness_integrations.benchmark.pair import LAYERS, Pair, Verification
from judgeharness_integrations.benchmark.results.checks import flow, reasons, survival
from judgeharness_integrations.benchmark.results.curation import Step
from judgeharness_integrations.benchmark.verdicts import (
    Cost,
    Steps,
    costs_of_judges,
    costs_of_steps,
    planned_conditions,
    steps_of,
    total_cost,
)
from judgeharness_integrations.verdictlog.row import ModelUsage

ENDINGS = (
    *((verification(layer), layer) for layer in LAYERS),
    (verification("adherence", unread=True), "unread"),
    (Verification(), "unverified"),
    (verification(), "accepted"),
)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    return make_benchmark(tmp_path_factory.mktemp("stats") / "b", n=14).pairs()


def ended(pairs: list[Pair], endings: list[Verification]) -> list[Pair]:
    return [make_pair(pair.conditions, verified=found) for pair, found in zip(pairs, endings, strict=False)]


def test_each_pair_ends_where_it_was_stopped(pairs: list[Pair]) -> None:
    planned = [pair.conditions for pair in pairs]
    made = ended(pairs, [found for found, _ in ENDINGS])
    whole, *groups = flow(
        made, planned, judged={pairs[5].pair_id, pairs[6].pair_id, pairs[0].pair_id}, columns=["domain"]
    )
    assert {name: getattr(whole, name) for _, name in ENDINGS} == dict.fromkeys((name for _, name in ENDINGS), 1)
    assert (whole.planned, whole.unfinished) == (14, 7)
    assert whole.judged == 2  # the one that was rejected counts no more
    assert [group.column for group in groups] == ["domain", "domain"]


@given(st.lists(st.sampled_from([found for found, _ in ENDINGS]), max_size=14))
def test_endings_sum_to_what_was_planned_in_every_group(pairs: list[Pair], endings: list[Verification]) -> None:
    planned = [pair.conditions for pair in pairs]
    columns = ("domain", "failure_type", "behaviour", "n_rounds")
    rows = flow(ended(pairs, endings), planned, judged=(), columns=columns)
    names = ("unfinished", *LAYERS, "unread", "unverified", "accepted")
    for row in rows:
        assert sum(getattr(row, name) for name in names) == row.planned
    for column in columns:
        for name in (*names, "planned"):
            mine = [getattr(row, name) for row in rows if row.column == column]
            assert sum(mine) == getattr(rows[0], name)


def test_reasons_alike_but_for_numbers_and_details_are_shown_in_the_words_of_the_first(pairs: list[Pair]) -> None:
    told = [
        verification("adherence", reason="the flaw is in turn 2, declared 4: it evades"),
        verification("adherence", reason="the flaw is in turn 3, declared 1: it hedges"),
        verification("adherence", reason="2 flaws: turn 1 evasion, turn 2 evasion"),
        verification("form", reason="both plans are the same"),
        verification("grounding", unread=True, reason="the model refused"),
    ]
    found = reasons(ended(pairs, told))
    assert [(one.layer, one.reason, one.pairs, one.example) for one in found] == [
        ("form", "both plans are the same", 1, pairs[3].pair_id),
        ("adherence", "the flaw is in turn 2, declared 4: it evades", 2, pairs[0].pair_id),
        ("adherence", "2 flaws: turn 1 evasion, turn 2 evasion", 1, pairs[2].pair_id),
    ]
    assert [one.reason for one in reasons(ended(pairs, told), most=1)] == [
        "both plans are the same",
        "the flaw is in turn 2, declared 4: it evades",
    ]


def test_pairs_that_are_not_written_yet_are_planned_as_they_will_be_drawn(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=9)
    whole = folder.pairs()
    folder.write_pairs(whole[3:6])
    assert planned_conditions(folder, folder.pairs()) == [pair.conditions for pair in whole]
    folder.write_settings(folder.settings().model_copy(update={"imported_from": "x.jsonl"}))
    assert len(planned_conditions(folder, folder.pairs())) == 3


def test_steps_without_a_difficulty_say_why_none_is_cut(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=6)
    assert steps_of(read_results(folder), None, cut=0.1, cut_ties="keep", columns=()) == Steps(
        steps=(), cut_reason=None, alone=0
    )
    with folder.log() as log:
        log.append(judged(folder.pairs(), skill={"alone": 0.5}))
    results = read_results(folder)
    found = steps_of(results, "pairwise", cut=0.1, cut_ties="keep", columns=())
    assert (found.steps[0].judged, found.alone) == (6, 6)
    assert found.controls[0].startswith("controls, right over all labelled cases (6): always ")
    assert found.controls[1].startswith("alone: ")
    assert "better than a judge that always " in found.controls[1]
    assert "pairs cannot be cut by difficulty" in str(found.cut_reason)
    assert str(found.cut_reason).endswith("ask more judges, or cut none")
    with pytest.raises(UsageError, match="share of pairs to cut"):
        steps_of(results, "pairwise", cut=-1, cut_ties="keep", columns=())


@given(st.lists(st.sampled_from([found for found, _ in ENDINGS]), max_size=14))
def test_the_cascade_follows_every_pair_from_the_plan_to_what_is_kept(
    pairs: list[Pair], endings: list[Verification]
) -> None:
    made = ended(pairs, endings)
    through = [pair.pair_id for pair in made if pair.verification.failed is None]
    whole = flow(made, [pair.conditions for pair in pairs], judged=through[1:], columns=())[0]
    names = ("flagged", "ambiguous", "unanimous_right", "unanimous_wrong", "unanswered", "hardest", "kept")
    counts = {
        name: sum(place % len(names) == number for place in range(len(through[1:])))
        for number, name in enumerate(names)
    }
    rows = survival(whole, Step(column=None, value="all", judged=len(through[1:]), **counts))
    assert [row.step for row in rows] == ["written", *LAYERS, "judged", *names[:-1]]
    assert rows[0].entered == 14
    for before, after in pairwise(rows):
        assert before.left == after.entered
    for row in rows:
        assert row.left == row.entered - row.lost
        assert row.rate == (row.left / row.entered if row.entered else None)
        assert row.share == row.left / 14
    assert rows[-1].left == counts["kept"]
    unasked = survival(whole, None)
    assert unasked == rows[: len(unasked)]
    assert unasked[-1].step == "grounding"


def test_a_cascade_of_nothing_has_no_rates() -> None:
    whole = flow([], [], judged=(), columns=())[0]
    assert {(row.left, row.rate, row.share) for row in survival(whole, None)} == {(0, None, None)}


# Costs

PRICES = {"writer": Price(input=1, output=2), "gpt": Price(input=10, output=10)}


def usage(**changes: object) -> ModelUsage:
    facts = {"judge": "j", "model": "gpt-2024-01-01", "rows": 6, "cases": 2, "calls": 2, "made_calls": 2}
    return ModelUsage(**facts | {"input_tokens": 1_000_000, "output_tokens": 100_000} | changes)  # type: ignore[arg-type]


def test_steps_cost_what_their_tokens_cost() -> None:
    step = StepUsage(step="claims", model="writer", answers=3, tries=4, input_tokens=2_000_000, output_tokens=500_000)
    unknown = StepUsage(step="claims", model="other", answers=1, tries=1, input_tokens=5, output_tokens=5)
    assert [one.cost for one in costs_of_steps([step, unknown], PRICES)] == [3.0, None]
    assert costs_of_steps([step], PRICES)[0].attempts == 4


def test_judges_cost_what_their_model_costs() -> None:
    found = costs_of_judges([usage(attempts=3)], PRICES, mode="pairwise")[0]
    assert (found.step, found.model, found.answers, found.attempts, found.cost) == ("judge, pairwise", "j", 2, 3, 11.0)
    assert costs_of_judges([usage()], PRICES | {"j": Price(input=1, output=0)}, mode="pairwise")[0].cost == 1.0
    silent = costs_of_judges([usage(unpriced_calls=1)], PRICES, mode="pairwise")[0]
    assert (silent.input_tokens, silent.output_tokens, silent.cost, silent.attempts) == (None, None, None, 2)


def test_the_sum_is_known_where_every_part_is() -> None:
    known = Cost(step="s", model="m", answers=1, attempts=1, input_tokens=1, output_tokens=1, cost=0.5)
    assert total_cost([known, known]) == 1.0
    assert total_cost([known, known.model_copy(update={"cost": None})]) is None
    assert total_cost([]) is None


# What people found


def test_people_are_told_with_their_agreement_and_the_noise_rate(tmp_path: Path) -> None:
    folder = make_benchmark(tmp_path / "b", n=12)
    ids = [pair.pair_id for pair in folder.pairs()]
    assert audited_of(read_labels(folder.path), None) is None
    assignment = assign(ids, annotators=["ann", "ben"], n=6, overlap=1.0, suspicious=[], seed=1)
    for who in ("ann", "ben"):
        log = label_log(folder.path, who)
        for place, pair in enumerate(assignment.uniform):
            log.append(pair, "noise" if place < 2 else "clean")
    found = audited_of(read_labels(folder.path), assignment)
    assert found is not None
    assert (found.annotators, found.pairs, found.noise, found.clean) == (("ann", "ben"), 6, 2, 4)
    assert (found.sampled, found.sampled_noise, found.noise_rate) == (6, 2, 2 / 6)
    assert found.noise_low is not None
    assert found.noise_low < 2 / 6 < (found.noise_high or 0)
    assert [(one.annotators, one.pairs, one.agreed, one.kappa) for one in found.agreement] == [
        (("ann", "ben"), 6, 6, 1.0)
    ]
    for pair in (assignment.uniform[5], min({*ids} - {*assignment.uniform})):
        label_log(folder.path, "cleo").append(pair, "noise")  # nobody asked for it
    more = audited_of(read_labels(folder.path), assignment)
    assert more is not None
    assert (more.pairs, more.noise, more.clean) == (7, 3, 4)
    assert (more.sampled, more.sampled_noise, more.agreement) == (6, 2, found.agreement)
    without = audited_of(read_labels(folder.path), None)
    assert without is not None
    assert (without.pairs, without.noise_rate, without.sampled) == (7, None, 0)
