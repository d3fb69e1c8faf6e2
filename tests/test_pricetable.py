"""LiteLLM's price table is read from its file; LiteLLM is never imported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.analysis.usage import Price
from judgeharness_integrations.judging.config import load_config
from judgeharness_integrations.judging.tiers import prices_from_litellm, prices_of

TABLE: dict[str, Any] = {
    "sample_spec": {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0},
    "gpt-4o": {
        "input_cost_per_token": 2.5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
        "input_cost_per_token_batches": 1.25e-06,
        "output_cost_per_token_batches": 5e-06,
        "input_cost_per_token_priority": 4.25e-06,
        "output_cost_per_token_priority": 1.7e-05,
        "cache_read_input_token_cost_priority": 2.125e-06,
        "input_cost_per_token_flex": 1e-06,  # without that of output: no price
    },
    "gpt-4o-2024-05-13": {"input_cost_per_token": 5e-06, "output_cost_per_token": 1.5e-05},
    "gpt-4o-mini": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07},
    "azure/gpt-4o": {"input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06},
    "claude": {
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "cache_read_input_token_cost": 3e-07,
        "cache_creation_input_token_cost": 3.75e-06,
        "input_cost_per_token_above_200k_tokens": 6e-06,
    },
    "whisper": {"input_cost_per_second": 0.0001},
    "odd": "not an object",
}
DAY = datetime(2026, 11, 20, 12, tzinfo=UTC)
SOURCE = "prices.json, file of 2026-11-20"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(TABLE))
    os.utime(path, (DAY.timestamp(), DAY.timestamp()))
    return path


def test_a_model_is_found_with_its_snapshots_tiers_and_cache_and_says_where_from(table: Path) -> None:
    assert prices_from_litellm(table, models=["openai:gpt-4o"]) == {
        "gpt-4o": Price(
            input=2.5,
            output=10,
            cached_input=1.25,
            tiers={
                "batch": Price(input=1.25, output=5),
                "priority": Price(input=4.25, output=17, cached_input=2.125),
            },
            source=SOURCE,
        ),
        "gpt-4o-2024-05-13": Price(input=5, output=15, source=SOURCE),
    }
    assert prices_from_litellm(table, models=["azure/gpt-4o"])["azure/gpt-4o"].input == 9


def test_prices_by_length_are_not_read_and_the_source_says_so(table: Path) -> None:
    assert prices_from_litellm(table, models=["claude"]) == {
        "claude": Price(
            input=3, output=15, cached_input=0.3, cache_write=3.75, source=f"{SOURCE}, for prompts up to 200k tokens"
        )
    }


@pytest.mark.parametrize("model", ["whisper", "odd", "unheard-of"])
def test_a_model_without_prices_is_a_sentence(table: Path, model: str) -> None:
    with pytest.raises(UsageError, match=f"{SOURCE} has no price for model '{model}': give one yourself"):
        prices_from_litellm(table, models=[model])


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "is no price table: LiteLLM's is an object of models.")],
)
def test_a_file_that_is_no_table_is_a_sentence(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "table.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=problem):
        prices_from_litellm(path, models=["gpt-4o"])


@pytest.mark.slow
def test_the_installed_table_is_read_without_importing_litellm() -> None:
    code = (
        "import sys; from judgeharness_integrations.judging.tiers import prices_from_litellm as p; "
        "found = p(models=['gpt-4o']); assert 'litellm' not in sys.modules; print(found['gpt-4o'].source)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert told.stdout.startswith("LiteLLM ")
    assert ", file of 20" in told.stdout


def test_a_table_whose_version_is_not_known_is_told_by_name_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    assert prices_from_litellm(models=["gpt-4o"])["gpt-4o"].source != "LiteLLM"

    def unknown(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("judgeharness_integrations.judging.tiers.version", unknown)
    source = prices_from_litellm(models=["gpt-4o"])["gpt-4o"].source
    assert re.fullmatch(r"LiteLLM, file of 20\d\d-\d\d-\d\d", str(source))


def test_without_litellm_the_path_of_a_table_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judgeharness_integrations.judging.tiers.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="no price table of LiteLLM is installed: pip install litellm, or give"):
        prices_from_litellm(models=["gpt-4o"])


def config(folder: Path, *models: str | None, **execution: Any) -> Any:
    judges = [{"name": f"j{n}", "callable": "m:f", "model": model} for n, model in enumerate(models)]
    document = {"judges": judges, "harness": {"shape": "any"}, "execution": execution}
    path = folder / "run.json"
    path.write_text(json.dumps(document))
    return load_config(path)


def test_the_users_own_numbers_win_model_by_model(table: Path) -> None:
    own = {"gpt-4o": {"input": 1, "output": 1, "tiers": {"flex": {"input": 0.5, "output": 0.5}}}}
    found = prices_of(config(table.parent, "gpt-4o", "claude", None, prices=own, prices_from="prices.json"))
    assert set(found) == {"gpt-4o", "claude"}  # not the table's price of a snapshot either
    assert found["gpt-4o"] == Price(input=1, output=1, tiers={"flex": Price(input=0.5, output=0.5)})
    assert found["claude"].cache_write == 3.75
    assert prices_of(config(table.parent, "gpt-4o", "unheard-of")) == {}


def test_a_model_that_neither_prices_is_refused_with_the_files_name(table: Path) -> None:
    with pytest.raises(ConfigError, match=r"run.json: execution.prices_from: prices.json.* model 'mine': give one"):
        prices_of(config(table.parent, "mine", prices_from="prices.json"))
    any_other = {"*": {"input": 0, "output": 0}}
    assert set(prices_of(config(table.parent, "mine", prices=any_other, prices_from="prices.json"))) == {"*"}


def test_a_budget_of_money_may_stand_on_a_table(table: Path) -> None:
    assert config(table.parent, "gpt-4o", budget={"cost": 1}, prices_from="prices.json").execution.budget.cost == 1
