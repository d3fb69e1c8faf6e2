"""What a run cost is right wherever it is shown: cached input, cache writes, tiers, and whose prices they are."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.rows import sampled

from judgeharness_integrations.analysis.spending import UsageSums
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.cli._asking import Asking, asked_tiers, input_of, money_notes, usage_before
from judgeharness_integrations.judging.cases import AnswerCase
from judgeharness_integrations.judging.config import Config
from judgeharness_integrations.judging.plan import Plan
from judgeharness_integrations.verdictlog import SqlLog, VerdictRow, write_log

JUDGES = """
from judgeharness_integrations.judging.judge import Answer, Judgment

def judgment(**changes):
    used = {"input_tokens": 2000, "output_tokens": 100, "cached_input_tokens": 1200} | changes
    return Judgment(answers=(Answer(verdict="PASS"),), model="gpt-4o-2024-08-06", **used)

def cached(case):
    return judgment()

def mixed(case):
    return judgment(service_tier="default" if case.case_id == "c0" else "flex")

def dear(case):
    return judgment(service_tier="priority")
"""
FULL = {"gpt-4o": {"input": 2.5, "output": 10}}
CACHED = {"gpt-4o": {"input": 2.5, "output": 10, "cached_input": 0.25}}
FLEX = {"gpt-4o": CACHED["gpt-4o"] | {"tiers": {"flex": {"input": 1.25, "output": 5, "cached_input": 0.125}}}}
AT_MOST = "gpt-4o-2024-08-06: cached input is billed at the full price, the most it can cost: add cached_input"

Command = Callable[..., Any]


@pytest.fixture
def config(folder: Path) -> Callable[..., Path]:
    (folder / "cli_judges.py").write_text(JUDGES)
    lines = [json.dumps({"case_id": f"c{n}", "input": "q" * 300, "output": "o" * 100}) for n in range(4)]
    (folder / "cases.jsonl").write_text("\n".join(lines))

    def write(judge: str = "cached", **execution: Any) -> Path:
        sys.modules.pop("cli_judges", None)
        document = {
            "judges": [{"name": "j", "callable": f"cli_judges:{judge}", "model": "gpt-4o"}],
            "cases": "cases.jsonl",
            "harness": {"perturbations": ["none"], "repetitions": 1, "aggregation_rule": "majority"},
            "execution": {"max_concurrency": 1, "max_attempts": 1, **execution},
        }
        path = folder / "config.json"
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.mark.slow
def test_a_cached_call_costs_what_it_costs_in_summary_list_and_report(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("run", config(prices=CACHED), "--out", folder / "out", "--json")
    assert ran.code == 0
    assert ran.json["usage"]["cost"] == pytest.approx(4 * 0.0033)
    assert (ran.json["usage"]["cached_input_tokens"], ran.json["usage"]["cost_remarks"]) == (4800, [])
    (listed,) = command("runs", folder / "out", "--json").json["runs"]
    assert (listed["cost"], listed["cached_input_tokens"]) == (pytest.approx(4 * 0.0033), 4800)
    out = command("report", folder / "out").out
    assert "tokens 8000 + 400 (4800 cached), cost 0.0132 by the prices given" in out
    markdown = folder / "report.md"
    assert command("report", folder / "out", "--markdown", markdown).code == 0
    assert "tokens 8000 + 400 &#40;4800 cached&#41;, cost 0.0132" in markdown.read_text()


def test_a_price_that_is_missing_is_said_where_the_cost_stands(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("run", config(prices=FULL), "--out", folder / "out")
    assert f"cost 0.0240 by the prices given ({AT_MOST})" in ran.out
    assert command("runs", folder / "out", "--json").json["runs"][0]["cost_remarks"] == [AT_MOST]
    assert f"cost 0.0240 by the prices given ({AT_MOST})" in command("report", folder / "out").out


@pytest.mark.slow
def test_every_tier_is_billed_by_itself_and_a_dear_one_is_not_taken_for_standard(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("run", config("mixed", prices=FLEX), "--out", folder / "mixed", "--json")
    assert ran.json["usage"]["cost"] == pytest.approx(0.0033 + 3 * 0.00165)
    dear = command("run", config("dear", prices=CACHED), "--out", folder / "dear", "--json")
    why = "gpt-4o-2024-08-06: tier 'priority' has no price: add it to tiers"
    assert (dear.json["usage"]["cost"], dear.json["usage"]["cost_remarks"]) == (None, [why])
    assert f"cost not known ({why})" in command("report", folder / "dear").out
    stopped = command("run", config("dear", prices=CACHED), "--out", folder / "kept", "--budget-cost", 1)
    assert stopped.code == 3
    assert f"--budget-cost cannot be kept: {why}" in stopped.err


@pytest.mark.slow
def test_a_budget_ends_by_what_cached_calls_cost_also_in_a_later_go(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    path = config(prices=CACHED)
    assert command("run", path, "--out", folder / "out", "--budget-cost", 0.0067).code == 3  # two calls of 0.0033
    with SqlLog(folder / "out" / "verdicts.sqlite") as log:
        assert len(list(log.rows())) == 2
    again = command("run", path, "--out", folder / "out", "--budget-cost", 0.014)
    assert "money: about 0.0066 for 2 calls of j (0.00330 a call, the mean of 2 earlier calls)" in again.out
    assert again.code == 0


@pytest.mark.slow
def test_runs_are_compared_with_their_costs(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    for name, prices in (("a", FULL), ("b", CACHED)):
        assert command("run", config(prices=prices), "--out", folder / name).code == 0
    told = command("compare", folder / "a", folder / "b").out
    assert f"j: before cost 0.0240 by the prices given ({AT_MOST}), 4 calls" in " ".join(told.split())
    (bills,) = command("compare", folder / "a", folder / "b", "--json").json["bills"]
    assert bills["after"]["cost"] == pytest.approx(4 * 0.0033)
    assert bills["after"]["usage"]["cached_input_tokens"] == 4800
    assert bills["before"]["cost_remarks"] == [AT_MOST]


@pytest.mark.slow
def test_a_table_prices_a_run_and_its_date_stands_beside_the_money(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    entry = {"input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5, "cache_read_input_token_cost": 2.5e-7}
    (folder / "table.json").write_text(json.dumps({"gpt-4o": entry}))
    os.utime(folder / "table.json", (1_795_000_000, 1_795_000_000))
    ran = command("run", config(prices_from="table.json", budget={"cost": 1}), "--out", folder / "out")
    said = "gpt-4o-2024-08-06: prices of table.json, file of 2026-11-18"
    assert f"cost 0.0132 by the prices given ({said})" in ran.out
    (listed,) = command("runs", folder / "out", "--json").json["runs"]
    assert (listed["cost"], listed["cost_remarks"]) == (pytest.approx(0.0132), [said])
    missing = command("run", config(prices_from="nowhere.json"), "--out", folder / "other")
    assert missing.code == 2
    assert "execution.prices_from: " in missing.err
    assert "nowhere.json cannot be read (No such file or directory)" in missing.err


@pytest.mark.slow
def test_the_plan_shows_money_before_the_first_call(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    ran = command("run", config(prices=CACHED), "--out", folder / "out")
    said = (
        "money: at least 0.0010 for 4 calls of j to read the texts of the cases (100 tokens a call, estimated at 4 "
        "bytes a token); its instructions and answers come on top, known after the first answers"
    )
    assert said in " ".join(ran.out.split())
    assert ran.out.index("money: at least") < ran.out.index("usage: 4 calls")
    fresh = command("run", config(prices=CACHED), "--out", folder / "out", "--new-run", "--fresh").out
    assert "money: about 0.0132 for 4 calls of j (0.00330 a call, the mean of 4 earlier calls)" in fresh
    assert "money: " not in command("run", config(), "--out", folder / "unpriced").out
    with SqlLog(folder / "out" / "verdicts.sqlite") as log:
        assert [len(usage_before(log, "j", model, ())) for model in (None, "openai:gpt-4o", "another")] == [1, 1, 0]


def test_what_is_not_known_before_the_first_answers_is_said() -> None:
    plan = Plan(cases=1, calls=1)
    prices = {"*": Price(input=1, output=1)}
    own_cases: list[object] = [{"a": "case of the caller's own kind"}]
    assert list(money_notes([Asking(judge="j", model="m", plan=plan)], prices, own_cases)) == [
        "money: not known for 1 call of j before its first answers: the texts of its cases are not known"
    ]
    [said] = money_notes([Asking(judge="j", model="m", plan=plan)], {"other": prices["*"]}, own_cases)
    assert said.endswith("the texts of its cases are not known")
    assert input_of([]) is None
    assert list(money_notes([Asking(judge="j", model="m", plan=plan)], {}, [])) == []


@pytest.mark.slow
def test_the_plan_command_takes_money_from_the_pilot_and_else_from_the_texts(
    command: Command, folder: Path, config: Callable[..., Path]
) -> None:
    path = config(prices=CACHED)
    used = {"model": "gpt-4o", "input_tokens": 2000, "output_tokens": 100, "cached_input_tokens": 1200}
    rows = [
        VerdictRow(case_id=f"c{n}", repetition=r, verdict="PASS" if (n + r) % 3 else "FAIL", **used)
        for n in range(12)
        for r in range(2)
    ]
    log = write_log(rows, folder / "pilot.jsonl")
    planned = command("plan", path, "--pilot", log, "--json").json
    assert planned["limits"]["price_per_call"] == pytest.approx(0.0033)
    assert planned["present"]["price"] == pytest.approx(4 * 0.0033)
    said = "money: 0.00330 a call, the mean of the pilot's 24 calls by the prices given"
    assert said in command("plan", path, "--pilot", log).out
    assert "money: at least 0.0003 for 1 call of j to read the texts" in " ".join(command("plan", path).out.split())
    assert command("plan", path, "--pilot", log, "--price", 0.5, "--json").json["limits"]["price_per_call"] == 0.5
    untold = [VerdictRow(case_id=f"c{n}", verdict="AB"[n % 2], model="m") for n in range(9)]
    silent = write_log(untold, folder / "silent.csv")
    assert "money: not known: m: 9 answers did not report their tokens" in command("plan", path, "--pilot", silent).out


def test_rows_and_the_database_sum_caches_and_tiers_alike(tmp_path: Path) -> None:
    rows = [
        row
        for n, tier in enumerate((None, "flex", "flex", "default"))
        for row in sampled(
            ["PASS"],
            case_id=f"c{n}",
            run="r",
            judge="j",
            model="m",
            input_tokens=100,
            output_tokens=10,
            cached_input_tokens=60,
            cache_write_tokens=n,
            service_tier=tier,
            attempts=1,
        )
    ]
    sums = UsageSums()
    for row in rows:
        sums.add([row])
    with SqlLog(tmp_path / "log.sqlite") as log:
        log.append(rows)
        found = log.usage("r")
    assert {used.service_tier: used.cache_write_tokens for used in found} == {None: 0, "flex": 3, "default": 3}
    by_tier = {used.service_tier: used for used in found}
    assert by_tier == {used.service_tier: used for used in sums.usages}
    assert by_tier["flex"].cached_input_tokens == 120


@pytest.mark.slow
def test_a_run_of_an_older_version_is_read(command: Command, folder: Path, config: Callable[..., Path]) -> None:
    out = folder / "out"
    command("run", config(prices=CACHED), "--out", out)
    new = ("cached_input_tokens", "cache_write_tokens", "cost_remarks")

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: without(part) for name, part in value.items() if name not in new}
        return [without(part) for part in value] if isinstance(value, list) else value

    summary = out / "summary.json"
    summary.write_text(json.dumps(without(json.loads(summary.read_text()))))
    results = out / "results.jsonl"
    results.write_text(
        "".join(json.dumps(without(json.loads(line))) + "\n" for line in results.read_text().splitlines())
    )
    with SqlLog(out / "verdicts.sqlite") as log:
        [record] = log.records()
        log.note(record.run, prices={"gpt-4o": [2.5, 10]})  # as older versions noted them
    assert "cost 0.0132 by the prices given" in command("report", out).out
    assert command("runs", out, "--json").json["runs"][0]["cost"] == pytest.approx(4 * 0.006)


@pytest.mark.parametrize(
    ("tier", "served", "each"),
    [
        ("standard", None, "0.00350"),
        ("standard", "batch", "0.00350"),
        ("flex", "batch", "0.00175"),
        ("batch", None, "0.00350"),
        ("flex", "default", "0.00350"),
        ("standard", "flex", "0.00350"),
        (None, "flex", "0.00175"),
    ],
)
def test_earlier_calls_are_billed_as_those_to_come(tier: str | None, served: str | None, each: str) -> None:
    sums = UsageSums()
    used = {"model": "gpt-4o", "input_tokens": 1000, "output_tokens": 100}
    sums.add([VerdictRow(case_id="a", judge="j", verdict="A", attempts=1, service_tier=served, **used)])
    prices = {"gpt-4o": Price.from_dict(FLEX["gpt-4o"])}
    asking = Asking(judge="j", model="gpt-4o", plan=Plan(cases=1, calls=1), before=sums.usages, tier=tier)
    assert each in next(money_notes([asking], prices, ()))


@pytest.mark.parametrize(("tier", "cost"), [("standard", "0.0025"), ("flex", "0.0013")])
def test_what_texts_cost_to_read_is_by_the_tier_that_is_asked(tier: str, cost: str) -> None:
    prices = {"gpt-4o": Price.from_dict(FLEX["gpt-4o"])}
    asking = Asking(judge="j", model="gpt-4o", plan=Plan(cases=1, calls=1), tier=tier)
    assert f"at least {cost}" in next(money_notes([asking], prices, [AnswerCase(case_id="a", output="x" * 4000)]))


def test_every_judge_is_asked_at_its_own_tier_or_by_batch() -> None:
    judge = {"adapter": "langchain", "evaluator": "LabelJudge", "model": "openai:m"}
    judges = [{"name": "a", **judge}, {"name": "b", **judge, "tier": "standard"}]
    config = Config.model_validate({"judges": judges, "harness": {"shape": "pairwise"}, "execution": {"tier": "flex"}})
    assert asked_tiers(config) == {"a": "flex", "b": "standard"}
    assert asked_tiers(config, "batch") == {"a": "batch", "b": "batch"}
