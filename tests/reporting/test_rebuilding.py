from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.measured import EXPIRED, VALID, calibration, measured, pattern, shapes
from support.rows import both_orders, sampled, samples

from judgeharness_integrations import AnswerCase, CalibrationSet, JudgeHarness, PairwiseCase
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.aggregation import Rule
from judgeharness_integrations.analysis.calibration import measure_calibration
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.measure import measure, remeasure
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.testing import ScriptedJudge
from judgeharness_integrations.verdictlog.row import OUTCOMES, Verdict, VerdictRow

SHAPES = {name: result for name, result in shapes().items() if result.aggregation_rule != "first"}


def rebuilt(result: HarnessResult) -> HarnessResult:
    text = json.dumps(result.to_dict(rows=True), allow_nan=False)
    return HarnessResult.from_dict(json.loads(text))


def same(result: HarnessResult) -> bool:
    """Whether a result comes back equal, types of verdicts included, and says the same."""
    again = rebuilt(result)
    for one, other in zip(result.rows, again.rows, strict=True):
        assert (type(one.verdict), type(one.gold)) == (type(other.verdict), type(other.gold))
    assert again.to_dict(rows=True) == result.to_dict(rows=True)
    assert str(again) == str(result)
    return again == result


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_of_every_shape_comes_back_equal(shape: str) -> None:
    assert same(SHAPES[shape])


def failed(repetition: int, **changes: Any) -> VerdictRow:
    """A call that failed before its criteria were known."""
    given: dict[str, Any] = {"criterion": "*", "verdict": None, "outcome": "error", "error": "TimeoutError"}
    return VerdictRow(case_id="c1", repetition=repetition, **given | changes)


RUBRIC = [*sampled("AAB", criterion="tone", call_id="k"), *sampled([7, 9.5, 8], criterion="score"), failed(3, gold=7)]

PECULIAR: dict[str, HarnessResult] = {
    "labels that are digits": measured(sampled(["1", "1", "0", "1"])),
    "scores beside labels that are digits": measured(
        [*sampled(["1", "2"], criterion="label"), *sampled([1, 2.0], criterion="score")],
        rule_name=Rule("any", len),
        criteria=["score", "label"],
    ),
    "labels that look like lists and numbers": measured(sampled(['["a"]', "nan", "1e5", "true", "x y"])),
    "sets": measured(sampled([frozenset("ab"), frozenset(), frozenset("ab")])),
    "scores of both kinds": measured(sampled([7, 7.0, 7.5, -1e99]), rule_name="trimmed_mean(0.1, pass_at=1/3)"),
    "several criteria": measured(RUBRIC[:3] + RUBRIC[6:], criteria=["tone", "empty"], label_counts={"tone": 4}),
    "a call that failed as a whole": measured([failed(0), failed(1)], planned=2),
    "calls that failed among others": measured([*sampled("AA"), failed(2), failed(3, outcome="refused", error=None)]),
    "a criterion left out of an answer": measured(
        [*sampled("AA", criterion="x", call_id="k"), *sampled("B", criterion="y", call_id="k")]
    ),
    "counted rows that differ": measured(
        [
            *sampled("AA", criterion="x", call_id="k"),
            *sampled("B", criterion="y", call_id="k"),
            failed(0),
            failed(5),
        ]
    ),
    "only criteria without rows": measured([], criteria=["x", "y"], planned=4, state="interrupted"),
    "nothing at all": measured([]),
    "skipped perturbations": measured(
        sampled("AAAA"), planned=4, skipped={"format_change": "no Markdown", "none": "nothing left"}
    ),
    "a quorum of its own": measured(sampled(["A", None, None, None]), min_valid=1),
    "a pair in both orders": measured(
        both_orders("AAB", ["A", None, "TIE"]),
        rule_name="net_preference",
        perturbations=("none", "position_swap"),
        label_counts={"verdict": 3},
    ),
    "a scale": measured(sampled([1, 5, 9]), rule_name="median", tolerances={"verdict": 8 / 9}),
    "temperature 0": measured(sampled("AAA", raw="A"), temperature=0.0),
    "gold of another kind": measured(sampled("AB", gold=7)),
    "gold words for scores": measured(sampled([7, 8], gold="good"), rule_name="mean"),
    "gold that are digits": measured(sampled([7, 8], gold="7"), rule_name="mean"),
    "gold of failed scores": measured(sampled([None, None], gold=7.5)),
    "gold sets": measured(sampled("AB", gold=frozenset({"x"}))),
    "gold that is true": measured(sampled("AB", gold=True)),
    "empty texts": measured(sampled("AAA", raw="", reasoning="", model="", error="", asked_at="", call_id="")),
    "empty names": measured(sampled("AAA", judge="", criterion="", perturbation="", run="")),
    "attributes named like columns": measured(
        sampled("AA", attributes={"model": "m", "model_": 1, "model__": 2.5, "schema": "", "case_id": "c", "_": True})
    ),
    "attributes that hold nothing": measured(sampled("AA", attributes={"subset": "", "author": None})),
    "half an emoji": measured(sampled("AA", raw="\ud83d", reasoning="ünï\n\u2028")),
    "everything a row can hold": measured(
        sampled(
            "AB",
            run="r",
            judge="other",
            gold="A",
            call_id="k",
            reasoning="why",
            raw="text",
            model="m",
            input_tokens=3,
            output_tokens=0,
            latency_s=0.1,
            attempts=2,
            asked_at="2026-01-01T00:00:00+00:00",
            attributes={"response_id": "r", "cached": "shared", "parser_conflict": 1, "warning": "w"},
        ),
        rewrites=3,
        model_families=("openai", None),
        fingerprint="0123456789abcdef",
    ),
    "a calibration without a state": pattern(calibration_state=None),
    "a calibration that expired": pattern(calibration_state=EXPIRED),
    "a calibration with all its parts": pattern(
        calibration=calibration(
            ("PASS", "PASS"),
            ("FAIL", "PASS"),
            ("FAIL", "FAIL"),
            source="model:o3",
            excluded_ties=2,
            parts={"judge": "j", "labels": {"verdict": [["PASS", "FAIL"], None]}, "repetitions": 3},
        ),
        calibration_state=VALID,
    ),
    "a calibration of nothing": pattern(calibration=calibration(criteria={"verdict": measure_calibration([])})),
}
OWN_RULE = "scores beside labels that are digits"


