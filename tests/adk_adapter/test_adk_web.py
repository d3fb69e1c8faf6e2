"""The server behind `adk web`, one process for many evaluations, with our evaluators in the place of ADK's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient
from google.adk.cli.fast_api import get_fast_api_app
from support.adk_bench import (
    FINAL_RESPONSE,
    eval_set,
    in_turn,
    isolated_adk,
    judge_options,
    scripted_judge,
    write_agent_folder,
)
from support.adk_offline import known_warnings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _adk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with isolated_adk(tmp_path), known_warnings():
        yield


@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")  # ADK's server reads fields it deprecated itself
def test_the_web_server_evaluates_again_and_again(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path, extra="import judgeharness_adk\njudgeharness_adk.register()")
    folder.path.joinpath("weather_set.evalset.json").write_text(eval_set().model_dump_json(exclude_none=True))
    metric = {"metric_name": FINAL_RESPONSE, "threshold": 1.0, "criterion": judge_options("scripted-judge")}
    app = get_fast_api_app(agents_dir=str(folder.agents_dir), web=True)
    said: list[str] = []
    with scripted_judge(in_turn("yes", "yes", "no", "yes", "yes")) as judge, _client(app) as client:
        for _ in range(2):
            answer = client.post(
                f"/dev/apps/{folder.name}/eval-sets/weather_set/run",
                json={"eval_case_ids": ["case_0"], "eval_metrics": [metric]},
            )
            assert answer.status_code == 200, answer.text
            [case] = answer.json()["runEvalResults"]
            said += [row["rationale"] for row in _rows(case)]
        infos = client.get(f"/dev/apps/{folder.name}/metrics-info").json()["metricsInfo"]
    assert judge.calls == 10
    assert [text.splitlines()[0] for text in said] == [
        "4 PASS, 1 FAIL of 5 · supermajority(2/3) · consistency 0.80 · uncalibrated"
    ] * 2
    assert FINAL_RESPONSE in {info["metricName"] for info in infos}


def _client(app: Any) -> TestClient:
    return TestClient(app, base_url="http://127.0.0.1:8000", client=("127.0.0.1", 50_000))


def _rows(case: dict[str, Any]) -> list[dict[str, Any]]:
    overall = next(one for one in case["overallEvalMetricResults"] if one["metricName"] == FINAL_RESPONSE)
    rows: list[dict[str, Any]] = overall["details"]["rubricScores"]
    return rows
