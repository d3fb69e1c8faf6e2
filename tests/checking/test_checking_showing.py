"""What a judge was shown of its worst cases: the same text as when it was asked."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from judgeharness_integrations.analysis.checking import CheckReport, PropertyCheck, WorstCase
from judgeharness_integrations.judging.adapters import as_judge
from judgeharness_integrations.judging.cases import AnswerCase, Case, PairwiseCase
from judgeharness_integrations.judging.perturbations import Perturbation
from judgeharness_integrations.testing.checking.asking import chosen_perturbations, chosen_probes, planned
from judgeharness_integrations.testing.checking.judge import check_judge, with_shown
from judgeharness_integrations.verdictlog import VerdictRow

LONG = "word " * 300
CASES = [
    PairwiseCase(case_id=f"c{n}", input="q", output="a first answer", output_b="another - answer" + LONG)
    for n in range(4)
]


def judge(case: Case) -> str:
    return "A" if isinstance(case, PairwiseCase) else "FAIL"


def shown(
    *perturbations: str,
    cases: Any = CASES[:1],
    changes: Any = ("position_swap",),
    pieces: bool = False,
    **asked: Any,
) -> list[Any]:
    """Return what is shown of the first case under each perturbation; `pieces`: the whole worst case."""
    one = as_judge(judge)
    plan = planned(
        one,
        cases,
        changes=chosen_perturbations(changes, rewriter=asked.get("rewriter"), instructions=("Say which.",)),
        attacks=chosen_probes(asked.get("probes", ())),
        repetitions=1,
        max_cases=None,
        seed=3,
    )
    first = plan.cases[0].case_id
    worst = tuple(WorstCase(case_id=first, before="A", after="B", perturbation=name) for name in perturbations)
    check = PropertyCheck(name="x", criterion="verdict", status="fail", reason="", worst=worst)
    report = CheckReport(
        judge="judge", properties=(check,), alpha=0.05, tolerance=0.1, cases=1, calls=1, outcomes={"ok": 1}
    )
    rows = [VerdictRow(case_id=case.case_id, verdict=judge(case.plan.case)) for case in plan.cases]
    found = with_shown(report, plan, rows, criteria=one.criteria, seed=3)
    return [case if pieces else case.shown for case in found.properties[0].worst]


def test_it_is_the_text_that_was_judged() -> None:
    seen: list[str] = []

    def fooled(case: PairwiseCase) -> str:
        seen.append(case.output_b)
        return "A" if case.output_b in {one.output_b for one in CASES} else "B"

    options: dict[str, Any] = {"probes": ["authority", "injection"], "perturbations": [], "seed": 3}
    report = check_judge(fooled, CASES, repetitions=1, **options)
    worst = {(case.case_id, case.perturbation) for one in report.properties for case in one.worst}
    attacks = sorted({name for case_id, name in worst if case_id == "c0" and name.startswith("probe:")})
    assert len(attacks) >= 5
    for text in shown(*attacks, cases=CASES, changes=(), probes=options["probes"]):
        assert len(text) <= 502
        assert any(text.strip("…") in one for one in seen if one != CASES[0].output_b)


def test_it_is_cut_around_the_change() -> None:
    [text] = shown("probe:authority(b)", probes=["authority"])
    assert text.startswith("…")
    assert text[1:81] in LONG
    assert len(text) < 600
    grown = Perturbation("grown", lambda case: case.with_texts(lambda text: "NEW " + text + LONG))
    [both] = shown("grown", changes=[grown])
    first, second = both.split("\n\n")
    assert first.startswith("NEW a first answer")
    assert second.startswith("NEW another")
    assert (len(first), len(second)) == (251, 251)
    assert first.endswith("…")


def test_what_the_change_brought_in_is_told_apart() -> None:
    def told(change: Any, *cases: Any) -> list[tuple[str, bool]]:
        [case] = shown("x", cases=cases, changes=[Perturbation("x", change)], pieces=True)
        return list(case.pieces)

    case = PairwiseCase(case_id="c", input="q", output="one two", output_b="three")
    put = told(lambda case: replace(case, output="one and two"), case)
    assert put == [("one ", False), ("and ", True), ("two", False)]
    both = told(lambda case: replace(case, output="one two!", output_b=">three"), case)
    assert both == [("one two", False), ("!", True), ("\n\n", False), (">", True), ("three", False)]
    assert told(lambda case: replace(case, output="one"), case) == [("one", False)]
    assert told(lambda case: replace(case, output=""), case) == []
    long = told(lambda case: replace(case, output=case.output + "NEW" * 300), replace(case, output=LONG))
    assert (long[0][0][0], long[1][1], long[1][0][:6], long[-1]) == ("…", True, "NEWNEW", ("…", False))


def test_the_order_alone_is_not_shown_and_what_answers_are_called_is() -> None:
    swapped, other = shown("position_swap", "unknown")
    assert (swapped, other) == (None, None)
    [called] = shown("slot", changes=[Perturbation("slot", _renamed)])
    assert called == "X / Y\n\nSay it."
    assert shown("sentinel", changes=[Perturbation("sentinel", _copied)]) == ["a first answer"]


def _renamed(case: PairwiseCase) -> PairwiseCase:
    return replace(case, presentation=replace(case.presentation, slot_names=("X", "Y"), instructions="Say it."))


def _copied(case: PairwiseCase) -> PairwiseCase:
    return replace(case, output_b=case.output)


def test_a_single_answer_and_a_text_are_shown_a_case_of_another_kind_is_not() -> None:
    louder = Perturbation("louder", lambda case: case.upper() if isinstance(case, str) else case)
    assert shown("louder", cases=["quiet"], changes=[louder]) == ["QUIET"]
    single = AnswerCase(case_id="s", output="Paris.")
    assert all(text.startswith("Paris.") for text in shown("probe:authority", cases=[single], probes=["authority"]))
    assert shown("louder", cases=[{"case_id": "m"}], changes=[louder]) == [None]
    gone = Perturbation("gone", lambda case: {"case": case})
    assert shown("gone", changes=[gone]) == [None]


def test_what_takes_asking_somebody_is_not_made_again() -> None:
    async def slow(case: Case) -> Case:
        await asyncio.sleep(0)
        return case.with_texts(str.upper)

    def broken(case: Case) -> Case:
        raise ValueError(case)

    changes = ["paraphrase", Perturbation("slow", slow), Perturbation("broken", broken)]
    assert shown("paraphrase", "slow", "broken", changes=changes, rewriter=lambda text: text) == [None, None, None]