@pytest.mark.parametrize("name", sorted(PECULIAR.keys() - {OWN_RULE}))
def test_a_peculiar_result_comes_back_equal(name: str) -> None:
    assert same(PECULIAR[name])


def test_a_rule_of_ones_own_comes_back_with_its_function() -> None:
    def first(rows: Sequence[VerdictRow]) -> Verdict | None:
        return rows[0].verdict

    result = JudgeHarness(
        perturbations=["none"], repetitions=3, aggregation_rule=Rule("my_rules:first", first)
    ).evaluate(ScriptedJudge(["FAIL", "PASS"]), "a case")
    document = json.loads(json.dumps(result.to_dict(rows=True)))
    again = HarnessResult.from_dict(document, rule=first)
    assert (again.verdict, again.aggregation_rule) == (result.verdict, "my_rules:first")
    assert again.criteria == result.criteria


def test_the_full_design_comes_back() -> None:
    every = Design(
        perturbations=("none", "paraphrase+position_swap", "whitespace"),
        repetitions=2,
        rule=measured([], rule_name="supermajority(0.6667)").design.rule,
        min_valid=2,
        tolerance=0.25,
        rule_fixed="after",
        wordings=("rewriter", "0123"),
        curtail=True,
        stopping_rule="majority",
        retested=0.05,
    )
    assert all(getattr(every, f.name) != f.default for f in fields(Design))  # whoever adds a field is reminded here
    result = measure(sampled("AAAA"), case_id="c1", judge="j", design=every, judge_model="gpt-4o")
    assert rebuilt(result).design == every
    assert same(result)
    assert same(remeasure(result, "majority"))


