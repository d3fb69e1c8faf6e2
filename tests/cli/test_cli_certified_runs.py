"""`certificate: PATH` in a configuration: run, summary, report, replay, gates and resuming agree with the harness."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations import HarnessResult, JudgeHarness
from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.certifying import Certificate
from judgeharness_integrations.analysis.runs.reading import read_report
from judgeharness_integrations.judging.config import build_cases, build_harness_options, build_judge, load_config
from judgeharness_integrations.verdictlog import read_log
from judgeharness_integrations.verdictlog.runfolder import read_mark

Command = Callable[..., Any]
JUDGES = """
from collections import Counter

ASKED = Counter()

def _wavers(case):
    ASKED[case.case_id] += 1
    return "split" in case.output and ASKED[case.case_id] % 4 == 0

def grade(case):
    right, wrong = ("PASS", "FAIL") if "good" in case.output else ("FAIL", "PASS")
    return wrong if _wavers(case) else right

def score(case):
    return (10 if _wavers(case) else 8) if "good" in case.output else 3
"""
LABELS = {"grade": ("PASS", "FAIL"), "score": ("8", "3")}
RULES = {"grade": "majority", "score": "median"}
COUNTED = ("cases", "decided", "abstained", "not_graded", "coverage", "accuracy", "mean_absolute_error")


@pytest.fixture
def configured(folder: Path) -> Callable[..., Path]:
    """60 sure cases that are right and 20 split ones, of which half are wrong; writes configurations."""
    (folder / "cli_judges.py").write_text(JUDGES)

    def write(judge: str = "grade", *, name: str = "run", **changes: Any) -> Path:
        high, low = LABELS[judge]
        sure = [f"s{n},q{n},{'good' if n % 2 else 'bad'},{high if n % 2 else low}" for n in range(60)]
        split = [f"m{n},q{n},split good,{high if n % 2 else low}" for n in range(20)]
        (folder / "cases.csv").write_text("\n".join(["case_id,input,output,gold", *sure, *split]))
        harness = {"perturbations": ["none"], "repetitions": 4, "aggregation_rule": RULES[judge]}
        config: dict[str, Any] = {
            "judges": [{"name": judge, "callable": f"cli_judges:{judge}", "model": "gpt-4o"}],
            "cases": "cases.csv",
            "harness": harness | changes.pop("harness", {}),
        }
        (folder / f"{name}.json").write_text(json.dumps(config | changes))
        return folder / f"{name}.json"

    return write


def certificate_of(command: Command, folder: Path, config: Path, **options: Any) -> Path:
    """Run without a certificate, and certify what was answered."""
    assert command("run", config, "--out", folder / "plain", "--yes").code == 0
    out = folder / "certificate.json"
    told = [part for name, value in options.items() for part in (f"--{name}", value)]
    log = folder / "plain" / "verdicts.jsonl"
    ran = command("certify", log, "--config", config, "--source", "human", "--name", "people", "--out", out, *told)
    assert ran.code == 0, ran.err
    return out


def by_python(config: Path, certificate: Path) -> dict[str, HarnessResult]:
    read = load_config(config)
    harness = JudgeHarness(**build_harness_options(read), certificate=certificate)
    return {one.case_id: one for one in harness.evaluate_many(build_judge(read, 0), list(build_cases(read)))}


def outcome(judge: dict[str, Any]) -> dict[str, Any]:
    return {name: judge[name] for name in COUNTED if name in judge}


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["grade", "score"])
def test_a_configuration_python_and_replay_decide_the_same(
    command: Command, folder: Path, configured: Callable[..., Path], judge: str
) -> None:
    plain = configured(judge)
    certificate = certificate_of(command, folder, plain, tolerance=0.5)
    ran = command("run", configured(judge, certificate="certificate.json"), "--out", folder / "held", "--yes", "--json")
    assert ran.code == 0, ran.err
    [summary] = json.loads(ran.out)["judges"]
    results = [json.loads(line) for line in (folder / "held" / "results.jsonl").read_text().splitlines()]
    harness = by_python(plain, certificate)
    assert {one["case_id"]: one["criteria"]["verdict"]["status"] for one in results} == {
        case_id: one.status for case_id, one in harness.items()
    }
    assert {one["case_id"]: one["criteria"]["verdict"]["reason"] for one in results} == {
        case_id: one.reason for case_id, one in harness.items()
    }
    [counted] = summary["criteria"]
    assert (counted["cases"], counted["decided"], counted["abstained"]) == (80, 60, 20)
    assert sum(one["count"] for one in counted["verdicts"]) == 60
    assert counted["accuracy" if judge == "grade" else "mean_absolute_error"] == (1 if judge == "grade" else 0)
    assert summary["certificate"]["status"] == "valid"
    again = command("replay", folder / "held", "--rule", RULES[judge], "--json")
    given = command("replay", folder / "plain", "--rule", RULES[judge], "--certificate", certificate, "--json")
    for replayed in (again, given):
        assert outcome(json.loads(replayed.out)["judges"][0]) == outcome(counted)
        assert json.loads(replayed.out)["certificates"][0]["status"] == "valid"
    report = json.loads(command("report", folder / "held", "--json").out)["judges"][0]
    assert report["certificates"] == [summary["certificate"]]
    assert report["criteria"][0]["coverage"]["value"] == counted["coverage"] == 0.75
    assert (report["criteria"][0]["decided"], report["criteria"][0]["abstained"]) == (60, 20)


@pytest.mark.slow
def test_gates_of_run_report_and_replay_see_its_abstentions(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate_of(command, folder, configured())
    gate = ("--fail-under", "coverage>=0.8")
    config = configured(certificate="certificate.json")
    asked = [
        command("run", config, "--out", folder / "held", "--yes", *gate),
        command("report", folder / "held", *gate),
        command("replay", folder / "held", "--rule", "majority", *gate),
    ]
    for ran in asked:
        assert ran.code == 1
        assert "coverage>=0.8: 0.750 [" in " ".join((ran.out + ran.err).split())
    line = "certificate: people: decided cases agree with people at least 90 % of the time, with 90 % confidence"
    assert all(line in " ".join(ran.out.split()) for ran in asked)
    pages = (folder / "page.html", folder / "page.md")
    assert command("report", folder / "held", "--html", pages[0], "--markdown", pages[1]).code == 0
    under_heading = line.removeprefix("certificate: ")
    assert all(under_heading in " ".join(page.read_text("utf-8").split()) for page in pages)


@pytest.mark.slow
def test_a_run_is_not_continued_under_another_certificate(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate = certificate_of(command, folder, configured())
    config, out = configured(certificate="certificate.json"), folder / "held"
    assert command("run", config, "--out", out, "--yes", "--budget-calls", 40).code == 3
    replace(Certificate.load(certificate), name="others").save(certificate)
    ran = command("run", config, "--out", out, "--yes")
    assert (ran.code, "certificate.content was " in ran.err) == (2, True), ran.err
    replace(Certificate.load(certificate), name="people").save(certificate)
    assert command("run", config, "--out", out, "--yes").code == 0
    [judge] = json.loads((out / "summary.json").read_text())["judges"]
    assert outcome(judge["criteria"][0])["abstained"] == 20


@pytest.mark.slow
def test_what_was_cut_off_is_read_under_its_certificate(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate_of(command, folder, configured())
    config, out = configured(certificate="certificate.json"), folder / "held"
    assert command("run", config, "--out", out, "--yes").code == 0
    (out / "summary.json").unlink()
    assert read_report(out).summaries[0].replay.abstained == 20
    mark = {name: value for name, value in read_mark(out / "run.json").items() if name != "certificate"}
    (out / "run.json").write_text(json.dumps(mark))
    ran = command("report", out)
    assert (ran.code, "its 'certificate_report' is missing" in ran.err) == (2, True)


@pytest.mark.slow
def test_one_that_does_not_hold_decides_nothing_and_says_why(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate = certificate_of(command, folder, configured())
    held = Certificate.load(certificate)
    old = replace(held, measured_at=datetime(2020, 1, 1, tzinfo=UTC).isoformat()).save(folder / "old.json")
    out = folder / "late"
    ran = command("run", configured(certificate=str(old)), "--out", out, "--yes", "--json")
    [judge] = json.loads(ran.out)["judges"]
    assert outcome(judge["criteria"][0])["decided"] == 0
    assert judge["certificate"]["status"] == "expired"
    shown = " ".join(command("replay", out, "--rule", "majority").out.split())
    assert "grade: certificate: people: expired: " in shown
    assert json.loads(command("replay", out, "--rule", "majority", "--json").out)["judges"][0]["abstained"] == 80
    other = json.loads(
        command("replay", folder / "plain", "--rule", "strict_majority", "--certificate", certificate, "--json").out
    )
    assert other["certificates"][0]["reason"] == "rule majority before, strict_majority now"
    assert other["judges"][0]["decided"] == 0
    changed = replace(held, parts={**(held.parts or {}), "model": "o3"}).save(folder / "changed.json")
    told = command("replay", folder / "plain", "--rule", "majority", "--certificate", changed, "--json").out
    [reason] = [one["reason"] for one in json.loads(told)["certificates"]]
    assert (reason.startswith("fingerprint "), " before, " in reason) == (True, True)


def test_a_log_apart_from_its_run_does_not_say_whether_a_certificate_holds(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate = certificate_of(command, folder, configured())
    log = folder / "apart.jsonl"
    log.write_bytes((folder / "plain" / "verdicts.jsonl").read_bytes())
    shown = command("replay", log, "--rule", "majority", "--certificate", certificate, "--json").out
    assert json.loads(shown)["certificates"][0]["status"] == "unverifiable"
    assert json.loads(shown)["judges"][0]["decided"] == 0
    assert len({row.run for row in read_log(log)}) == 1
    other = replace(Certificate.load(certificate), judge="somebody").save(folder / "other.json")
    ran = command("replay", log, "--rule", "majority", "--certificate", other)
    assert "is of judge 'somebody', the log of grade: certify that judge." in " ".join(ran.err.split())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"certificate": "none.json"}, "none.json cannot be read"),
        ({"certificate": ""}, "certificate"),
        ({"certificate": 3}, "certificate"),
        ({"certificate": "certificate.json", "harness": {"curtail": True}}, "of samples asked in full, these are"),
    ],
)
def test_one_that_cannot_be_used_is_refused_before_anything_is_asked(
    command: Command, folder: Path, configured: Callable[..., Path], written: dict[str, Any], said: str
) -> None:
    certificate_of(command, folder, configured())
    ran = command("run", configured(**written), "--out", folder / "never", "--yes")
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not (folder / "never").exists()


@pytest.mark.slow
def test_a_page_badges_a_certified_judge_and_shows_its_certificate_under_a_heading(
    command: Command, folder: Path, configured: Callable[..., Path]
) -> None:
    certificate = certificate_of(command, folder, configured())
    held = configured(name="held", certificate=str(certificate))
    assert command("run", held, "--out", folder / "held", "--yes").code == 0
    report = read_report(folder / "held")
    page = report.to_html()
    assert page.count('<span class="badge anchor-valid">certified</span>') == 2
    assert ">uncalibrated<" not in page
    assert "<h4>Certificate</h4><ul" in page
    assert "<li><bdi>people: " in page
    (section,) = report.judges
    expired = CalibrationState(status="expired", reason="prompt changed")
    lapsed = replace(section, certificates=tuple((one, expired) for one, _ in section.certificates))
    page = replace(report, judges=(lapsed,), created_at="2026-11-27T12:25:08.123456+00:00").to_html()
    assert page.count('<span class="badge anchor-none">not calibrated</span>') == 2
    assert ">certified<" not in page
    assert "begun <bdi>2026-11-27T12:25:08+00:00</bdi>" in page
