"""Reports of many shapes, for what turns them into pages and files."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from judgeharness_integrations.analysis.agreement import Panel
from judgeharness_integrations.analysis.agreement.panelfiles import annotated
from judgeharness_integrations.analysis.calibration import CalibrationState
from judgeharness_integrations.analysis.gates.gate import GateCheck, GateReport
from judgeharness_integrations.analysis.result import HarnessResult
from judgeharness_integrations.analysis.runs import RunReport, run_report
from judgeharness_integrations.verdictlog.row import VerdictRow
from support.measured import VALID, calibration, first, measured
from support.rows import both_orders, sampled

EXPIRED = CalibrationState(status="expired", reason="the model changed")
WORDS = (
    "the",
    "answer",
    "names",
    "a",
    "city",
    "but",
    "leaves",
    "out",
    "what",
    "was",
    "asked",
    "wiser",
    "friendly",
    "tone",
)

# What a text can try: scripts, attributes, styles, pictures, templates, endings of what surrounds it, direction.
HOSTILE = (
    "<script>window.__pwned=1</script>",
    "</script><script>window.__pwned=2</script>",
    '"><img src=x onerror="window.__pwned=3">',
    "'><svg onload=window.__pwned=4>",
    "{{ 7*7 }}{% raw %}",
    "</title></style><script>window.__pwned=5</script>",
    "<!--<script>window.__pwned=6",
    ']]><a href="javascript:window.__pwned=7">x</a>',
    "\u202egnp.exe\u2066 \u2029 \u0000 \ud800 \ufeff",
    "--></bdi></td></tr></table><h1>broken</h1>",
    "<template><iframe src=//example.com></template>",
    "&lt;img src=x onerror=window.__pwned=8&gt;",
)


def dice(seed: int) -> random.Random:
    """A seeded source of everything that is drawn here."""
    return random.Random(seed)  # noqa: S311 - nothing is kept secret


def essay(drawn: random.Random, characters: int = 400) -> str:
    """A text of about so many characters."""
    text = " ".join(drawn.choices(WORDS, k=characters // 5))
    return f"{text[:characters].capitalize()}."


def graded(
    cases: int, *, judge: str = "gpt-4o", seed: int = 1, reasons: int = 400, **facts: Any
) -> list[HarnessResult]:
    """PASS and FAIL under two perturbations, three samples each, with reasons, gold and a few failures."""
    drawn = dice(seed)
    results = []
    for number in range(cases):
        gold, hard = drawn.choice(["PASS", "PASS", "PASS", "FAIL"]), drawn.random() < 0.3
        rows = []
        for place, perturbation in enumerate(["none"] * 3 + ["format_change"] * 3):
            failed = drawn.random() < 0.02
            says = gold if drawn.random() > (0.4 if hard else 0.04) else {"PASS": "FAIL", "FAIL": "PASS"}[gold]
            rows.append(
                VerdictRow(
                    case_id=f"case-{number:04d}",
                    judge=judge,
                    verdict=None if failed else says,
                    outcome="error" if failed else "ok",
                    error="RateLimitError: 429 try again later" if failed else None,
                    perturbation=perturbation,
                    repetition=place % 3,
                    gold=gold,
                    reasoning=None if failed or not reasons else essay(drawn, reasons),
                    input_tokens=320,
                    output_tokens=90,
                    latency_s=0.8,
                    model="gpt-4o-2024-08-06",
                )
            )
        results.append(
            measured(
                rows,
                repetitions=3,
                rule_name="supermajority(2/3)",
                case_id=f"case-{number:04d}",
                judge=judge,
                judge_model="gpt-4o-2024-08-06",
                fingerprint="9f1c2b7a55d0e314",
                **facts,
            )
        )
    return results


def texts(results: list[HarnessResult], seed: int = 2) -> dict[str, dict[str, str]]:
    """Input and output of every case."""
    drawn = dice(seed)
    return {one.case_id: {"input": essay(drawn, 120), "output": essay(drawn, 500)} for one in results}


def gates() -> GateReport:
    """One gate that holds, one that does not, one that cannot be told."""
    common: dict[str, Any] = {"judge": "gpt-4o", "criterion": "verdict", "n": 120}
    return GateReport(
        checks=(
            GateCheck(
                gate="pass_rate>=0.7",
                status="failed",
                value=0.72,
                low=0.63,
                high=0.79,
                reason="pass_rate 0.72 [0.63, 0.79] over 120 cases: its lower end is below 0.7",
                **common,
            ),
            GateCheck(
                gate="max_abstention<=0.2",
                status="passed",
                value=0.1,
                low=0.06,
                high=0.17,
                reason="abstention 0.1 [0.06, 0.17] over 120 cases stays below 0.2",
                **common,
            ),
            GateCheck(
                gate="require_calibration",
                status="not_measured",
                value=None,
                low=None,
                high=None,
                reason="no calibration was given",
                **common,
            ),
        )
    )


def people(results: list[HarnessResult], *, count: int = 5, right: float = 0.85, seed: int = 3) -> Panel:
    """Labels of people who mostly say what is gold."""
    drawn = dice(seed)
    golds = {one.case_id: one.rows[0].gold for one in results}
    other = {"PASS": "FAIL", "FAIL": "PASS"}
    return Panel.from_annotations(
        {
            f"annotator_{number}": {
                case: gold if drawn.random() < right else other[str(gold)] for case, gold in golds.items()
            }
            for number in range(count)
        }
    )


def typical(cases: int = 120, **facts: Any) -> RunReport:
    """A calibrated judge that people were asked about, too."""
    drawn = dice(4)
    pairs = [(gold, gold if drawn.random() < 0.9 else "FAIL") for gold in ["PASS"] * 70 + ["FAIL"] * 50]
    results = graded(cases, calibration=calibration(*pairs), calibration_state=VALID)
    report = run_report(
        results,
        source="runs/2026-01-12-support-bot",
        run="f16cdb1aa85d",
        costs={"gpt-4o": 1.284},
        planned={"gpt-4o": cases + 4},
        state="budget_exhausted",
        case_texts=texts(results),
        **facts,
    )
    return annotated(report, people(results), humans=["annotator_*"], panel_description="five support agents")


def several_judges() -> RunReport:
    """Three judges of the same pairs, one of them without a calibration that holds."""
    results = [
        *graded(
            40, judge="gpt-4o", calibration=calibration(("PASS", "PASS"), ("FAIL", "PASS")), calibration_state=VALID
        ),
        *graded(40, judge="claude", seed=5, calibration=calibration(), calibration_state=EXPIRED),
        *graded(40, judge="a small local model with a long name", seed=6),
    ]
    return run_report(results, source="verdicts.sqlite", case_texts=texts(results))


def scored() -> RunReport:
    """Scores from 1 to 10."""
    drawn = dice(7)
    results = [
        measured(
            sampled(
                [min(10, max(1, round(center + drawn.gauss(0, 1)))) for _ in range(4)], case_id=f"s{number}", gold=7
            ),
            case_id=f"s{number}",
            perturbations=("none",),
            rule_name="median",
        )
        for number, center in enumerate(drawn.gauss(7, 1.6) for _ in range(60))
    ]
    return run_report(results, source="scores.csv")


def informal() -> RunReport:
    """Single samples as they came."""
    verdicts = ["PASS", "FAIL", "PASS", None, "PASS"]
    return run_report(
        [
            measured(sampled([verdict], case_id=f"i{n}"), case_id=f"i{n}", perturbations=("none",), repetitions=1)
            for n, verdict in enumerate(verdicts)
        ]
    )


def several_criteria() -> RunReport:
    """A rubric: labels, scores and sets of labels of the same cases, folded by a function of one's own."""
    results = []
    for number in range(12):
        case = f"r{number}"
        rows = [
            *sampled(
                ["PASS", "PASS", "FAIL"], case_id=case, criterion="tone", attributes={"warning": "the cache was on"}
            ),
            *sampled([7.5, 8.25, 9], case_id=case, criterion="depth"),
            *sampled(
                [frozenset({"toxic", "spam"}), frozenset(), frozenset({"spam"})], case_id=case, criterion="topics"
            ),
            VerdictRow(case_id=case, criterion="*", verdict=None, outcome="refused", repetition=3, error="I cannot."),
        ]
        results.append(measured(rows, case_id=case, rule_name=first, rule_fixed="after"))
    return run_report(results, source="rubric.jsonl")