def test_what_a_harness_measured_comes_back_equal() -> None:
    pair = PairwiseCase(case_id="p", input="q", output="x", output_b="y", gold="A", author="gpt-4o", author_b="gemini")
    swapping = JudgeHarness.standard("pairwise")
    assert same(swapping.evaluate(ScriptedJudge(["A", "A", None, "B", "B", "TIE"]), pair, "gpt-4o"))

    options: dict[str, Any] = {"perturbations": ["none", "format_change"], "repetitions": 2}
    labels = CalibrationSet("people", [(AnswerCase(case_id="l", output="*an* answer"), "PASS")])
    options |= {"calibration_set": labels, "keep": "hash", "aggregation_rule": "majority", "on_unfit": "skip"}
    hashed = JudgeHarness(**options).evaluate(ScriptedJudge(["PASS", "FAIL", "PASS"]), "plain")
    assert hashed.calibration is not None
    assert same(hashed)

    ended = JudgeHarness.standard("labels", budget=Budget(max_calls=2), executor=None)
    results = list(ended.evaluate_many(ScriptedJudge(["PASS"]), ["one *answer*", "another *answer*"]))
    assert {result.state for result in results} == {"budget_exhausted"}
    assert not all(result.rows for result in results)
    assert all(map(same, results))


def test_numbers_of_the_document_are_not_read() -> None:
    result = pattern()
    document = json.loads(json.dumps(result.to_dict(rows=True)))
    criterion = document["criteria"]["verdict"]
    criterion |= {"verdict": "FAIL", "status": "abstained", "consistency_rate": 1.0, "perturbations": [], "sd": "?"}
    document |= {"warnings": ["forged"], "not_measured": [], "informal": True, "perturbations": None, "unknown": {}}
    document["usage"] |= {"calls": -1}
    assert HarnessResult.from_dict(document) == result


