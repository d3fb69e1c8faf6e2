"""Every document the commands write, over inputs of many shapes, made once."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support import judges_in_turn as in_turn
from support.judges_in_turn import case_file
from support.measured import VALID, calibration, measured, pattern, shapes
from support.planted_probabilities_judge import PlantedJudge, planted_cases
from support.rows import both_orders, sampled
from support.written_documents import ADAPTERS, BY_HAND, JUDGES, PAIRS, TERSE, TOY, Written

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations.analysis.aggregation import rule
from judgeharness_integrations.analysis.calibration import Judged, LabelledItem, measure_calibration
from judgeharness_integrations.analysis.calibration.population import Population
from judgeharness_integrations.analysis.certifying import Wanted, certify
from judgeharness_integrations.analysis.certifying.cascade import Cascade
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.design import Design
from judgeharness_integrations.analysis.document import recorded_line
from judgeharness_integrations.analysis.measure import measure
from judgeharness_integrations.analysis.runs.building import run_report
from judgeharness_integrations.audit.labels import label_log, read_assignment
from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.cascading import CascadeJudge
from judgeharness_integrations.judging.passport import PassportOffice, checked_passport
from judgeharness_integrations.reporting.rundocument import report_document

POPULATION = {
    "cases": 60,
    "copies": 1.0,
    "criteria": {"verdict": {"decisions": {"FAIL": 60}, "consistency": {"1": 60}}},
    "lengths": {},
    "column": "of",
    "strata": {"x": 60},
}
EXAMPLES = Path(__file__).parents[2] / "examples"
RANKED, STUDY = EXAMPLES / "judge_ranking", EXAMPLES / "annotator_study" / "labels.csv"


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    made = Written(tmp_path_factory.mktemp("written"))
    (made.folder / "schema_judges.py").write_text(JUDGES)
    (made.folder / "pairs.csv").write_text(PAIRS)
    lines = [f"c{n},q,{'good' if n % 3 else 'poor'} {n},{'PASS' if n % 3 else 'FAIL'}" for n in range(60)]
    (made.folder / "labels.csv").write_text("\n".join(["case_id,input,output,gold", *lines, ""]))
    paged = ["case_id,input,output,gold,cluster", *(f"{line},page {n // 3}" for n, line in enumerate(lines))]
    (made.folder / "paged.csv").write_text("\n".join([*paged, ""]))
    (made.folder / "points.csv").write_text("case_id,input,output,gold\nc1,q,good,5\nc2,q,so,2\nc3,q,bad,3\n")
    (made.folder / "broken-1.dist-info").mkdir()
    (made.folder / "broken-1.dist-info" / "entry_points.txt").write_text(ADAPTERS)
    (made.folder / "schema_adapter.py").write_text(TOY)
    sys.path.insert(0, str(made.folder))
    with contextlib.chdir(made.folder):
        for write in (
            results,
            calibrations,
            certificates,
            together,
            passports,
            runs,
            replays,
            gates,
            rates,
            agreements,
            plans,
            rankings,
            labels,
            sources,
            benchmarks,
            checks,
            others,
        ):
            write(made)
    sys.path.remove(str(made.folder))
    for name in ("schema_judges", "schema_adapter"):
        sys.modules.pop(name, None)
    return made


def results(made: Written) -> None:
    clustered = [Judged(gold="PASS", verdict="PASS", status="decided", cluster=f"k{n % 4}") for n in range(9)]
    item = LabelledItem(
        case_id="c", criterion="verdict", gold="PASS", verdict="PASS", status="decided", cluster="cluster k0"
    )
    kept = calibration(criteria={"verdict": measure_calibration(clustered)}, items=(item,))
    texts = pattern(temperature=0.7, calibration=kept)
    assert texts.calibration is not None
    made.take(json.dumps(texts.calibration.to_dict()))
    stopped = Design(
        perturbations=("none",),
        repetitions=5,
        rule=rule("majority"),
        min_valid=2,
        curtail=True,
        stopping_rule="majority",
    )
    evidence = {"run": "r", "reasoning": "so it is", "attempts": 1, "error": "late", "probe_hash": "0", "call_id": "k"}
    evidence |= {"cached_input_tokens": 4, "cache_write_tokens": 2, "service_tier": "flex", "finish_reason": "stop"}
    early = measure(sampled(["PASS"] * 3, **evidence), case_id="c1", judge="judge", design=stopped)
    down = measured([], planned=8, state="judge_down", ended="judge 'j' is down: no call was answered")
    beyond = replace(early, untested=("langsmith 0.16.1 is newer than the versions tried here (0.8 to 0.15)",))
    for result in (early, texts, down, beyond, *shapes().values()):
        made.take(json.dumps(result.to_dict(rows=True), allow_nan=False))
        made.take(json.dumps(result.to_dict(), allow_nan=False))


def runs(made: Written) -> None:
    prices = {"execution": {"prices": {"gpt-4o": {"input": 1, "output": 2, "cached_input": 1, "cache_write": 1}}}}
    unfit = {**TERSE, "aggregation_rule": "median"}
    several = {"perturbations": ["none"], "repetitions": 2, "aggregation_rule": "median"}
    often = {"perturbations": ["none"], "repetitions": 3, "aggregation_rule": "majority", "curtail": True}
    people = {"labels": "pairs.csv", "name": "people", "source": "human"}
    for name, code, options, configured in (
        ("plain", 0, (), made.configured("plain", "paid", "first", calibration=people, **prices)),
        ("paid", 0, (), made.configured("paid", "paid", **prices)),
        ("unfit", 2, (), made.configured("unfit", "good", harness=unfit)),
        ("broken", 3, (), made.configured("broken", "broken_on_second")),
        ("short", 3, ("--budget-calls", 3), made.configured("short", "good")),
        ("scores", 0, (), made.configured("scores", "score", harness=several)),
        ("points", 0, (), made.configured("points", "points", harness=several, cases="points.csv")),
        (
            "curtailed",
            0,
            (),
            made.configured("curtailed", "grade", harness=often, cases="labels.csv", calibration="cal.json"),
        ),
        ("paged", 0, (), made.configured("paged", "grade", harness=often | {"curtail": False}, cases="paged.csv")),
        ("known", 0, (), made.configured("known", judges=[{"name": "good", "callable": "schema_judges:good"}])),
        ("modelled", 0, (), made.configured("modelled", "good", calibration=people | {"source": "model:o3"})),
    ):
        made.run("run", configured, "--out", name, "--yes", *options, code=code)
        for file in ("results.jsonl", "verdicts.jsonl"):
            made.take((made.folder / name / file).read_text("utf-8"))
    made.run("run", made.configured("again", "good"), "--out", "short", "--yes", "--new-run", "--overwrite")
    made.run("runs", made.folder / "short")
    made.run("runs", made.folder / "paid")
    made.run("runs", made.folder / "curtailed")


def replays(made: Written) -> None:
    mixed = [
        *both_orders("AAB", ["A", "A", "TIE"], gold="A", criterion="best"),
        *both_orders(["TIE", None], ["TIE", "B"], gold="B", criterion="best", case_id="c2"),
        *sampled([7, 8.5, None], gold=8, criterion="score"),
        *sampled([frozenset("ab"), frozenset()], gold=frozenset("a"), criterion="topics"),
        *sampled(["yes", "no"], criterion="unlabelled"),
    ]
    made.take(made.log("mixed", mixed).read_text("utf-8"))
    made.run("replay", "mixed.jsonl", "--rule", "majority | median")
    made.run("replay", RANKED / "verdicts.csv", "--rule", "swap_consensus")
    for run in ("curtailed", "paged"):
        made.run("replay", made.folder / run / "verdicts.jsonl", "--rule", "majority")
    for name, says in (("labelled", ["PASS", "FAIL"]), ("shifted", ["FAIL"])):
        lines = (says[n % len(says)] for n in range(60))
        rows = [
            sampled([one] * 2, case_id=f"{name}{n}", gold=one, attributes={"of": "x"}) for n, one in enumerate(lines)
        ]
        made.log(name, [row for case in rows for row in case])
    kept = ("--out", "strata.json", "--by", "of", "--json")
    made.run("calibrate", "--source", "human", "--log", "labelled.jsonl", "--rule", "majority", *kept)
    made.run("replay", "shifted.jsonl", "--rule", "majority", "--calibration", "strata.json")


def gates(made: Written) -> None:
    """What reads runs and logs again: gates, reports, comparisons, recorded results."""
    strict = (
        "--fail-under",
        "accuracy>=0.9",
        "--fail-under",
        "coverage>=0.9",
        "--min-consistency",
        0.5,
        "--require-calibration",
    )
    made.run("replay", "mixed.jsonl", "--rule", "majority | median", *strict, code=1)
    looked = ("--sequential", "--fail-under", "coverage>=0.1")
    made.run("replay", "mixed.jsonl", "--rule", "majority | median", *looked, code=1)
    made.run("run", "plain.json", "--out", "gated", "--yes", "--fail-under", "coverage>=0.9", code=1)
    for source, options in (
        ("plain", ()),
        ("paid", ("--results",)),
        ("points", ()),
        ("curtailed", ()),
        ("mixed.jsonl", ("--rule", "majority | median", "--min-valid", 1)),
        ("points.jsonl", ("--rule", "median")),
        (RANKED / "verdicts.csv", ("--rule", "swap_consensus")),
    ):
        made.run("report", source, "--no-step-summary", *options)
    made.run("report", "plain", "--no-step-summary", *strict, code=1)
    made.run("report", "plain", "--no-step-summary", *looked, code=1)
    made.run("run", "plain.json", "--out", "until", "--yes", "--until", "coverage>=0.9", "--about", "suite", code=1)
    judges = ("--judge-a", "atlas-large", "--judge-b", "atlas-mini")
    made.run("compare", *[RANKED / "verdicts.csv"] * 2, "--rule", "swap_consensus", "--permutations", 50, *judges)
    made.run("compare", "plain", "paid", "--permutations", 20)
    made.run("compare", "plain", "paid", "--sequential")
    made.run("compare", "plain", "until", "--permutations", 20)
    made.run("compare", "until", "paid", "--permutations", 20)
    made.run("replay", "until", "--rule", "majority | median", *looked, code=1)
    made.run("report", "until", "--no-step-summary")
    later = [row for n in range(12) for row in sampled([n % 5 + 1, n % 4 + 2], case_id=f"s{n}", gold=n % 5)]
    made.run("compare", "points.jsonl", made.log("later", later), "--rule", "median", "--permutations", 20)
    for result in shapes().values():
        made.take(json.dumps(recorded_line(result, {"output": "an answer"}), allow_nan=False))
    tested = replace(pattern(), test="tests/test_it.py::test_it")
    made.take(json.dumps(recorded_line(tested, {})))
    made.take(json.dumps(tested.to_dict()))
    made.take(json.dumps(report_document(run_report([tested]))))
    labelled = replace(calibration(), population=Population.from_dict(POPULATION))
    cases = [pattern(calibration=labelled, calibration_state=VALID) for _ in range(60)]
    made.take(json.dumps(report_document(run_report(replace(one, case_id=f"p{n}") for n, one in enumerate(cases)))))
    noted = replace(pattern(), untested=("langsmith 0.16.1 is newer than the versions tried here (0.8 to 0.15)",))
    made.take(json.dumps(recorded_line(noted, {})))


def sources(made: Written) -> None:
    (made.folder / "unread.py").write_text("def (")
    suite = EXAMPLES / "single_call_suite"
    (made.folder / "by_hand.py").write_text(BY_HAND)
    made.run("scan", suite, "unread.py", "--format", "json", as_json=False, code=1)
    made.run("migrate", suite, "unread.py", "by_hand.py", "--cases", 100)


def calibrations(made: Written) -> None:
    terse = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
    for judge in ("grade", "lenient"):
        made.configured(judge, judge, harness=terse)
    asked = ("calibrate", "--source", "human", "grade.json", "--labels", "labels.csv", "--yes")
    made.run(*asked, "--out", "cal.json")
    made.take((made.folder / "cal.json").read_text("utf-8"))
    made.run(*asked, "--out", "modelled.json", "--source", "model:o3")
    made.run(*asked, "--check", "cal.json")
    asked = ("calibrate", "--source", "human", "lenient.json", "--labels", "labels.csv", "--yes")
    made.run(*asked, "--judge", "lenient", "--check", "cal.json", code=1)
    made.run(*asked, "--judge", "lenient", "--check", "cal.json", "--anchors", 4)
    made.take((made.folder / "cal.history.jsonl").read_text("utf-8"))
    scores = [row for n in range(12) for row in sampled([n % 5, n % 4 + 0.5], case_id=f"s{n}", gold=n % 5)]
    sets = [row for n in range(8) for row in sampled([frozenset("ab")], case_id=f"t{n}", gold=frozenset("a"))]
    for name, rows, fold in (("points", scores, "median"), ("sets", sets, "majority")):
        made.run(
            "calibrate", "--source", "human", "--log", made.log(name, rows), "--rule", fold, "--out", f"{name}.json"
        )
    made.run("calibrate", "--source", "human", "--log", "points.jsonl", "--rule", "median", "--check", "points.json")
    partly = [
        row
        for n in range(80)
        for row in sampled(["PASS" if n % 3 else "FAIL"], case_id=f"p{n}", gold="PASS" if n % 5 else "FAIL")
    ]
    made.log("partly", [row if n % 2 else replace(row, gold=None) for n, row in enumerate(partly)])
    asked = ("calibrate", "--source", "human", "--log", "partly.jsonl", "--rule", "majority")
    made.run(*asked, "--candidates", 3)
    made.run(*asked, "--holdout", 0.5)
    made.run(*asked, "--holdout", 0.5, "--final")
    made.take((made.folder / "candidates.jsonl").read_text("utf-8"))


def rates(made: Written) -> None:
    counts = ("--passed", 300, "--of", 400, "--sensitivity", "90/100", "--specificity", "80/100")
    made.run("corrected-rate", *counts)
    made.run("corrected-rate", *counts, "--labels-are", "other-mix")
    rows = [
        row
        for n in range(60)
        for row in sampled(
            ["PASS" if n % 3 else "FAIL", None if n % 7 else "PASS"],
            case_id=f"r{n}",
            gold=None if n % 2 else "PASS" if n % 4 else "FAIL",
            attributes={"text": f"t{n % 9}"},
        )
    ]
    made.run("corrected-rate", made.log("rates", rows), "--rule", "majority", "--labels-are", "random")
    made.run("corrected-rate", "rates.jsonl", "--rule", "majority", "--cluster", "text")
    made.run("calibrate", "--source", "human", "--log", "rates.jsonl", "--rule", "majority", "--out", "rates.json")
    made.run("corrected-rate", "rates.jsonl", "--rule", "majority", "--calibration", "rates.json")


def agreements(made: Written) -> None:
    panel = (STUDY, "--humans", "annotator_*")
    made.run("agreement", "alt-test", *panel, "--candidate", "strong,weak")
    for candidates in ("weak", "strong,weak"):
        made.run("agreement", "alt-test", *panel, "--candidate", candidates, "--min-instances", 5000)
    made.run("agreement", "kappa", STUDY, "--raters", "annotator_*", "--candidate", "*", "--resamples", 20)
    numbers = [
        row
        for rater in "wxyz"
        for n in range(24)
        for row in sampled(
            [n % 4 + (n % {"w": 5, "x": 9, "y": 8, "z": 2}[rater] == 0)],
            judge=rater,
            case_id=f"k{n}",
            attributes={"text": f"t{n % 12}", "half": n % 2},
        )
    ]
    log = made.log("panel", numbers)
    made.run("agreement", "kappa", log, "--raters", "*", "--resamples", 9, "--cluster", "text")
    apart = [
        row
        for place, rater in enumerate("wxyz")
        for n in range(40)
        for row in sampled(["AB"[n >> place & 1]], judge=rater, case_id=f"k{n}")
    ]
    made.run("agreement", "alt-test", made.log("torn", apart), "--humans", "x,y,z", "--candidate", "w", "--epsilon", 0)
    sets = [replace(row, verdict=frozenset("ab"[: int(str(row.verdict)) % 3])) for row in numbers]
    made.run("agreement", "kappa", made.log("topics", sets), "--raters", "*", "--resamples", 9, "--cluster", "text")
    for cluster in ("text", "half"):
        options = ("--cluster", cluster, "--min-instances", 5)
        made.run("agreement", "alt-test", log, "--humans", "x,y,z", "--candidate", "w", *options)


def plans(made: Written) -> None:
    made.run("plan")
    made.run("plan", "--variance", "0.1,0.02,0.05", "--difference", 0.1, "--cases", 200, "--budget", 2000)
    made.run("plan", "--sensitivity", 0.9, "--specificity", 0.8, "--cases", 5000, "--labels", "none")
    made.run("plan", "--sensitivity", 0.9, "--specificity", 0.8, "--cases", 10, "--labels", "executable")
    shifted = [
        row
        for n in range(30)
        for row in (
            *sampled(["PASS" if n % 3 else "FAIL", "PASS"], case_id=f"p{n}", input_tokens=9),
            *sampled(["FAIL", "FAIL" if n % 5 else None], case_id=f"p{n}", perturbation="format_change"),
        )
    ]
    made.run("plan", "grade.json", "--pilot", made.log("pilot", shifted), "--price", 0.01, "--cases", 400)
    noisy = [row for n in range(60) for row in sampled(_votes(n), case_id=f"v{n}", gold="PASS")]
    made.run("plan", "--pilot", made.log("votes", noisy), "--certify", 0.8)
    kinds = [replace(row, attributes={"kind": "early" if int(row.case_id[1:]) < 30 else "late"}) for row in noisy]
    made.run("plan", "--pilot", made.log("kinds", kinds), "--certify", 0.8, "--by", "kind")
    single = [row for n in range(60) for row in sampled(["FAIL" if n % 5 else "PASS"], case_id=f"s{n}")]
    made.run("plan", "--pilot", made.log("single", single), "--difference", 0.15, "--cases", 2000)
    grouped = [replace(row, attributes={"cluster": int(row.case_id[1:]) // 3}) for row in shifted]
    made.run("plan", "--pilot", made.log("groups", grouped), "--budget", 500, "--expected")


def _votes(case: int) -> list[str]:
    """Four votes: unanimous in most cases, wrong in few."""
    wrong = 4 if case % 20 == 0 else case % 3
    return ["FAIL"] * wrong + ["PASS"] * (4 - wrong)


def passports(made: Written) -> None:
    """One that certifies answers, one that is refused, one without labels; and answers with probabilities as rows."""
    judge = PlantedJudge(temperature=0.5, noise=0.2)
    for cases in (planted_cases(300), planted_cases(60, labelled=20), planted_cases(30, labelled=0)):
        passport = PassportOffice(judge, cases).take()
        made.take(json.dumps(passport.to_dict()))
        for looked in (PlantedJudge(shift=1.0), PlantedJudge(resolved="planted-2")):
            made.take(json.dumps(checked_passport(passport, looked, cases)[1].to_dict()))
        decided = JudgeHarness.under(passport).evaluate(judge, cases[0])
        made.take(json.dumps(decided.to_dict(rows=True)))
        made.take(json.dumps(recorded_line(decided, {})))
    harness = JudgeHarness(perturbations=["none", "negated", "retest"], repetitions=1, aggregation_rule="majority")
    measured = list(JudgeHarness.standard("labels", perturbations=["none"]).evaluate_many(judge, planted_cases(20)))
    made.take(json.dumps(measured[0].to_dict(rows=True)))
    path = made.log("probable", [row for result in measured for row in result.rows])
    made.take(path.read_text())
    made.run("report", path, "--rule", "majority")
    sure = made.log("sure", [row for one in harness.evaluate_many(judge, planted_cases(400)) for row in one.rows])
    made.run("certify", "--source", "human", sure, "--score", "probability", "--agreement", 0.8)
    for one in (planted_cases(20), planted_cases(20, labelled=0)):
        asked = list(harness.evaluate_many(judge, one))
        made.take(json.dumps(asked[0].to_dict()))
        made.take(json.dumps(report_document(run_report(asked))))


def certificates(made: Written) -> None:
    rows = [
        row
        for n in range(120)
        for row in sampled(_votes(n), case_id=f"k{n}", gold="PASS", attributes={"kind": "hard" if n % 4 else "easy"})
    ]
    made.run("certify", "--source", "human", made.log("few", rows[:240]), "--agreement", 0.8, code=1)
    made.log("certified", rows)
    made.run(
        "certify",
        "--source",
        "human",
        "certified.jsonl",
        "--by",
        "kind",
        "--agreement",
        0.9,
        "--out",
        "certificate.json",
        code=1,
    )
    at = "2026-01-01T00:00:00+00:00"
    given = certify(
        rows, rule("majority"), Wanted(agreement=0.5), Labels(name="p"), measured_at=at, parts={"judge": "j"}
    )
    made.take(json.dumps(given.to_dict()))
    held = measured(rows[:4], certificate=given, certificate_state=VALID)
    made.take(json.dumps(held.to_dict(rows=True)))
    configured = made.configured("held", "good", certificate="certificate.json")
    made.run("run", configured, "--out", "held", "--yes")
    made.run("report", "held")
    made.run("replay", "held", "--rule", "swap_consensus")


def together(made: Written) -> None:
    """A cascade that is certified, run and replayed, results that went up, and a panel with labels and without."""
    case_file(in_turn.labelled(120), made.folder / "turns.jsonl")
    case_file(in_turn.labelled(12), made.folder / "few.jsonl")
    case_file(in_turn.waiting_cases("easy hard torn torn torn torn"), made.folder / "waiting.jsonl")
    design = in_turn.DESIGN | {"min_valid": 3}
    base = in_turn.configured(made.folder, "base", cases="turns.jsonl", harness=design)
    made.run("run", base, "--out", "base", "--yes")
    certified = ("--cascade", "cheap,strong", "--config", base, "--source", "human", "--out", "chain.json")
    made.run("certify", "base", *certified, "--agreement", 0.8)
    keys = {"certificate": "chain.json", "cascade": ["cheap", "strong", "people"], "harness": design}
    for cases in ("turns", "waiting"):
        config = in_turn.configured(made.folder, f"{cases}-in-turn", cases=f"{cases}.jsonl", **keys)
        made.run("run", config, "--out", cases, "--yes")
        made.run("replay", cases, "--rule", "majority", "--panel", "majority")
        made.run("report", cases)
    made.take((made.folder / "waiting" / "results.jsonl").read_text())
    voting = in_turn.configured(made.folder, "voting", cases="few.jsonl", panel=["cheap", "strong"])
    made.run("run", voting, "--out", "voting", "--yes")
    made.run("report", "voting")
    judge = CascadeJudge([in_turn.CHEAP, in_turn.STRONG], Cascade.load(made.folder / "chain.json"))
    for result in JudgeHarness(**design).evaluate_many(judge, in_turn.waiting_cases("easy torn torn torn")):
        made.take(json.dumps(result.to_dict(rows=True)))


def rankings(made: Written) -> None:
    from judgeharness_integrations.analysis.ranking import RankRequest
    from judgeharness_integrations.analysis.ranking.analyses import portfolio_of
    from judgeharness_integrations.analysis.ranking.panels import read_judge_facts
    from judgeharness_integrations.cli._judge_options import RankOptions, RankOutput
    from judgeharness_integrations.cli.rank import LogSource, _document, material_of

    made.run("rank", RANKED / "verdicts.csv", "--judges-info", RANKED / "judges.csv", "--by", "domain")
    made.run("rank", RANKED / "verdicts.csv", "--cluster", "domain")
    made.run("survey", RANKED / "verdicts.csv")
    request = RankRequest(by="domain", flagged="flagged", cut=0.1, facts=read_judge_facts(RANKED / "judges.csv"))
    source = LogSource(options=RankOptions(log=RANKED / "verdicts.csv", against=RANKED / "other_generator.csv"))
    whole = portfolio_of(material_of(source, request, RankOutput(draws=2)))  # with the analyses of --out
    made.take(json.dumps(_document(whole), allow_nan=False))
    apart = [
        row
        for judge, said, cases, about in (
            ("right", ["A"], 9, "x"),
            ("half", ["A", "B"], 9, "x"),
            ("silent", [None], 4, "x"),
            ("half", ["TIE"], 4, "y"),
        )
        for n in range(cases)
        for row in sampled([said[n % len(said)]], judge=judge, case_id=f"{about}{n}", gold="A", criterion=about)
    ]
    made.run("rank", made.log("apart", apart))
    scored = [
        row
        for judge, tilt in (("one", 0), ("two", 3), ("two@short", 5))
        for n in range(12)
        for side in "AB"
        for row in sampled(
            [None if n == tilt else (n * 7 + tilt * (side == "A")) % 5],
            judge=judge,
            case_id=f"d{n}{side}",
            gold=5 if side == "A" else 3,
            attributes={"pair": f"d{n}", "side": side},
        )
    ]
    made.run("rank", made.log("scored", scored), "--method", "conditional", "--ties", "wrong")


def labels(made: Written) -> None:
    asked = ("label", "pairs.csv", "--annotator")
    made.run(*asked, "anna", "--out", "anna.jsonl", typed="b\na\nq\n")
    made.run(*asked, "ben", "--out", "ben.jsonl", typed="b\na\na\n")
    made.run(*asked, "cleo", "--sheet", "sheet.csv")
    filled = (made.folder / "sheet.csv").read_text("utf-8").splitlines()
    place = filled[0].split(",").index("label")
    lines = [",".join([*line.split(",")[:place], "A", *line.split(",")[place + 1 :]]) for line in filled[1:]]
    (made.folder / "filled.csv").write_text("\n".join([filled[0], *lines, ""]))
    said = (
        (who, f"c{n}", one) for who, all_of in (("dora", "ABA"), ("emil", "ABB")) for n, one in enumerate(all_of, 1)
    )
    made.log("more", [row for who, case_id, one in said for row in sampled(one, judge=who, case_id=case_id)])
    made.run("label", "pairs.csv", "--from-sheet", "filled.csv", "--out", "cleo.jsonl")
    logs = ("anna.jsonl", "ben.jsonl", "cleo.jsonl", "more.jsonl")
    made.run("label", "--merge", *logs, "--cases", "pairs.csv", "--out", "gold.csv")


def benchmarks(made: Written) -> None:
    """A small benchmark, from documents to what people labelled, and one that was converted."""
    example = EXAMPLES / "judge_benchmark"
    models_of = {name: f"{example / 'offline_models.py'}:{name}" for name in ("generator", "verifier", "observer")}
    judges = ",".join(f"{example / 'offline_models.py'}:judge_{name}" for name in ("strong", "middling", "weak"))
    (made.folder / "models.yaml").write_text("prices: {'*': {input: 1, output: 2}}")
    (made.folder / "broken_judge.py").write_text("def broken(prompt):\n    raise ValueError('nobody home')\n")
    priced = ("--models", "models.yaml", "--yes")
    documents = (example / "documents_md" / "garden", example / "documents" / "library")
    models = [part for name in ("generator", "verifier") for part in (f"--{name}", models_of[name])]
    made.run("benchmark", "generate", *documents, *models, "--out", "bench", "--n", 16, *priced)
    made.run("benchmark", "verify", "bench", *models[2:], *priced)
    asked = ("benchmark", "judge", "bench", *priced, "--judges")
    made.run(*asked, judges.split(",")[0])
    made.run("benchmark", "stats", "bench")  # one judge: no pair has a difficulty
    made.run("benchmark", "sample", "bench", "--n", 4, "--by", "domain")
    made.run(*asked, judges, "--mode", "both", "--sample", "bench/sample.json", "--max-calls", 1, code=3)
    made.run(*asked, judges, "--mode", "both")
    made.run(*asked, "broken_judge.py:broken", "--fraction", 0.2, code=3)
    seen = ("benchmark", "discover", example / "transcripts.jsonl", "--model", models_of["observer"], "--out", "types")
    made.run(*seen, *priced)
    (made.folder / "types" / "proposals.yaml").write_text(decided(example / "decided.yaml"))
    made.run(*seen, *priced)
    made.run("benchmark", "discover", "--decided", "types/proposals.yaml", "--taxonomy-out", "taxonomy.yaml")
    made.run("audit", "bench", "--assign", "anna,ben", "--n", 6, "--overlap", 1, "--suspicious", 2)
    assignment = read_assignment(made.folder / "bench")
    assert assignment is not None
    for who, labels in (("anna", "clean,noise,ambiguous,clean"), ("ben", "clean,noise,clean,noise")):
        for pair_id, label in zip(assignment.uniform, labels.split(","), strict=False):
            label_log(made.folder / "bench", who).append(pair_id, label, "looked at")
    made.run("audit", "bench", "--status")
    made.run("benchmark", "curate", "bench", "--cut", 0.1)
    made.run("benchmark", "stats", "bench", "--models", "models.yaml")
    made.run("benchmark", "export", "bench", "--out", "native")
    made.run("benchmark", "export", "bench", "--out", "public", "--format", "rankjudge")
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["benchmark", "convert", "public/held_out.jsonl", "--out", "converted"]) == 0
    made.run("benchmark", "stats", "converted")
    for path in (made.folder / "bench", made.folder / "converted"):
        for file in sorted(path.rglob("*.json*")):
            if file.suffix in (".json", ".jsonl") and file.name != "taxonomy.json":
                made.take(file.read_text("utf-8"))


def decided(file: Path) -> str:
    """Return decisions about proposals: one kept, and the same under another name merged."""
    found = yaml.safe_load(file.read_text("utf-8"))
    (kept,) = found["proposals"]
    merged = kept | {"name": "echoing", "decision": "merge", "into": kept["nearest"]["name"]}
    return yaml.safe_dump(found | {"proposals": [kept, merged]})


def checks(made: Written) -> None:
    code = "import random\n\nfrom schema_judges import good, paid\n\nchance = random.Random(3)\n\n\n"
    code += "def moody(case):\n    return paid(case) if chance.random() < 0.8 else 'A'\n"
    (made.folder / "schema_moody.py").write_text(code)
    pairs = [f"c{n},q,good {n},bad {n},A" if n % 2 else f"c{n},q,bad {n},good {n},B" for n in range(12)]
    (made.folder / "checked.csv").write_text("\n".join(["case_id,input,output,output_b,gold", *pairs, ""]))
    judges = [{"name": "moody", "callable": "schema_moody:moody", "model": "gpt-4o"}]
    path = made.configured("checked", judges=judges, cases="checked.csv")
    made.run("check", path, "--out", "checked", code=1)
    made.run("check", "--log", made.folder / "checked" / "verdicts.jsonl", code=1)
    sys.modules.pop("schema_moody", None)
    for document in made.documents["checks-1"]:
        made.take("".join(json.dumps(report) + "\n" for report in document["judges"]))


def others(made: Written) -> None:
    made.run("selftest", "--only", "exact sign test", "--only", "fault: refusals", "--only", "about this suite")
    made.run("adapters")
    made.run("adapters", "toy", "--check")
