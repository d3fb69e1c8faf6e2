"""`judgeharness run` and `calibrate` with LangChain judges over a real client and a loopback server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.extras import needs
from support.openai_server import OpenAIServer, Reply, Request, longer_wins

from judgeharness_integrations.verdictlog import read_log

pytestmark = needs("langchain_classic")

Command = Callable[..., Any]
Serve = Callable[..., OpenAIServer]
CASES = """case_id,input,output,output_b,gold
c1,q,a much longer answer,short,A
c2,q,short,a much longer answer,B
c3,q,the longest of all the answers,tiny,A
"""


def script(request: Request) -> Reply:
    """LangChain's evaluator gets a judge by length; ours, which asks for structured output, one by position."""
    if request.response_format or request.tools:
        return Reply.json({"reasoning": "shown first", "verdict": "A"})
    return longer_wins(request)


def write_config(folder: Path, server: OpenAIServer) -> Path:
    (folder / "pairs.csv").write_text(CASES)
    path = folder / "run.yaml"
    options = f"{{base_url: '{server.url}/v1', api_key: sk-loopback, max_retries: 0}}"
    path.write_text(
        f"""
judges:
  - name: by length
    adapter: langchain
    evaluator: pairwise_string
    model: openai:gpt-4o
    model_options: {options}
  - name: by position
    adapter: langchain
    evaluator: PairwiseJudge
    model: openai:gpt-4o-mini
    model_options: {options}
cases: pairs.csv
harness: {{shape: pairwise, preset: quick}}
execution: {{max_concurrency: 2, max_attempts: 1}}
"""
    )
    return path


def test_two_langchain_judges_end_to_end(command: Command, tmp_path: Path, openai_server: Serve) -> None:
    server = openai_server(script)
    ran = command("run", write_config(tmp_path, server), "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    assert server.calls == 12
    length, position = ran.json["judges"]
    assert (length["criteria"][0]["decided"], length["criteria"][0]["accuracy"]) == (3, 1.0)
    assert length["model"] == "gpt-4o"
    assert length["usage"]["input_tokens"] > 0
    assert (position["criteria"][0]["abstained"], position["criteria"][0]["first_slot_rate"]) == (3, 1.0)
    rows = read_log(tmp_path / "out" / "verdicts.jsonl")
    assert len(rows) == 12
    assert len({row.run for row in rows}) == 1
    for file in (tmp_path / "out").iterdir():
        assert b"sk-loopback" not in file.read_bytes()


def test_a_langchain_judge_is_calibrated_and_the_calibration_holds(
    command: Command, tmp_path: Path, openai_server: Serve
) -> None:
    config, saved = write_config(tmp_path, openai_server(script)), tmp_path / "cal.json"
    labels = tmp_path / "pairs.csv"
    ran = command("calibrate", "--source", "human", config, "--labels", labels, "--out", saved, "--judge", "by length")
    assert ran.code == 0, ran.err
    assert re.search(r"precision +1\.000", ran.out)
    config.write_text(config.read_text() + f"calibration: {json.dumps(str(saved))}\n")
    judges = command("run", config, "--out", tmp_path / "out", "--json").json["judges"]
    assert [judge["calibration"]["status"] for judge in judges] == ["valid", "expired"]