verdicts = {
    "labels": st.sampled_from(["PASS", "FAIL", "1", "0.5", "[]"]),
    "scores": st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e9, 1e9)),
    "sets": st.frozensets(st.sampled_from("ab"), max_size=2),
}
attributes = st.dictionaries(
    st.one_of(st.sampled_from(["model", "model_", "gold__", "schema", "warning"]), st.text(max_size=3)),
    st.one_of(st.text(max_size=3), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    max_size=3,
)
gold = st.one_of(st.none(), *(v.filter(lambda value: value != "") for v in verdicts.values()))
texts = st.one_of(st.none(), st.text(max_size=3))


@st.composite
def rubrics(draw: st.DrawFn) -> list[VerdictRow]:
    """Rows of up to three criteria of any kind, with evidence, and calls that failed for all of them."""
    rows: list[VerdictRow] = []
    for criterion in draw(st.lists(st.sampled_from(["x", "y", "z"]), unique=True)):
        drawn = draw(samples(verdicts[draw(st.sampled_from(sorted(verdicts)))], least=0))
        rows += [replace(row, criterion=criterion) for row in drawn]
    count = st.one_of(st.none(), st.integers(0, 9))
    rows = [
        replace(
            row,
            gold=draw(gold),
            raw=draw(texts),
            reasoning=draw(texts),
            model=draw(texts),
            attempts=draw(count),
            latency_s=draw(st.one_of(st.none(), st.floats(0, 1e3))),
            attributes=draw(attributes),
        )
        for row in rows
    ]
    broken = st.sampled_from([outcome for outcome in OUTCOMES if outcome != "ok"])
    return rows + [failed(100 + n, outcome=draw(broken)) for n in range(draw(st.integers(0, 2)))]


@pytest.mark.slow
@given(
    rubrics(),
    st.sampled_from(["majority", "median"]),
    st.one_of(st.none(), st.integers(0, 20)),
    st.fixed_dictionaries(
        {
            "temperature": st.sampled_from([None, 0, 0.7]),
            "state": st.sampled_from(["complete", "interrupted"]),
            "criteria": st.lists(st.sampled_from(["x", "verdict"]), unique=True),
            "min_valid": st.sampled_from([None, 1, 5]),
        }
    ),
)
def test_whatever_was_measured_comes_back_equal(
    rows: list[VerdictRow], rule: str, planned: int | None, facts: dict[str, Any]
) -> None:
    numeric = {row.criterion: isinstance(row.verdict, (int, float)) for row in rows if row.ok}
    kept = [row for row in rows if row.criterion == "*" or numeric.get(row.criterion) in (None, rule == "median")]
    result = measured(kept, rule_name=rule, planned=planned, rewrites=1, **facts)
    assert rebuilt(result) == result


def changed(result: HarnessResult, *path: str | int, to: Any) -> Any:
    document = json.loads(json.dumps(result.to_dict(rows=True)))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    if to is ...:
        del place[path[-1]]
    return document


def refusal(document: Any) -> str:
    with pytest.raises(ConfigError) as raised:
        HarnessResult.from_dict(document)
    sentence = str(raised.value)
    assert type(raised.value) is ConfigError
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 500
    return sentence


@pytest.mark.parametrize(
    ("document", "advice"),
    [
        (pattern().to_dict(), "holds no rows to rebuild it from: write it with to_dict(rows=True)"),
        (changed(pattern(), "design", to=...), "left out its design: measure its rows again"),
        (changed(pattern(), "schema", to="judgeharness.result/2" * 1000), "found 'judgeharness.result/2"),
        (changed(pattern(), "schema", to=7), "found a value of type int"),
        ({}, "not a result of schema judgeharness.result/1 (found a value of type NoneType): write it with"),
        ([], "from what to_dict(rows=True) returned, not from a value of type list"),
        (None, "not from a value of type NoneType"),
        ("{}", "not from a value of type str"),
        (shapes()["rubric"].to_dict(rows=True), "rule 'first' is a function of the caller's own"),
        (PECULIAR[OWN_RULE].to_dict(rows=True), "rule 'any' is a function of the caller's own"),
        (
            measured(sampled("A"), perturbations=("none",), repetitions=1, rule_name=Rule("majority", len)).to_dict(
                rows=True
            ),
            "its rule is a function of the caller's own, which no document holds",
        ),
        (changed(pattern(), "design", "rule", to="first" * 10**6), "is not known here"),
        (changed(pattern(), "design", "rule", to="supermajority(2)"), "out of range"),
        (changed(pattern(), "design", "rule", to="majority(1"), "malformed"),
        (changed(pattern(), "design", "rule", to="median"), "folds numbers"),
        (changed(pattern(), "calibration_report", to=None), "its 'calibration_report' is missing"),
        (changed(pattern(), "calibration_report", "schema", to="x"), "not a calibration of schema"),
        (changed(pattern(), "calibration_report", "measured_at", to="yesterday"), "damaged"),
        (changed(pattern(), "rows", 2, "outcome", to="error"), "rows, line 3: outcome is 'error'"),
        (changed(pattern(), "rows", 2, "repetition", to=0), "rows, line 3: repeats the key of line 1"),
        (changed(pattern(), "rows", 2, "verdict", to=5), "holds a number here and a label in line 1"),
        (changed(pattern(), "rows", 2, "verdict", to={"a": ["b"]}), "rows, line 3: verdict"),
        (changed(pattern(), "rows", 2, "criterion", to="unheard"), "its rows hold other criteria"),
        (
            changed(pattern(), "criteria", "verdict", "kind", to="numbers"),
            "its rows hold other criteria, or other kinds",
        ),
        (changed(pattern(), "criteria", to={}), "its rows hold other criteria"),
        (changed(pattern(), "rows", 2, "input_tokens", to=10**5000), "is damaged (ValueError)"),
        (changed(pattern(), "rows", 2, "swapped", to="x" * 10**6), "rows, line 3: swapped"),
        (changed(pattern(), "rows", 2, "warning", to=10**5000), "is damaged (ValueError)"),
    ],
)
def test_what_cannot_be_rebuilt_is_one_sentence(document: Any, advice: str) -> None:
    assert advice in refusal(document)


NESTED: Any = 0
for _ in range(100_000):
    NESTED = [NESTED]
WRONG: dict[str, Any] = {
    "nothing": None,
    "missing": ...,
    "a number": 7.5,
    "a negative number": -1,
    "huge": 10**5000,
    "infinite": float("inf"),
    "true": True,
    "a text": "no such value",
    "a list": [{}],
    "an object": {"": []},
    "an object of numbers": {1: 2},
    "deep": NESTED,
}
PLACES: list[tuple[str | int, ...]] = [
    *((name,) for name in pattern().to_dict(rows=True)),
    *(("design", name) for name in pattern().to_dict()["design"]),
    *(("criteria", "verdict", name) for name in ("kind", "planned", "label_count", "tolerance")),
    *(("rows", 0, name) for name in pattern().to_dict(rows=True)["rows"][0]),
    *(("rows", 0, name) for name in ("gold", "raw", "call_id", "latency_s", "attempts", "response_id", "warning")),
    ("rows", 0),
    ("design", "perturbations", 0),
    ("skipped", "none"),
    ("model_families", 0),
    ("criteria", "verdict"),
    ("usage", "rewrites"),
    ("calibration", "status"),
    ("calibration", "reason"),
    *(("calibration_report", name) for name in calibration().to_dict()),
    *(("calibration_report", "criteria", "verdict", name) for name in calibration().to_dict()["criteria"]["verdict"]),
    *(("calibration_report", "criteria", "verdict", "recall", name) for name in ("successes", "trials", "low", "high")),
]


@pytest.mark.sampled(26)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_wrong_value_anywhere_is_read_or_refused(place: tuple[str | int, ...]) -> None:
    whole = pattern(skipped={"none": "why"}, model_families=("openai",))
    for wrong in WRONG.values():
        document = changed(whole, *place, to=wrong)
        try:
            result = HarnessResult.from_dict(document)
        except ConfigError:
            refusal(document)
        else:  # then it can be used
            assert str(result)
            assert isinstance(result.to_dict(rows=True), dict)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (("case_id",), None),
        (("judge",), 7),
        (("state",), "done"),
        (("skipped",), {"none": 1}),
        (("repetitions",), 0),
        (("repetitions",), 2.0),
        (("design", "perturbations"), "none"),
        (("design", "min_valid"), 0),
        (("design", "min_valid"), True),
        (("design", "tolerance"), -0.5),
        (("design", "tolerance"), None),
        (("design", "rule_fixed"), None),
        (("temperature",), "0"),
        (("model_families",), [1]),
        (("usage",), []),
        (("usage", "rewrites"), 2**53 + 1),
        (("criteria", "verdict", "planned"), None),
        (("criteria", "verdict", "kind"), None),
        (("calibration", "status"), "fine"),
        (("calibration_report",), ...),
        (("calibration_report", "criteria", "verdict", "recall", "trials"), 0),
        (("calibration_report", "criteria", "verdict", "recall", "successes"), 9),
        (("calibration_report", "criteria", "verdict", "recall", "high"), "1"),
        (("calibration_report", "criteria", "verdict", "confusion"), {"PASS": 1}),
        (("calibration_report", "parts"), []),
        (("calibration_report", "schema"), "x" * 10**6),
        (("calibration_report", "measured_at"), "x" * 10**6),
        (("rows",), None),
        (("rows",), [[]]),
        (("rows", 0, "schema"), None),
        (("rows", 0, "repetition"), 0.0),
        (("rows", 0, "judge"), 7),
        (("rows", 0, "raw"), {}),
        (("rows", 0, "run"), 7),
        (("rows", 0, "gold"), {}),
        (("rows", 0, "gold"), [1]),
        (("rows", 0, "subset"), []),
        (("rows", 0, 7), "a key that is a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(place: tuple[str | int, ...], wrong: Any) -> None:
    document = changed(pattern(), *place, to=wrong)
    whose = "the calibration is incomplete or damaged" if place[1:] and place[0] == "calibration_report" else ""
    if place == ("calibration_report", "schema"):
        whose = "not a calibration of schema"
    assert (whose or f"its {place[0]!r} is not what a result holds there") in refusal(document)


DOCUMENT = json.loads(json.dumps(SHAPES["pattern"].to_dict(rows=True)))


@pytest.mark.untraced
@given(st.data())
def test_scrambled_documents_are_read_or_refused(data: st.DataObject) -> None:
    document: Any = copy.deepcopy(DOCUMENT)
    junk = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
        max_leaves=4,
    )
    for _ in range(data.draw(st.integers(1, 3))):
        place = document
        while True:
            keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from(keys))
            inner = place[key]
            if not isinstance(inner, (dict, list)) or not inner or data.draw(st.booleans()):
                break
            place = inner
        place[key] = data.draw(junk)
    with contextlib.suppress(ConfigError):
        HarnessResult.from_dict(document)
