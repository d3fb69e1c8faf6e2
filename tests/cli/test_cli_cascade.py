"""`certify --cascade`, `run` with the key `cascade`, `replay`: judges asked in turn, and what is left for people."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.judges_in_turn import CHEAP, STRONG, case_file, configured, labelled, waiting_cases

from judgeharness_integrations.analysis.certifying.cascade import Cascade, cascade_log
from judgeharness_integrations.cli import main
from judgeharness_integrations.judging.cases import read_cases
from judgeharness_integrations.verdictlog import read_log, write_log

CASES = waiting_cases("easy hard easy hard hard easy" + " torn" * 6)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of both judges on labels, and the cascade certified on it."""
    folder = tmp_path_factory.mktemp("cascade")
    case_file(labelled(), folder / "labels.jsonl")
    base = configured(folder, "base", cases="labels.jsonl")
    assert main(["run", str(base), "--out", str(folder / "base"), "--yes"]) == 0
    assert main([*_certify(folder), "--out", str(folder / "cascade.json")]) == 0
    return folder


def _certify(folder: Path, *more: str) -> list[str]:
    options = ["--cascade", "cheap,strong,people", "--config", str(folder / "base.json"), "--source", "human"]
    return ["certify", str(folder / "base"), *options, *more]


def run(folder: Path, out: Path, **changes: Any) -> int:
    case_file(CASES, folder / "cases.jsonl")
    keys = {"cases": "cases.jsonl", "certificate": "cascade.json", "cascade": ["cheap", "strong", "people"]} | changes
    config = configured(folder, f"cascade-{out.name}", **{name: one for name, one in keys.items() if one is not None})
    return main(["run", str(config), "--out", str(out), "--yes"])


def summary(out: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((out / "summary.json").read_text())
    return document


def test_a_cascade_is_saved_with_the_fingerprints_of_its_judges(certified: Path) -> None:
    cascade = Cascade.load(certified / "cascade.json")
    assert [step.certificate.parts["model"] for step in cascade.steps] == ["cheap-model-1", "strong-model-1"]  # type: ignore[index]
    assert cascade.granted


def test_certifying_says_each_step_and_the_price_of_a_decision(
    certified: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_certify(certified)) == 0
    told = capsys.readouterr().out
    assert "step 1: cheap, rule majority" in told
    first, following, *_ = told.splitlines()
    promise = "decided cases agree with their labels at least 90 % of the time, with 90 % confidence"
    assert first == f"cheap, then strong: 2 of 2 steps are certified: {promise}"
    assert following.startswith(f"next: judgeharness certify {certified / 'base'} --config ")
    assert "--out cascade.json" in following
    assert "step 2: strong, rule majority" in told
    assert "certified: decided cases agree with their labels at least 90 % of the time, with 90 % confidence" in told
    assert "price of a decision: " in told
    assert "/ 300 decisions" in told


def test_a_cascade_that_is_kept_says_what_its_configuration_needs(
    certified: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_certify(certified, "--out", str(certified / "cascade.json"))) == 0
    _, put, asks, following, *_ = capsys.readouterr().out.splitlines()
    base = certified / "base.json"
    assert put == f"- put `certificate: cascade.json` into {base}: later runs stand on it"
    assert asks == "- put `cascade: [cheap, strong, people]` beside it: its judges are asked in turn"
    assert following == f"next: judgeharness run {base}"
    bare = [one for one in _certify(certified) if one not in ("--config", str(base))]
    assert main(bare) == 0
    assert "next: " not in capsys.readouterr().out


@pytest.mark.slow
def test_certifying_prints_the_document(certified: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_certify(certified, "--json")) == 0
    assert Cascade.from_dict(json.loads(capsys.readouterr().out)).certificates.keys() == {"cheap", "strong"}


def test_a_cascade_that_nobody_is_certified_for_is_not_saved(
    certified: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = certified / "refused.json"
    assert main(_certify(certified, "--agreement", "0.999", "--out", str(out))) == 1
    told = capsys.readouterr().out
    assert "cheap, then strong: refused, as no step is certified and every case would wait for people\n" in told
    assert "next: " not in told
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--judge", "cheap"], "give --judge or --cascade, not both"),
        (["--rule", "majority"], "give --rule or --config, not both"),
        (["--criterion", "tone"], "unknown criterion 'tone'"),
        (["--run", "nobody"], "nobody"),
    ],
)
def test_what_cannot_be_certified_is_one_sentence(
    certified: Path, more: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_certify(certified, *more)) == 2
    assert problem in capsys.readouterr().err