def pairs() -> RunReport:
    """Pairs shown in both orders, some of which the order decides."""
    kinds = [
        (["A"] * 3, ["A"] * 3),
        (["A"] * 3, ["B"] * 3),
        (["B"] * 3, ["B", "B", "TIE"]),
        (["A", "A", None], ["A"] * 3),
    ]
    results = [
        measured(
            both_orders(*kinds[number % 4], case_id=f"p{number}", gold="A", reasoning=f"The first one, {number}."),
            case_id=f"p{number}",
            perturbations=("none", "position_swap"),
            repetitions=3,
            rule_name="swap_consensus",
        )
        for number in range(16)
    ]
    return run_report(results, source="pairs.csv")


def all_failed() -> RunReport:
    """No answer could be read."""
    return run_report(
        [measured(sampled([None] * 4, case_id=f"f{n}", error="Timeout"), case_id=f"f{n}") for n in range(6)],
        source="runs/broken",
        state="failed",
    )


def hostile() -> tuple[RunReport, GateReport]:
    """Every text of a report is an attack, each field another one."""
    results, judged = [], {}
    for number, attack in enumerate(HOSTILE):
        texts_ = [HOSTILE[(number + step) % len(HOSTILE)] for step in range(12)]
        case, judge, criterion, label, reason, raw, error, model, name, source, warning, skipped = texts_
        rows = [
            *sampled(
                [label, label, "PASS"], case_id=case, judge=judge, criterion=criterion, reasoning=reason, gold=label
            ),
            VerdictRow(
                case_id=case,
                judge=judge,
                criterion=criterion,
                verdict=None,
                outcome="error",
                error=error,
                raw=raw,
                repetition=3,
                model=model,
                attributes={attack: attack, "cluster": attack, "reused_from": attack, "warning": warning},
            ),
        ]
        labels = calibration(
            (label, label),
            ("PASS", label),
            name=name,
            source=source,
            consensus=attack,
        )
        results.append(
            measured(
                rows,
                case_id=case,
                judge=judge,
                judge_model=model,
                calibration=replace(
                    labels, criteria={criterion: replace(labels.criteria["verdict"], criterion=criterion)}
                ),
                calibration_state=VALID if number % 2 else CalibrationState(status="expired", reason=attack),
                skipped={skipped: skipped},
                fingerprint=attack,
            )
        )
        judged[case] = {attack: attack * 200, "input": attack}
    report = run_report(results, source="runs/" + "".join(HOSTILE), run=HOSTILE[0], case_texts=judged)
    check = GateCheck(
        gate=HOSTILE[2],
        judge=HOSTILE[1],
        criterion=HOSTILE[3],
        status="failed",
        value=0.5,
        low=None,
        high=None,
        n=3,
        reason=HOSTILE[0],
    )
    return report, GateReport(checks=(check,))


def hostile_annotators() -> RunReport:
    """People whose names are attacks."""
    results = graded(40, reasons=0)
    labels = {attack: {one.case_id: one.rows[0].gold for one in results} for attack in HOSTILE}
    panel = Panel.from_annotations(labels)
    return annotated(run_report(results), panel, humans=list(HOSTILE), panel_description=HOSTILE[2])
