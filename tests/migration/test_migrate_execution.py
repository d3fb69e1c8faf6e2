"""Real suites, run before and after the command against a loopback server: same verdicts, and the calls it promised."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.extras import needs
from support.openai_replies import Reply, Request
from support.openai_server import OpenAIServer, longer_wins

from judgeharness_integrations.cli import main
from judgeharness_integrations.migration.rewriting import migrated

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.slow, needs("langchain_openai", "openevals")]

SUITES = Path(__file__).parents[1] / "data" / "migrated_judges"
NAMES = ("langchain_criteria", "langchain_pairwise", "langchain_scores", "langsmith_experiment", "openevals_scores")
ASKED = {  # questions each judge of a suite is asked
    "langchain-criteria": 2,
    "langchain-pairwise": 3,
    "langchain-scores": 2,
    "langsmith-experiment": 2,
    "openevals-scores": 2,
}
# each suite in turn, what it prints as a line of JSON
RUNNER = """
import contextlib, io, json, runpy, sys
for path in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(path, run_name="__main__")
    print("VERDICTS", json.dumps([path.rpartition("/")[2], json.loads(printed.getvalue().splitlines()[-1])]))
"""


def judge(request: Request) -> Reply:
    """Every judge of the suites: the longer of two, and whether an answer is short, with no eye for its formatting."""
    if "[The Start of Assistant A's Answer]" in request.user:
        return longer_wins(request)
    words = len(re.sub(r"[*#_>`-]", " ", request.text.rpartition("Answer:")[2] or request.text).split())
    if request.model == "langchain-scores":
        return Reply.text(f"It has its length. Rating: [[{4 if 'Four' in request.user else 7}]]")
    if request.model == "langchain-criteria":
        short = "as far as anybody" not in request.text
        graded = "GRADE:" in request.text
        return Reply.text("GRADE: CORRECT" if graded and short else "GRADE: INCORRECT" if graded else "YN"[not short])
    wanted = json.dumps([request.response_format, request.tools])
    short = words < 5
    score: Any = short if '"boolean"' in wanted else (1.0 if short else 0.5) if '"enum"' in wanted else 1 / words
    return Reply.json({"reasoning": "I counted.", "score": score})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], Counter[str]]]:
    """Level -> what each suite printed, and the requests each suite's model got."""
    found: dict[str, tuple[dict[str, Any], Counter[str]]] = {}
    with OpenAIServer(judge, keep_alive=False) as server:  # each suite has an event loop of its own
        for level in ("before", "single", "measured"):
            folder = tmp_path_factory.mktemp(level)
            for name in NAMES:
                shutil.copy(SUITES / f"{name}.py", folder)
            if level != "before":
                assert main(["migrate", str(folder), "--write", "--level", level]) == 0
            server.reset()
            found[level] = (_verdicts(folder, server.url), Counter(one.model for one in server.requests))
    return found


def _verdicts(folder: Path, url: str) -> dict[str, Any]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "LANG"))}
    environment = {**kept, "OPENAI_API_KEY": "test", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_BASE": f"{url}/v1"}
    done = subprocess.run(  # noqa: S603 - the suites are ours
        [sys.executable, "-c", RUNNER, *(str(folder / f"{name}.py") for name in NAMES)],
        env={**environment, "NO_PROXY": "127.0.0.1"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [line.removeprefix("VERDICTS ") for line in done.stdout.splitlines() if line.startswith("VERDICTS ")]
    return dict(json.loads(line) for line in lines)


def test_at_the_level_single_the_verdicts_and_the_requests_are_those_of_before(
    runs: dict[str, tuple[dict[str, Any], Counter[str]]],
) -> None:
    before, single = runs["before"], runs["single"]
    assert single[0] == before[0]
    assert single[1] == before[1]
    assert set(before[0]) == {f"{name}.py" for name in NAMES}
    assert len(set(map(str, before[0]["langchain_pairwise.py"]))) > 1  # the judge does tell answers apart
    polite = before[0]["langsmith_experiment.py"]["Where?"]
    assert polite["short"] == 1.0
    assert polite["has_a_dot"] == 1.0
    assert polite["brief"] == 1.0


def test_at_the_level_measured_the_server_gets_the_calls_the_command_promised(
    runs: dict[str, tuple[dict[str, Any], Counter[str]]],
) -> None:
    migration = migrated([SUITES / f"{name}.py" for name in NAMES], "measured")
    promised = {
        one.path.stem.replace("_", "-"): sum(change.calls_after or 0 for change in one.rewrite.changes)
        for one in migration.files
    }
    assert runs["measured"][1] == {name: calls * ASKED[name] for name, calls in promised.items()}
    assert promised == {
        "langchain-criteria": 18,
        "langchain-pairwise": 6,
        "langchain-scores": 12,
        "langsmith-experiment": 18,
        "openevals-scores": 24,
    }


def test_a_measured_suite_still_prints_its_verdicts(
    runs: dict[str, tuple[dict[str, Any], Counter[str]]],
) -> None:
    before, measured = runs["before"][0], runs["measured"][0]
    assert measured["langchain_pairwise.py"] == before["langchain_pairwise.py"]  # it has no position bias
    assert measured["langchain_scores.py"] == before["langchain_scores.py"]
    assert measured["openevals_scores.py"][0] == before["openevals_scores.py"][0]


def test_an_adk_agent_gives_the_same_scores_until_it_is_measured(
    tmp_path: Path, openai_server: Callable[..., OpenAIServer]
) -> None:
    pytest.importorskip("google.adk")
    from support.adk_answers import JudgePrompt, answer
    from support.adk_bench import (
        AgentFolder,
        api_base_variables,
        isolated_adk,
        load_results,
        run_adk_eval,
    )

    def reply(request: Request) -> Reply:
        prompt = JudgePrompt(request.user)
        shining = "shining" in request.user
        return Reply.text(
            answer(
                prompt,
                ("no" if shining else "yes")
                if prompt.kind == "match"
                else {"names_city": "yes", "gives_degrees": "no"},
            )
        )

    server = openai_server(reply)
    scores, calls = [], []
    for level in ("before", "single", "measured"):
        path = Path(shutil.copytree(SUITES / "adk_weather", tmp_path / level / "agents" / "adk_weather"))
        if level != "before":
            assert main(["migrate", str(path), "--write", "--level", level]) == 0
        server.reset()
        folder = AgentFolder(path=path, eval_set=path / "rain.test.json", config=path / "test_config.json")
        with isolated_adk(tmp_path / level), contextlib.chdir(tmp_path / level):
            run = run_adk_eval(folder, env=api_base_variables(server.url), in_process=True)
        assert run.exit_code == 1, run.stderr
        [result] = load_results(folder)
        scores.append(
            {
                (case.eval_id, one.metric_name): (one.score, one.eval_status.name)
                for case in result.eval_case_results
                for one in case.overall_eval_metric_results
                if one.criterion is not None
            }
        )
        calls.append(server.calls)
    assert scores[1] == scores[0]
    assert scores[0]["oslo", "rubric_based_final_response_quality_v1"] == (0.5, "FAILED")
    assert scores[0]["oslo", "final_response_match_v2"] == (1.0, "PASSED")
    assert scores[0]["rome", "final_response_match_v2"] == (0.0, "FAILED")
    assert calls[1] == calls[0] == 2 * (3 + 1)
    [config] = [one for one in migrated([SUITES / "adk_weather"], "measured").files if one.path.suffix == ".json"]
    assert calls[2] == 2 * sum(change.calls_after or 0 for change in config.rewrite.changes) == 2 * (6 + 2)