def test_a_dearer_judge_before_a_cheaper_one_is_refused(certified: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [one if one != "cheap,strong,people" else "strong,cheap" for one in _certify(certified)]
    assert main(arguments) == 2
    assert "asks 'strong' before 'cheap', which costs less: put the cheapest judge first" in capsys.readouterr().err


def test_a_criterion_goes_with_a_cascade(certified: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certify", str(certified / "base"), "--criterion", "verdict", "--source", "human"]) == 2
    assert "--criterion goes with --cascade" in capsys.readouterr().err


def test_the_strong_judge_is_asked_about_what_the_cheap_one_leaves(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(certified, tmp_path / "out") == 0
    told, made = capsys.readouterr().out, summary(tmp_path / "out")["cascade"]
    cheap, strong = made["steps"]
    assert (cheap["reached"], strong["reached"]) == (len(CASES), len(CASES) - cheap["decided"])
    assert strong["calls"] == 6 * strong["reached"] < 6 * len(CASES)
    assert made["cost"] == pytest.approx((cheap["calls"] + 20 * strong["calls"]) * 110 / 1e6)
    assert made["decided"] + made["left"] == len(CASES)
    assert f"decisions), {made['cost_per_decision']:.3g} in money" in told


def test_cases_that_no_judge_decides_are_a_queue_that_people_label(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(certified, out) == 0
    queue = out / "queue.jsonl"
    waiting = [case.case_id for case in read_cases(queue)]
    results = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    told = {one["case_id"]: one["criteria"]["verdict"] for one in results if one.get("waits")}
    assert waiting == [case.case_id for case in CASES if case.case_id in told]
    assert len(waiting) == summary(out)["cascade"]["left"] > 0
    assert {one["status"] for one in told.values()} == {"abstained"}
    assert all(one["reason"].endswith("it waits for people") for one in told.values())
    capsys.readouterr()
    assert main(["label", str(queue), "--annotator", "ann", "--sheet", str(tmp_path / "sheet.csv")]) == 0
    assert f"{len(waiting)} questions are in" in capsys.readouterr().out


def test_without_people_there_is_no_queue(certified: Path, tmp_path: Path) -> None:
    assert run(certified, tmp_path / "out", cascade=["cheap", "strong"]) == 0
    assert not (tmp_path / "out" / "queue.jsonl").exists()


def test_the_same_command_again_asks_nobody_and_says_the_same(certified: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(certified, out) == 0
    before, queue, rows = summary(out), (out / "queue.jsonl").read_text(), len(read_log(out / "verdicts.jsonl"))
    assert run(certified, out) == 0
    assert summary(out)["cascade"] == before["cascade"]
    assert ((out / "queue.jsonl").read_text(), len(read_log(out / "verdicts.jsonl"))) == (queue, rows)


def test_the_log_of_a_run_is_replayed_as_its_cascade(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(certified, out) == 0
    capsys.readouterr()
    assert main(["replay", str(out), "--rule", "majority", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cascade"] == summary(out)["cascade"]
    saved = ["--cascade", str(certified / "cascade.json")]
    assert main(["replay", str(out / "verdicts.jsonl"), "--rule", "majority", *saved]) == 0
    assert "steps, in the order they are asked" in capsys.readouterr().out
    assert main(["replay", str(out), "--rule", "majority", "--judge", "cheap", "--json"]) == 0
    assert "cascade" not in json.loads(capsys.readouterr().out)
    assert main(["replay", str(out), "--rule", "strict_majority"]) == 2
    assert "the cascade was certified under rule majority" in capsys.readouterr().err


def test_a_report_of_a_cascade_reads_each_certificate(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(certified, out) == 0
    capsys.readouterr()
    assert main(["report", str(out), "--json"]) == 0
    judges = json.loads(capsys.readouterr().out)["judges"]
    assert {one["judge"] for one in judges} == {"cheap", "strong"}


def test_a_report_of_a_cascade_has_the_price_of_a_decision_in_every_format(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, pages = tmp_path / "out", [tmp_path / "page.html", tmp_path / "page.md"]
    assert run(certified, out) == 0
    capsys.readouterr()
    assert main(["report", str(out), "--html", str(pages[0]), "--markdown", str(pages[1])]) == 0
    shown = [capsys.readouterr().out, *(page.read_text() for page in pages)]
    assert [one.count("price of a decision: ") for one in shown] == [1, 1, 1]
    assert main(["report", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cascade"] == summary(out)["cascade"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"certificate": None}, "a cascade needs certificates: certify its judges with judgeharness certify LOG"),
        ({"cascade": ["cheap", "dear"]}, "cascade names 'dear', and the judges are cheap, strong"),
        ({"cascade": ["cheap"]}, "cascade names two judges or more, each of them once"),
        ({"cascade": ["cheap", "people"]}, "cascade names two judges or more, each of them once"),
        ({"cascade": ["cheap", "cheap"]}, "cascade names two judges or more, each of them once"),
        ({"cascade": ["people", "cheap", "strong"]}, "cascade names 'people', and the judges are cheap, strong"),
        ({"cascade": ["strong", "cheap"]}, "certified for cheap, strong, in that order, not for strong, cheap"),
        ({"passport": "passport.json"}, "a cascade decides by its certificates: leave passport out"),
        ({"panel": ["cheap", "strong"]}, "give cascade or panel, not both"),
    ],
)
def test_a_cascade_that_cannot_be_asked_is_one_sentence(
    certified: Path, tmp_path: Path, changes: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(certified, tmp_path / "out", **changes) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


def test_the_certificate_of_one_judge_is_no_cascade(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = Cascade.load(certified / "cascade.json").steps[0]
    (certified / "one.json").write_text(json.dumps(step.certificate.to_dict()))
    assert run(certified, tmp_path / "out", certificate="one.json") == 2
    assert "not a cascade of schema judgeharness.cascade/1" in capsys.readouterr().err


def test_a_cascade_leaves_no_judge_out(certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three = [{"name": name, "callable": "support.judges_in_turn:CHEAP"} for name in ("cheap", "strong", "third")]
    assert run(certified, tmp_path / "out", judges=three) == 2
    assert "cascade leaves out the judge 'third': name it there, or take it out of judges" in capsys.readouterr().err


def test_another_model_behind_a_step_is_refused_before_anything_is_asked(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swapped = [
        {"name": one.name, "callable": f"support.judges_in_turn:{other.name.upper()}"}
        for one, other in ((CHEAP, STRONG), (STRONG, CHEAP))
    ]
    assert run(certified, tmp_path / "out", judges=swapped) == 2
    assert "the certificate of 'cheap' on base is expired: judge, model changed" in capsys.readouterr().err


def half_certified(folder: Path) -> str:
    """Write the cascade with its second step refused, and return the name of the file."""
    saved = json.loads((folder / "cascade.json").read_text())
    [selection] = saved["steps"][1]["selections"]
    [tested] = selection["steps"]
    tested |= {"wrong": tested["labelled"], "p": 1.0}
    refusal = {"reason": "all of them disagree", "labels": None, "votes": None}
    selection |= {"threshold": None, "covered": 0, "refusal": refusal}
    (folder / "half.json").write_text(json.dumps(saved))
    return "half.json"


def test_a_step_that_was_refused_is_not_asked(certified: Path, tmp_path: Path) -> None:
    assert run(certified, tmp_path / "out", certificate=half_certified(certified)) == 0
    assert {row.judge for row in read_log(tmp_path / "out" / "verdicts.jsonl")} == {"cheap"}


def test_a_cascade_with_a_refused_step_is_replayed_as_it_ran(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(certified, out, certificate=half_certified(certified)) == 0
    capsys.readouterr()
    assert main(["replay", str(out), "--rule", "majority", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cascade"] == summary(out)["cascade"]


def test_a_cascade_does_not_end_at_a_gate(certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(certified, tmp_path / "first") == 0
    config = str(certified / "cascade-first.json")
    asked = ["run", config, "--out", str(tmp_path / "out"), "--yes", "--until", "pass_rate >= 0.1"]
    assert main(asked) == 2
    assert "--until looks at one judge after the other" in capsys.readouterr().err


def test_a_run_that_its_budget_ends_says_of_no_case_that_it_waits_for_people(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = {"cheap-model-1": {"input": 1, "output": 1}, "strong-model-1": {"input": 20, "output": 20}}
    assert run(certified, tmp_path / "out", execution={"prices": prices, "budget": {"cost": 0.01}}) == 3
    assert not (tmp_path / "out" / "queue.jsonl").exists()
    assert "for people" not in capsys.readouterr().out


def test_a_cascade_that_knows_no_models_decides_no_log(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = json.loads((certified / "cascade.json").read_text())
    for step in unknown["steps"]:
        step |= {"parts": None, "fingerprint": None}
    (tmp_path / "unknown.json").write_text(json.dumps(unknown))
    saved = ["--cascade", str(tmp_path / "unknown.json")]
    assert main(["replay", str(certified / "base"), "--rule", "majority", *saved]) == 2
    assert "certified without --config, so that nobody can tell which 'cheap'" in capsys.readouterr().err


def _limited(folder: Path, out: Path, capsys: pytest.CaptureFixture[str], calls: int) -> str:
    """Run the cascade with a budget of calls; return what was said on standard error."""
    assert run(folder, out, execution={"budget": {"calls": calls}}) == 3
    return capsys.readouterr().err


def test_most_calls_refuse_a_cascade_by_its_worst_case_and_name_the_budget(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(certified, tmp_path / "out", execution={"max_calls": 100}) == 2
    told = capsys.readouterr().err
    assert "144 calls where every case goes all the way up the cascade, more than max_calls=100" in told
    assert "give budget.calls (--budget-calls)" in told


def test_a_replay_names_the_budget_that_ended_a_run_and_no_other_design(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, saved = tmp_path / "out", ["--cascade", str(certified / "cascade.json")]
    _limited(certified, out, capsys, 75)
    assert main(["replay", str(out), "--rule", "majority", *saved]) == 0
    told = capsys.readouterr().out
    assert "the run ended early: budget.calls=75 reached; with a larger budget the same command goes on" in told
    assert "before, 1 now" not in told
    assert "strong: certificate: base: unverifiable: no case was asked in full before the run ended early" in told


def test_a_replay_says_that_a_budget_ended_the_run_before_a_judge_was_asked(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, saved = tmp_path / "out", ["--cascade", str(certified / "cascade.json")]
    assert "asking ended before 'strong' was asked" in _limited(certified, out, capsys, 7)
    assert main(["replay", str(out), "--rule", "majority", *saved]) == 2
    told = capsys.readouterr().err
    assert "the run ended early (budget.calls=7 reached), before 'strong' was asked" in told


def test_a_judge_that_is_not_in_a_log_is_unknown_where_no_budget_ended_it(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in read_log(certified / "base" / "verdicts.jsonl") if row.judge == "cheap"]
    log = write_log(rows, tmp_path / "cheap.jsonl")
    assert main(["replay", str(log), "--rule", "majority", "--cascade", str(certified / "cascade.json")]) == 2
    assert "unknown judge 'strong'" in capsys.readouterr().err


def test_answers_that_do_not_name_their_model_are_decided_by_no_cascade(
    certified: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [replace(row, model=None) for row in read_log(certified / "base" / "verdicts.jsonl")]
    log, saved = write_log(rows, tmp_path / "unnamed.jsonl"), certified / "cascade.json"
    assert main(["replay", str(log), "--rule", "majority", "--cascade", str(saved)]) == 2
    assert "answers of 'cheap' do not name the model they came from" in capsys.readouterr().err
    report = cascade_log(rows, Cascade.load(saved))
    assert (report.decided, len(report.left)) == (0, report.cases)
