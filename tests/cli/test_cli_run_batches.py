"""`judgeharness run --engine batch`, and `runs`, on the loopback server."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from support.batch_server import BatchServer, Faults
from support.batched import CALLS, Batched, longer, pairs

from judgeharness_integrations._errors import BatchesOpenError
from judgeharness_integrations.cli import main
from judgeharness_integrations.cli._command import BATCHES_OPEN, OK, USAGE
from judgeharness_integrations.verdictlog import SqlLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("judgeharness_langchain")
pytestmark = pytest.mark.slow  # test_execution_batch runs by default
_COMMAND = "import sys; from judgeharness_integrations.cli import main; sys.exit(main(sys.argv[1:]))"
PRICE = {"input": 2.0, "output": 8.0, "tiers": {"batch": {"input": 1.0, "output": 4.0}}}


@pytest.fixture
def server() -> Iterator[BatchServer]:
    """Batches that are answered at the second look."""
    with BatchServer(longer, Faults(polls=2)) as started:
        yield started


@pytest.fixture
def run(tmp_path: Path, server: BatchServer) -> Callable[..., int]:
    """Runs a configuration of two judges by batch."""
    model = {"base_url": f"{server.url}/v1", "api_key": "sk-test-123456", "max_tokens": 50, "max_retries": 0}
    judge = {"adapter": "langchain", "evaluator": "PairwiseJudge", "model": "openai:gpt-4o", "model_options": model}
    config = {
        "judges": [{"name": name, **judge, "evaluator_options": {"output": "structured"}} for name in ("one", "two")],
        "cases": "cases.csv",
        "harness": {"preset": "standard", "shape": "pairwise"},
        "execution": {"prices": {"*": PRICE}, "engine": "batch", "batch": {"poll_s": 0.05}},
        "out": "out",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with (tmp_path / "cases.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ("case_id", "input", "output", "output_b"), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(asdict(case) for case in pairs(2))
    return lambda *more: main(["run", str(tmp_path / "config.json"), "--yes", *more])


def _runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    main(["runs", str(tmp_path / "out"), "--json"])
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    return dict(found)


def test_a_run_waits_for_its_batches(run: Callable[..., int], server: BatchServer) -> None:
    assert (run(), server.finish().total()) == (OK, 2 * 2 * CALLS)


def test_a_run_that_does_not_wait_ends_with_a_code_of_its_own(run: Callable[..., int], server: BatchServer) -> None:
    assert (run("--no-wait"), server.submits) == (BATCHES_OPEN, 2)


def test_a_run_that_did_not_wait_is_collected_by_the_same_command(
    run: Callable[..., int], server: BatchServer, tmp_path: Path
) -> None:
    run("--no-wait")
    run("--no-wait")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert (summary["state"], server.seen.count("create"), set(server.finish().values())) == ("complete", 2, {1})


def test_what_is_open_is_said_with_what_it_costs_at_most(
    run: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    run("--no-wait")
    said = capsys.readouterr().err
    assert "judge 'two': 1 batch open, 12 requests to answer; the same command collects them. What they cost is" in said


def test_runs_shows_batches_with_what_they_cost_at_most(
    run: Callable[..., int], server: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("--no-wait")
    one, two = _runs(tmp_path, capsys)["batches"]
    batches = list(server.batches.values())
    assert (one["batch"], one["state"], one["answered"], two["judge"]) == (batches[0].id, "open", 0, "two")
    assert one["cost_at_most"] >= 2 * CALLS * 50 * 4e-6


def test_runs_lists_batches_under_its_runs(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    capsys.readouterr()
    main(["runs", str(tmp_path / "out")])
    assert "collected" in capsys.readouterr().out.partition("batches")[2]


def test_runs_shows_batches_of_a_run_that_no_command_began(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Batched(tmp_path, faults=Faults(polls=10**6)) as one, pytest.raises(BatchesOpenError):
        one.results(terms={"wait": False})
    assert main(["runs", str(tmp_path / "verdicts.sqlite"), "--json"]) == OK
    (found,) = json.loads(capsys.readouterr().out)["runs"]
    assert (found["run"], [(batch["state"], batch["requests"]) for batch in found["batches"]]) == (
        "run",
        [("open", 4 * CALLS)],
    )
    assert main(["runs", str(tmp_path / "verdicts.sqlite")]) == OK
    assert "open" in capsys.readouterr().out.partition("batches")[2]


def test_a_batch_of_which_nothing_is_known_is_unknown(
    run: Callable[..., int], server: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.lost = 1
    run("--no-wait")
    assert [one["state"] for one in _runs(tmp_path, capsys)["batches"]] == ["unknown", "open"]


def test_a_run_that_is_killed_while_it_waits_spends_its_budget_of_calls_once(
    run: Callable[..., int], server: BatchServer, tmp_path: Path
) -> None:
    server.faults.polls = 10**6
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["judges"], config["execution"]["budget"] = config["judges"][:1], {"calls": 2 * CALLS}
    path.write_text(json.dumps(config))
    command = [sys.executable, "-c", _COMMAND, "run", str(path), "--yes"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:  # noqa: S603
        while "look" not in server.seen:
            time.sleep(0.05)
        time.sleep(1.2)  # what is spent is noted twice a second
        child.kill()
    server.faults.polls = 1
    assert (run(), set(server.finish().values())) == (OK, {1})


def test_batches_are_billed_at_their_tier(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    found = _runs(tmp_path, capsys)
    assert found["cost"] == pytest.approx(found["input_tokens"] * 1e-6 + found["output_tokens"] * 4e-6)


def test_what_a_cancelled_batch_had_answered_is_in_the_log(
    run: Callable[..., int], server: BatchServer, tmp_path: Path
) -> None:
    server.faults.polls = 10**6
    assert (run("--no-wait"), run("--cancel")) == (BATCHES_OPEN, BATCHES_OPEN)
    assert len((tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()) == 2 * CALLS


def test_a_run_until_its_gates_are_settled_is_not_asked_by_batch(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--until", "coverage>=0.5") == USAGE
    assert "use the engine local" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_what_open_batches_ask_is_not_asked_by_another_engine(
    run: Callable[..., int], server: BatchServer, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    run("--no-wait")
    capsys.readouterr()
    assert (run("--engine", engine), server.calls) == (USAGE, 0)
    assert "has 2 batches open with 24 requests to answer, which calls would pay for" in capsys.readouterr().err


def test_a_complete_run_is_read_by_any_engine(run: Callable[..., int], server: BatchServer) -> None:
    assert (run(), run("--engine", "local")) == (OK, OK)
    assert set(server.finish().values()) == {1}


def test_what_was_cancelled_is_asked_by_another_engine(run: Callable[..., int], server: BatchServer) -> None:
    server.faults.polls = 10**6
    run("--no-wait")
    run("--cancel")
    assert (run("--engine", "local"), server.calls) == (OK, 2 * 2 * CALLS)


def test_where_nothing_is_open_no_cost_is_unknown(
    run: Callable[..., int], server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.faults.polls = 10**6
    run("--no-wait")
    capsys.readouterr()
    run("--cancel")
    assert "What they cost" not in capsys.readouterr().err


def test_a_batch_is_asked_at_its_own_price_whatever_the_tier(
    run: Callable[..., int], server: BatchServer, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["execution"]["tier"] = "flex"
    path.write_text(json.dumps(config))
    assert run() == OK
    asked = [body.get("service_tier") for batch in server.batches.values() for body in batch.requests.values()]
    assert set(asked) == {None}
    assert "asked_tier" not in (tmp_path / "out" / "verdicts.jsonl").read_text()


@pytest.fixture
def changed(run: Callable[..., int], server: BatchServer, tmp_path: Path) -> str:
    """A run whose batches are open, and whose judges would ask something else today."""
    server.faults.polls = 10**6
    run("--no-wait")
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    config["judges"][0]["evaluator_options"] |= {"criteria": "which answer is kinder"}
    path.write_text(json.dumps(config))
    with SqlLog(tmp_path / "out" / "verdicts.sqlite") as log:
        return log.records()[-1].run


def _cancel(tmp_path: Path, run: str) -> int:
    return main(["runs", str(tmp_path / "out"), "--cancel", run])


def test_a_changed_configuration_is_told_how_to_cancel_what_is_open(
    run: Callable[..., int], changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("--cancel") == USAGE
    said = capsys.readouterr().err
    assert f"has 2 batches open with 24 requests to answer (`judgeharness runs --cancel {changed}`" in said


def test_batches_are_cancelled_whatever_the_judges_would_ask_today(
    changed: str,
    server: BatchServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert (_cancel(tmp_path, changed), server.seen.count("cancel")) == (OK, 2)
    assert {one["state"] for one in _runs(tmp_path, capsys)["batches"]} == {"collected"}


@pytest.fixture
def undone(changed: str, server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was open is cancelled, and the configuration as it was."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    _cancel(tmp_path, changed)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["judges"][0]["evaluator_options"]["criteria"]
    path.write_text(json.dumps(config))


@pytest.mark.usefixtures("undone")
def test_answers_of_cancelled_batches_become_rows_of_the_run_as_it_was(
    run: Callable[..., int], server: BatchServer
) -> None:
    server.faults.polls = 1
    assert run() == OK
    assert set(server.finish().values()) == {1}


@pytest.mark.usefixtures("undone")
def test_answers_that_no_row_has_are_not_paid_for_again_by_another_engine(
    run: Callable[..., int], server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    calls = server.calls
    assert (run("--engine", "local"), server.calls) == (USAGE, calls)
    said = capsys.readouterr().err
    assert "has 12 answers of batches that no row has yet, which calls would pay for once more" in said


def test_a_key_does_not_go_where_a_log_says(
    changed: str,
    server: BatchServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert _cancel(tmp_path, changed) == USAGE
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert (_cancel(tmp_path, changed), server.seen.count("cancel")) == (USAGE, 0)
    said = capsys.readouterr().err
    assert "set OPENAI_API_KEY, with which the batches at" in said
    assert f"the batches are at {server.url}/v1, and OPENAI_API_KEY is for https://api.openai.com/v1/" in said


def test_a_run_without_open_batches_has_none_to_cancel(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    capsys.readouterr()
    assert _cancel(tmp_path, "nobody") == USAGE
    assert "no batch of run nobody is open" in capsys.readouterr().err


def test_rows_that_are_imported_leave_their_batches_behind(
    run: Callable[..., int], server: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = str(tmp_path / "moved.sqlite")
    server.faults.polls = 10**6
    for more in ("--no-wait", "--cancel", "--no-wait"):
        run(more)
    capsys.readouterr()
    assert main(["log", "import", str(tmp_path / "out" / "verdicts.sqlite"), "--log", moved]) == OK
    said = capsys.readouterr().err
    assert "has 2 batches open with 12 requests to answer in" in said
    assert "which do not come along: collect or cancel them there" in said


def test_a_new_run_beside_open_batches_is_told_that_they_are_billed(
    run: Callable[..., int], changed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("--new-run", "--no-wait") == BATCHES_OPEN
    assert f"run {changed} has 2 batches open with 24 requests to answer" in capsys.readouterr().out.replace("\n", " ")
