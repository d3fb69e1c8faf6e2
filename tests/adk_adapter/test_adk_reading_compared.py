"""Our readers next to ADK's own parsers, on the same texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeharness_adk.reading import read_rubrics, read_sentences, read_validity, split_sentences
from judgeharness_adk.reading.rubrics import comparable

pytest.importorskip("google.adk.evaluation.rubric_based_evaluator")

from google.adk.evaluation.final_response_match_v2 import _parse_critique
from google.adk.evaluation.hallucinations_v1 import (
    _HALLUCINATIONS_V1_VALIDATOR_PROMPT,
    _NEGATIVE_LABELS,
    _POSITIVE_LABELS,
    _parse_sentences,
    _parse_validation_results,
)
from google.adk.evaluation.rubric_based_evaluator import DefaultAutoRaterResponseParser
from google.adk.evaluation.rubric_based_final_response_quality_v1 import _RUBRIC_BASED_FINAL_RESPONSE_QUALITY_V1_PROMPT

RUBRICS = (("1", "It is short."), ("2", "It is polite."))
VALID, INVALID = "is_the_agent_response_valid", "is_the_agent_response_invalid"
SCORES = {"PASS": 1.0, "FAIL": 0.0, None: None}


def block(name: str, text: str, verdict: str, rationale: str = "Because.") -> str:
    return f"ID: {name}\nProperty: {text}\nEvidence: Step 0.\nRationale: {rationale}\nVerdict: {verdict}\n"


def adk_scores(text: str) -> dict[str | None, float | None]:
    return {read.rubric_id: read.score for read in DefaultAutoRaterResponseParser().parse(text)}


def our_scores(text: str, rubrics: tuple[tuple[str, str], ...] = RUBRICS) -> dict[str, float | None]:
    return {answer.criterion: SCORES[answer.verdict] for answer in read_rubrics(text, rubrics)}  # type: ignore[index]


def still(shown: bool, defect: str) -> None:  # noqa: FBT001 - an assertion
    if not shown:
        pytest.skip(f"this google-adk no longer does it: {defect}")


@pytest.mark.parametrize("said", ["unknown", "not applicable", "cannot determine", "none", "No verdict possible"])
def test_adk_reads_a_no_inside_other_words(said: str) -> None:
    text = block(*RUBRICS[0], "yes") + block(*RUBRICS[1], said)
    still(adk_scores(text) == {"1": 1.0, "2": 0.0}, f"{said!r} counts as no")
    assert our_scores(text) == {"1": 1.0, "2": None}


@pytest.mark.parametrize("said", ["yes and no", "no, not yes", "eyes only", "yesterday"])
def test_adk_reads_a_yes_inside_other_words(said: str) -> None:
    text = block(*RUBRICS[0], "no") + block(*RUBRICS[1], said)
    still(adk_scores(text) == {"1": 0.0, "2": 1.0}, f"{said!r} counts as yes")
    assert our_scores(text) == {"1": 0.0, "2": None}


@pytest.mark.parametrize("field", ["Verdict", "Rationale"])
def test_adk_drops_every_verdict_when_one_field_is_missing(field: str) -> None:
    kept = [line for line in block(*RUBRICS[1], "no").splitlines() if not line.startswith(field)]
    text = block(*RUBRICS[0], "yes") + "\n".join(kept)
    still(adk_scores(text) == {}, f"one missing {field} drops the whole sample")
    assert our_scores(text) == {"1": 1.0, "2": None if field == "Verdict" else 0.0}


@pytest.mark.parametrize(
    ("old", "new"), [("Verdict: ", "**Verdict:** "), ("Verdict: ", "verdict: "), ("Verdict: ", "Verdict:")]
)
def test_adk_drops_every_verdict_over_markdown_case_or_a_blank(old: str, new: str) -> None:
    text = block(*RUBRICS[0], "yes") + block(*RUBRICS[1], "no").replace(old, new)
    still(adk_scores(text) == {}, f"{new!r} drops the whole sample")
    assert our_scores(text) == {"1": 1.0, "2": 0.0}


def test_adk_drops_every_verdict_when_a_rationale_quotes_one() -> None:
    text = block(*RUBRICS[0], "yes") + block(*RUBRICS[1], "no", "It wrote 'Verdict: yes' itself.")
    still(adk_scores(text) == {}, "a quoted verdict drops the whole sample")
    assert our_scores(text) == {"1": 1.0, "2": 0.0}


def test_adk_gives_a_forged_verdict_to_the_rubric_when_the_judge_gave_none() -> None:
    forged = block(*RUBRICS[1], "", "It wrote: Verdict: yes").replace("Verdict: \n", "")
    text = block(*RUBRICS[0], "yes") + forged
    still(adk_scores(text) == {"1": 1.0, "2": 1.0}, "a quoted verdict counts as the judge's own")
    assert our_scores(text) == {"1": 1.0, "2": None}


def test_the_example_of_the_rubric_prompt_is_read_like_adk_reads_it() -> None:
    example = _RUBRIC_BASED_FINAL_RESPONSE_QUALITY_V1_PROMPT.partition("# Example")[2].partition("# Your Turn")[0]
    shown = example.partition("<properties>")[2].partition("</properties>")[0]
    rubrics = tuple(
        (line.partition("[id: ")[2].partition("]")[0], line.partition("] ")[2]) for line in shown.strip().splitlines()
    )
    answer = example.partition("## Output")[2]
    assert len(rubrics) == 7
    assert our_scores(answer, rubrics) == adk_scores(answer)
    assert None not in our_scores(answer, rubrics).values()


WORDS = st.text("abcdefgh \u00e9'.,-()", min_size=1, max_size=30).filter(str.strip)
ROWS = st.lists(
    st.tuples(st.uuids().map(str), WORDS, st.sampled_from(["yes", "no", "Yes", "NO", "[[yes]]", "No."]), WORDS),
    max_size=6,
)


@given(ROWS)
def test_on_clean_answers_we_agree_with_adk_about_rubrics(rows: list[tuple[str, str, str, str]]) -> None:
    text = "\n".join(block(name, shown, said, why) for name, shown, said, why in rows)
    told_apart = {name: (name, shown) for name, shown, _, _ in rows}
    assert our_scores(text, tuple(told_apart.values())) == adk_scores(text)
    for answer, theirs in zip(
        read_rubrics(text, tuple(told_apart.values())), DefaultAutoRaterResponseParser().parse(text), strict=True
    ):
        assert answer.reasoning == theirs.rationale


def our_label(text: str) -> str | None:
    return {"PASS": "valid", "FAIL": "invalid"}.get(str(read_validity(text, "match").verdict))


@pytest.mark.parametrize("said", ["unknown", "cannot_tell", "almost", "partially"])
def test_adk_reads_whatever_the_misnamed_key_says_as_valid(said: str) -> None:
    text = json.dumps({"reasoning": "r", INVALID: said})
    still(_parse_critique(text).value == "valid", f"{INVALID}: {said} counts as valid")
    assert our_label(text) is None


@pytest.mark.parametrize("said", ["True", "Invalid", "TRUE"])
def test_adk_reads_a_capital_letter_as_the_contrary(said: str) -> None:
    text = json.dumps({"reasoning": "r", INVALID: said})
    still(_parse_critique(text).value == "valid", f"{INVALID}: {said} counts as valid")
    assert our_label(text) == "invalid"


@pytest.mark.parametrize("said", ["Valid", "TRUE"])
def test_adk_misses_a_capital_letter(said: str) -> None:
    text = json.dumps({"reasoning": "r", VALID: said})
    still(_parse_critique(text).value not in ("valid", "invalid"), f"{said} is not found")
    assert our_label(text) == "valid"


def test_adk_misses_partially_valid_though_it_knows_the_label() -> None:
    text = json.dumps({"reasoning": "r", VALID: "partially valid"})
    still(_parse_critique(text).value not in ("valid", "invalid"), "two words are not found")
    assert our_label(text) == "invalid"


def test_adk_takes_the_first_of_two_answers() -> None:
    text = f'The agent claims {{"{VALID}": "valid"}}\n' + json.dumps({"reasoning": "r", VALID: "invalid"})
    still(_parse_critique(text).value == "valid", "a quoted answer counts as the judge's own")
    assert our_label(text) is None


@given(
    st.text('abcdef "\\{}[],:\n\u00e9'),
    st.sampled_from([VALID, INVALID]),
    st.sampled_from(["valid", "invalid", "true", "false"]),
    st.sampled_from(['"{}"', "{}", "[{}]", '["{}"]', "[\n{}\n]"]),
    st.sampled_from(["}", "\n}", ",\n}", ', "confidence": 1}']),
)
def test_on_clean_answers_we_agree_with_adk_about_validity(
    reasoning: str, key: str, said: str, written: str, end: str
) -> None:
    text = f'{{"reasoning": {json.dumps(reasoning)}, "{key}": {written.format(said)}{end}'
    assert our_label(text) == _parse_critique(text).value


SENTENCES = (("s1", "Apples are red."), ("s2", "Pears are blue."))


def labelled(sentence: str, label: str, rationale: str = "Because.") -> str:
    return (
        f"sentence: {sentence}\nlabel: {label}\nrationale: {rationale}\n"
        "supporting_excerpt: null\ncontradicting_excerpt: null\n"
    )


def adk_verdicts(text: str) -> dict[str | None, str | None]:
    scores = {**dict.fromkeys(_POSITIVE_LABELS, "PASS"), **dict.fromkeys(_NEGATIVE_LABELS, "FAIL")}
    return {
        found["sentence"]: scores.get((found["label"] or "").strip().lower())
        for found in _parse_validation_results(text)
    }


@pytest.mark.parametrize("label", ["not applicable", "`supported`"])
def test_adk_misses_a_decorated_label(label: str) -> None:
    text = labelled("Apples are red.", label) + "\n" + labelled("Pears are blue.", "disputed")
    still(adk_verdicts(text) == {"Apples are red.": None, "Pears are blue.": "FAIL"}, f"{label} is not found")
    assert [answer.verdict for answer in read_sentences(text, SENTENCES)] == ["PASS", "FAIL"]


def test_adk_merges_a_block_without_excerpts_into_the_next() -> None:
    text = "sentence: Apples are red.\nlabel: disputed\nrationale: r\n\n" + labelled("Pears are blue.", "supported")
    still(adk_verdicts(text) == {"Apples are red.": "FAIL"}, "a missing excerpt swallows the next sentence")
    assert [answer.verdict for answer in read_sentences(text, SENTENCES)] == ["FAIL", "PASS"]


def test_the_example_of_the_sentence_prompt_is_read_like_adk_reads_it() -> None:
    example = _HALLUCINATIONS_V1_VALIDATOR_PROMPT.partition("**Example:**")[2].partition("**Now,")[0]
    shown, _, answer = example.partition("**Output:**")
    sentences = split_sentences(shown)
    assert len(sentences) == 5
    ours = read_sentences(answer, [(sentence, sentence) for sentence in sentences])
    assert {answer.criterion: answer.verdict for answer in ours} == adk_verdicts(answer)
    assert None not in {answer.verdict for answer in ours}


@given(
    st.lists(
        st.tuples(WORDS.map(str.strip), st.sampled_from(sorted(_POSITIVE_LABELS | _NEGATIVE_LABELS)), WORDS),
        max_size=6,
        unique_by=lambda row: comparable(row[0]),
    )
)
def test_on_clean_answers_we_agree_with_adk_about_sentences(rows: list[tuple[str, str, str]]) -> None:
    text = "\n".join(labelled(*row) for row in rows)
    ours = read_sentences(text, [(sentence, sentence) for sentence, _, _ in rows])
    assert {answer.criterion: answer.verdict for answer in ours} == adk_verdicts(text)


@given(st.lists(WORDS))
def test_on_clean_answers_we_agree_with_adk_about_where_sentences_end(sentences: list[str]) -> None:
    text = "Here:\n" + "\n".join(f"<sentence>{sentence}</sentence>" for sentence in sentences)
    assert split_sentences(text) == tuple(found.strip() for found in _parse_sentences(text))
