"""What a run spent counts in all its goes, in its summary and in the list of runs."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.spending import bill_of
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.cli.run_place import Spending, noting_spent
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.verdictlog import SqlLog
from judgeharness_integrations.verdictlog.sql import ModelUsage, RunRecord

JUDGES = """
import itertools, pathlib
from judgeharness_integrations.judging.judge import Answer, Judgment

def asked(case):
    path = pathlib.Path(__file__).with_name("asked")
    with path.open("a") as calls:
        calls.write(f"{case.case_id}\\n")
    return path.read_text().count("\\n")

def paid(case):
    if asked(case) % 3 == 0:
        raise ValueError("bad request")  # a row that names the configured model and no tokens
    answers = (Answer(verdict="PASS"),)
    return Judgment(answers=answers, model="gpt-4o-2024-08-06", input_tokens=1000, output_tokens=1000)

def silent(case):
    asked(case)
    return Judgment(answers=(Answer(verdict="PASS"),), model="gpt-4o")
"""
PRICES = {"gpt-4o": {"input": 2.5, "output": 10}}  # 0.0125 a call

Command = Callable[..., Any]


@pytest.fixture
def config(folder: Path) -> Callable[..., Path]:
    (folder / "cli_judges.py").write_text(JUDGES)
    lines = [json.dumps({"case_id": f"c{n}", "input": "q", "output": "o", "gold": "PASS"}) for n in range(30)]
    (folder / "cases.jsonl").write_text("\n".join(lines))
    (folder / "labels.jsonl").write_text("\n".join(lines[:4]))

    def write(judge: str = "paid", **changes: Any) -> Path:
        sys.modules.pop("cli_judges", None)
        design = {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"}
        document = {
            "judges": [{"name": "j", "callable": f"cli_judges:{judge}", "model": "gpt-4o"}],
            "cases": "cases.jsonl",
            "harness": design,
            "execution": {"max_concurrency": 1, "max_attempts": 1, "prices": PRICES},
        }
        path = folder / "config.json"
        path.write_text(json.dumps(document | changes))
        return path

    return write


def asked(folder: Path) -> int:
    path = folder / "asked"
    return path.read_text().count("\n") if path.exists() else 0


@pytest.mark.slow
def test_a_failed_call_does_not_make_a_run_forget_what_it_spent(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out = folder / "out"
    first = command("run", config(), "--out", out, "--budget-cost", 0.1)
    assert first.code == 3
    assert "budget of the whole run: 0.1 by the prices given" in first.out
    assert "--budget-cost=0.1 reached" in first.err
    calls = asked(folder)
    assert calls < 30
    again = command("run", config(), "--out", out, "--budget-cost", 0.1)
    assert (again.code, asked(folder)) == (3, calls)
    a_little_more = command("run", config(), "--out", out, "--budget-cost", 0.11)  # not enough for a call
    assert (a_little_more.code, asked(folder)) == (3, calls)
    summary = json.loads((out / "summary.json").read_text())
    (listed,) = command("runs", out, "--json").json["runs"]
    assert summary["usage"]["cost"] == pytest.approx(0.1)
    for name, value in summary["usage"].items():
        assert name == "rewrites" or listed[name] == value
    assert (summary["usage"]["input_tokens"], summary["usage"]["calls"]) == (8000, calls)


@pytest.mark.slow
def test_a_cost_that_is_not_known_is_refused_and_not_taken_for_nothing(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out = folder / "out"
    assert command("run", config("silent"), "--out", out, "--budget-calls", 3).code == 3
    for option in ("--budget-cost", "--budget-tokens"):
        ran = command("run", config("silent"), "--out", out, option, 1)
        assert (ran.code, asked(folder)) == (2, 3)
        assert "answers did not report their tokens; add what is missing or limit the calls instead" in ran.err
        assert "nothing was asked." in ran.err
    ran = command("run", config("silent", execution={}), "--out", out, "--budget-cost", 1)
    assert ran.code == 2
    assert "--budget-cost needs prices, per million tokens: add execution.prices to the configuration" in ran.err


@pytest.mark.slow
def test_the_name_of_a_run_that_is_out_of_budget_can_be_copied(
    command: Command, folder: Path, config: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "74")
    out = folder / "out"
    assert command("run", config(), "--out", out, "--budget-calls", 3).code == 3
    (listed,) = command("runs", out, "--json").json["runs"]
    assert listed["run"] in command("runs", out).out


def test_a_budget_no_larger_one_would_help_does_not_promise_so(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("run", config("silent"), "--out", folder / "out", "--budget-tokens", 10)
    assert ran.code == 3
    assert "--budget-tokens cannot be kept: an answer did not report its tokens; limit the calls instead." in ran.err
    assert "with a larger one" not in ran.err


@pytest.mark.slow
def test_attempts_that_left_no_row_count_in_the_next_go(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    out = folder / "out"
    assert command("run", config(), "--out", out, "--run", "r", "--budget-calls", 3).code == 3
    with SqlLog(out / "verdicts.sqlite") as log:
        log.note("r", state="running", attempts_spent=9)  # as a kill leaves it, six calls under way
    assert command("run", config(), "--out", out, "--budget-calls", 9).code == 3
    assert asked(folder) == 3
    assert command("run", config(), "--out", out, "--budget-calls", 11).code == 3
    assert asked(folder) == 5


def test_an_attempt_that_waits_for_a_batch_is_spent_by_whoever_goes_on() -> None:
    budget = Budget(max_calls=2)
    budget.take()
    budget.park(1)
    assert (budget.spent, budget.lasting) == (1, 0)
    budget.park(-1)
    assert (budget.spent, budget.lasting) == (1, 1)


def test_what_is_spent_is_noted_meanwhile(tmp_path: Path) -> None:
    record = RunRecord(run="r", state="running", created_at="2026", updated_at="2026", version="0")
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.begin(record)
        budget = Budget()
        with noting_spent(log, "r", budget, every_s=0.001):
            budget.take()
            deadline = threading.Event()
            for _ in range(1000):
                found = log.record("r")
                if found is not None and found.attempts_spent == 1:
                    break
                deadline.wait(0.01)
            else:
                pytest.fail("nothing was noted")
        with noting_spent(log, "unknown", budget, every_s=0.001):  # a log that cannot be written says so elsewhere
            budget.take()
            deadline.wait(0.05)
        with noting_spent(log, "r", None):
            assert all(thread.name != "judgeharness-spent" for thread in threading.enumerate())


@pytest.mark.slow
def test_calibrating_is_on_the_bill_of_summary_and_list(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    path = config(calibration={"labels": "labels.jsonl", "name": "lab", "source": "human"})
    ran = command("run", path, "--out", folder / "out", "--json")
    assert asked(folder) == 34
    (listed,) = command("runs", folder / "out", "--json").json["runs"]
    assert ran.json["usage"]["calls"] == listed["calls"] == 34
    assert ran.json["usage"]["cost"] == pytest.approx(23 * 0.0125)
    assert listed["cost"] == pytest.approx(23 * 0.0125)
    assert ran.json["judges"][0]["usage"] == ran.json["usage"]  # of the only judge
    again = command("run", path, "--out", folder / "out")
    assert "34 of 34 calls are answered" in again.out


@pytest.mark.slow
def test_the_plan_names_the_budget_and_judges_without_model(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    budget = {"calls": 4, "tokens": 100_000, "cost": 2}
    judges = [{"name": "j", "callable": "cli_judges:paid"}]
    path = config(execution={"budget": budget, "max_calls": 50, "prices": {"*": PRICES["gpt-4o"]}}, judges=judges)
    ran = command("run", path, "--out", folder / "out")
    assert "budget of the whole run: 4 calls, retries included, 100000 tokens, 2 by the prices given" in ran.out
    assert "j names no model, so no other run can reuse its answers; to allow that, add `model:`" in ran.out
    assert "budget.calls=4 reached" in ran.err
    changed = command("run", config(judges=judges, keep="hash"), "--out", folder / "out")
    assert "or start a new run with --new-run; nothing was asked." in changed.err


def one(**fields: Any) -> ModelUsage:
    common = {"judge": "j", "model": "gpt-4o-2024-08-06", "rows": 1, "cases": 1, "calls": 1, "made_calls": 1}
    return ModelUsage(**(common | fields))


PAID = one(attempts=1000, input_tokens=10**6, output_tokens=10**6, largest_input=9000, largest_output=1000)
PRICE = {"gpt-4o": Price(input=2.5, output=10)}


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ([PAID], 12.5),
        ([PAID, one(model="gpt-4o", attempts=1, errors=1)], 12.5),
        ([PAID, one(model="other", attempts=1, errors=1)], 12.5),
        ([PAID, one(model="other", input_tokens=1, output_tokens=1)], None),
        ([PAID, one(unpriced_calls=1)], None),
        ([], 0),
    ],
)
def test_a_budget_goes_on_from_a_cost_that_is_known(usage: list[ModelUsage], cost: float | None) -> None:
    limits: dict[str, Any] = {"planned": None, "calls": None, "tokens": None, "prices": PRICE}
    assert bill_of(usage, PRICE).cost == cost
    if cost is None:
        with pytest.raises(UsageError, match="the budget of cost cannot be kept, for what the run spent before is not"):
            Spending(**limits, cost=13.0).budget(usage)
        assert Spending(**limits, cost=None).budget(usage).cost is None
    else:
        assert Spending(**limits, cost=13.0).budget(usage).cost == cost


def test_a_run_goes_on_from_the_larger_count_of_attempts() -> None:
    spending = Spending(planned=9, calls=7, tokens=None, cost=None, prices={})
    budgets = [spending.budget([one(attempts=4)], spent=spent) for spent in (None, 3, 6)]
    assert [(budget.spent, budget.max_calls) for budget in budgets] == [(4, 7), (4, 7), (6, 7)]
