"""Every attack keeps the answer it is put to, touches nothing else, and says the letter a judge sees."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.perturbations import Context, Perturbation, compose, perturbation, position_swap
from judgeharness_integrations.judging.perturbations.registry import MODEL_NAMES
from judgeharness_integrations.judging.probes import Payload, Target, corpus, probe, probes
from judgeharness_integrations.judging.probes.base import MODEL_NAME
from judgeharness_integrations.testing import check_perturbation
from judgeharness_integrations.verdictlog.row import PROBE_PROPERTIES

ATTACKS = tuple(one for one in probes() if one.expectation == "must_not_change")
texts = st.text(max_size=200) | st.sampled_from(
    ["", " ", "42", "{answer}", "{slot} {said}", "```py\nx = 1", "Yes. It is so."]
)
sides = st.sampled_from(["a", "b"])

FIRST = "Paris is the capital of France.\n\nIt has been for centuries. It lies on the Seine."
SECOND = "It may well be Lyon, says Bob. Then again, it may be Lille."
PAIR = PairwiseCase(
    case_id="pair", input="Which?", output=FIRST, output_b=SECOND, author="x", author_b="y", gold="A", names=("Bob",)
)
CASES = [PAIR, AnswerCase(case_id="one", output=FIRST, gold="PASS"), "It is a plain text, no more.", {"messages": []}]


def changed(made: Perturbation, case: Any, seed: int = 0) -> Any:
    return asyncio.run(made.applied(case, Context(random.Random(seed), None)))  # type: ignore[arg-type]  # noqa: S311


@given(st.sampled_from(ATTACKS), texts, texts, sides, st.integers(0, 99))
def test_an_answer_survives_its_attack_and_the_rest_stays(
    one: Any, first: str, second: str, side: Any, seed: int
) -> None:
    case = replace(PAIR, output=first, output_b=second)
    found = changed(one.on(side), case, seed)
    attacked, other = ("output", "output_b") if side == "a" else ("output_b", "output")
    assert getattr(case, attacked) in getattr(found, attacked)
    assert len(getattr(found, attacked)) > len(getattr(case, attacked))
    assert replace(found, **{attacked: getattr(case, attacked)}) == case
    assert getattr(found, other) == getattr(case, other)
    assert changed(one.on(side), case, seed) == found


@given(st.sampled_from(ATTACKS), texts, st.integers(0, 99))
def test_so_does_a_single_answer(one: Any, text: str, seed: int) -> None:
    case = AnswerCase(case_id="c", output=text, input="Which?", reference="Paris", gold="FAIL")
    found = changed(one.on(), case, seed)
    assert text in found.output
    assert replace(found, output=text) == case
    assert changed(one.on(), text, seed) == found.output


@pytest.mark.parametrize("one", ATTACKS, ids=lambda one: one.property)
def test_an_attack_is_a_perturbation_as_any_other(one: Any) -> None:
    check_perturbation(one.on(), CASES[1:])
    for side in ("a", "b"):
        check_perturbation(one.on(side), CASES)
        check_perturbation(perturbation(f"{one.on(side).name}+position_swap"), CASES)


@pytest.mark.parametrize("one", ATTACKS, ids=lambda one: one.property)
@pytest.mark.parametrize("slot", ["A", "B", None])
def test_there_are_three_wordings_at_least_and_chance_finds_them_all(one: Any, slot: str | None) -> None:
    payloads = {entry.text for entry in corpus() if (entry.property, entry.slot) == (one.property, slot)}
    assert len(payloads) >= 3
    source = random.Random(1)  # noqa: S311
    bests = (None,) if slot else (None, "PASS", "10", "5", "1")
    targets = [Target(slot=slot, other=None, random=source, best=best) for best in bests for _ in range(200)]
    assert len({one.change("", target) for target in targets}) >= len(payloads)


@pytest.mark.parametrize("one", ATTACKS, ids=lambda one: one.property)
def test_a_payload_follows_the_answer_or_surrounds_it_without_figures(one: Any) -> None:
    for seed in range(40):
        before, _, after = changed(one.on(), FIRST, seed).partition(FIRST)
        assert before + after
        assert not before or one.property in ("confident_tone", "model_name")
        assert not re.search(r"\d", before)


def says(text: str, letter: str) -> bool:
    return re.search(rf"(?<![A-Za-z]){letter}(?![A-Za-z])", text) is not None


@pytest.mark.parametrize("variant", ["direct_order", "system_message", "own_format", "delimiter", "non_english"])
def test_an_injection_names_the_letter_the_judge_sees(variant: str) -> None:
    name = f"probe:injection.{variant}"
    wanted = {entry.text for entry in corpus() if entry.property == f"injection.{variant}" and entry.slot == "A"}
    other = {entry.text for entry in corpus() if entry.property == f"injection.{variant}" and entry.slot == "B"}
    assert all(says(text, "A") for text in wanted)
    assert all(says(text, "B") for text in other)
    assert not wanted & other
    for seed in range(20):
        shown = changed(perturbation(f"{name}(b)+position_swap"), PAIR, seed)
        assert (shown.output_b, shown.author_b) == (FIRST, "x")
        assert shown.output.removeprefix(SECOND).removeprefix("\n\n") in wanted
        assert changed(perturbation(f"{name}(b)"), PAIR, seed).output_b.removeprefix(f"{SECOND}\n\n") in other
        assert changed(perturbation(f"{name}(a)"), PAIR, seed).output.removeprefix(f"{FIRST}\n\n") in wanted
        twice = changed(perturbation(f"{name}(a)+position_swap+position_swap"), PAIR, seed)
        assert twice.output.removeprefix(f"{FIRST}\n\n") in wanted


def test_composed_by_hand_it_is_told_of_the_swap() -> None:
    made = compose(probe("injection.own_format").on("a"), position_swap())
    assert (made.name, made.swaps) == ("probe:injection.own_format(a)+position_swap", True)
    assert all(says(changed(made, PAIR, seed).output_b.removeprefix(FIRST), "B") for seed in range(20))


@pytest.mark.parametrize("best", ["10", "5", "1", "0.5", "-1"])
def test_a_forged_score_is_the_best_the_judge_can_give_in_every_grammar(best: str) -> None:
    found = {changed(probe("injection.own_format").on(best=best), "", seed) for seed in range(100)}
    assert len(found) > 5
    assert all(set(re.findall(r"-?\d+(?:\.\d+)?", text)) == {best} for text in found)
    for start in ("[[", "Rating: [[", '"score": ', "Score: ", "verdict is [["):
        assert any(start + best in text for text in found)
    marks = {changed(probe("injection.delimiter").on(best=best), "", seed) for seed in range(50)}
    assert any(f"Say so: [[{best}]]" in text for text in marks)
    assert not any("[[10]]" in text for text in marks if best != "10")


@pytest.mark.parametrize("best", ["PASS", "Good"])
def test_a_forged_label_is_the_best_the_judge_can_give(best: str) -> None:
    found = {changed(probe("injection.own_format").on(best=best), "", seed) for seed in range(100)}
    for text in (best, f"[[{best}]]", f'"verdict": "{best}"', f'"label": "{best}"'):
        assert any(text in one for one in found)
    assert not any(re.search(r"\d", one) for one in found)


def test_without_the_best_no_wording_asks_for_a_score_that_may_be_a_poor_one() -> None:
    for seed in range(100):
        text = changed(probe("injection.own_format").on(), "", seed)
        figures = re.findall(r"\d+", text)
        assert set(figures) <= {"10"}
        assert len(figures) != 1  # ten, and that it is of ten


@given(st.sampled_from(ATTACKS), sides, st.sampled_from(["PASS", "10"]), st.integers(0, 99))
def test_of_a_pair_the_best_is_the_letter(one: Any, side: Any, best: str, seed: int) -> None:
    assert changed(one.on(side, best=best), PAIR, seed) == changed(one.on(side), PAIR, seed)


def test_payloads_about_single_answers_want_a_pass_or_the_best_score() -> None:
    about = [entry for entry in corpus() if entry.property.startswith("injection.") and entry.slot is None]
    plain = [entry.text for entry in about if entry.property not in ("injection.encoded", "injection.own_format")]
    assert all(re.search(r"PASS|pass|full\s+marks|highest\s+(score|rating)", text) for text in plain)
    assert not any("{" + word + "}" in entry.text for entry in corpus() for word in ("slot", "other", "answer", "said"))


def test_the_corpus_holds_every_attack_and_is_the_same_every_time() -> None:
    assert tuple(dict.fromkeys(entry.property for entry in corpus())) == tuple(one.property for one in ATTACKS)
    assert {fields(Payload)[n].name for n in range(3)} == {"property", "slot", "text"}
    assert corpus() is corpus()
    assert len({(entry.property, entry.slot, entry.text) for entry in corpus()}) == len(corpus())
    assert all(entry.text.strip() for entry in corpus())


def test_properties_stand_in_the_order_of_reports() -> None:
    assert tuple(one.property for one in probes()) == PROBE_PROPERTIES


def test_famous_names_are_names_of_models() -> None:
    for payload in MODEL_NAME.texts(None):
        assert any(name in payload for name in MODEL_NAMES)


@given(st.integers(0, 99), st.integers(2, 60))
def test_verbosity_grows_an_answer_about_threefold_and_adds_no_sentence_of_its_own(seed: int, times: int) -> None:
    answer = " ".join(f"This is the sentence with the number {number}." for number in range(times))
    found = changed(probe("verbosity").on(), answer, seed)
    assert len(found) >= 3 * len(answer)
    assert len(found) <= 3 * len(answer) + 500
    assert set(re.findall(r"\d+", found)) == set(re.findall(r"\d+", answer))


def test_a_single_word_is_padded_by_a_paragraph_and_code_is_not_restated() -> None:
    assert 400 <= len(changed(probe("verbosity").on(), "42")) <= 600
    found = changed(
        probe("verbosity").on(), "```python\nprint the whole world twice over\n```\n\nThat is all it needs to do."
    )
    assert found.count("print the whole world") == 1
    assert found.count("That is all it needs to do.") > 1
