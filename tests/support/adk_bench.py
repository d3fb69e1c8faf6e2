"""The real `adk eval` and the real `AgentEvaluator`, offline.

    @pytest.fixture(autouse=True)
    def adk(tmp_path):
        with isolated_adk(tmp_path):
            yield

    def test_it(tmp_path):
        folder = write_agent_folder(tmp_path, cases=2)
        with scripted_judge(in_turn("yes", "yes", "no")) as judge:
            run = run_adk_eval(folder, "--print_detailed_results", in_process=True)
        assert run.exit_code == 0
        assert load_results(folder)[0].eval_case_results[0].final_eval_status.name == "PASSED"

In a process of its own, judges are behind the loopback server or registered by `agent.py` (see `adk_judges`).
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from google.adk.evaluation.eval_result import EvalSetResult
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager

from support.adk_answers import CITIES, JudgeDown, JudgePrompt, Raw, always, answer, by_city, in_turn, per_rubric
from support.adk_folder import (
    FINAL_RESPONSE,
    AgentFolder,
    eval_config,
    eval_set,
    invocation,
    judge_options,
    rubric,
    serve,
    weather_reply,
    write_agent_folder,
)
from support.adk_judges import ScriptedJudge, register_judge, scripted_judge
from support.adk_offline import forget_modules, isolated_adk, known_warnings, process_environment

__all__ = [
    "CITIES",
    "FINAL_RESPONSE",
    "AgentFolder",
    "EvalRun",
    "EvaluatorRun",
    "JudgeDown",
    "JudgePrompt",
    "Raw",
    "ScriptedJudge",
    "always",
    "answer",
    "api_base_variables",
    "by_city",
    "eval_config",
    "eval_set",
    "in_turn",
    "invocation",
    "isolated_adk",
    "judge_options",
    "load_results",
    "per_rubric",
    "register_judge",
    "rubric",
    "run_adk_eval",
    "run_agent_evaluator",
    "scripted_judge",
    "serve",
    "weather_reply",
    "write_agent_folder",
]

_ADK = Path(sys.executable).parent / "adk"


class EvalRun(NamedTuple):
    """What `adk eval` left in the terminal."""

    exit_code: int
    stdout: str
    stderr: str


class EvaluatorRun(NamedTuple):
    """What `AgentEvaluator.evaluate` left: why its assertion failed (None where it passed), and what it printed."""

    failure: str | None
    stdout: str


def run_adk_eval(
    folder: AgentFolder,
    *args: str,
    env: Mapping[str, str] | None = None,
    in_process: bool = False,
    cwd: Path | None = None,
    seconds: float = 110,
) -> EvalRun:
    """Run `adk eval <folder> <eval set> ...`.

    Args:
        folder: The agent's.
        args: Further arguments, such as `--print_detailed_results`. One that ends in `.json` stands for the eval set.
        env: Further variables, such as `api_base_variables(...)`.
        in_process: Without a process of its own; needs `isolated_adk` around it.
        cwd: The working directory of the process; the agents' folder where not given.
        seconds: What the process may take.
    """
    evals = [] if any(arg.endswith(".json") and not arg.startswith("--") for arg in args) else [str(folder.eval_set)]
    command = ["eval", str(folder.path), *evals, *args]
    if in_process:
        return _in_process(folder, command, env or {})
    home = folder.agents_dir.parent / "home"
    done = subprocess.run(  # noqa: S603 - the command is ADK's
        [sys.executable, str(_ADK), *command],
        env=process_environment(home, env or {}),
        cwd=cwd or folder.agents_dir,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    return EvalRun(done.returncode, done.stdout, done.stderr)


def run_agent_evaluator(
    folder: AgentFolder, *, num_runs: int = 1, env: Mapping[str, str] | None = None, persist: bool = True, **kw: Any
) -> EvaluatorRun:
    """Run `AgentEvaluator.evaluate` as a user's test does; needs `isolated_adk` around it.

    Args:
        folder: The agent's.
        num_runs: How often each case is run; ADK's own default is 2.
        env: Further variables.
        persist: Whether `load_results` finds what it measured.
        kw: Further arguments of `AgentEvaluator.evaluate`.
    """
    from google.adk.evaluation.agent_evaluator import AgentEvaluator

    stored = {"app_name": folder.name, "eval_set_results_manager": _manager(folder)} if persist else {}
    given = {"agent_module": folder.name, "eval_dataset_file_path_or_dir": str(folder.eval_set), **stored, **kw}
    failure = None
    with (
        contextlib.redirect_stdout(io.StringIO()) as stdout,
        mock.patch.dict(os.environ, env or {}),
        mock.patch.object(sys, "path", [str(folder.agents_dir), *sys.path]),
        known_warnings(),
    ):
        _ready(folder)
        try:
            asyncio.run(AgentEvaluator.evaluate(num_runs=num_runs, **given))
        except AssertionError as error:
            failure = str(error)
    return EvaluatorRun(failure, stdout.getvalue())


def api_base_variables(url: str) -> dict[str, str]:
    """Where LiteLLM finds `openai/...` judges named in `test_config.json`; `url` is the loopback server's."""
    return {"OPENAI_API_KEY": "test", "OPENAI_API_BASE": f"{url}/v1", "OPENAI_BASE_URL": f"{url}/v1"}


def load_results(folder: AgentFolder) -> list[EvalSetResult]:
    """The persisted results, oldest first, as ADK reads them back."""
    manager = _manager(folder)
    results = [manager.get_eval_set_result(folder.name, name) for name in manager.list_eval_set_results(folder.name)]
    return sorted(results, key=lambda result: result.creation_timestamp)


def _manager(folder: AgentFolder) -> LocalEvalSetResultsManager:
    return LocalEvalSetResultsManager(agents_dir=str(folder.agents_dir))


def _in_process(folder: AgentFolder, command: list[str], env: Mapping[str, str]) -> EvalRun:
    from click.testing import CliRunner
    from google.adk.cli.cli_tools_click import main

    _ready(folder)
    with known_warnings():
        result = CliRunner().invoke(main, command, env=dict(env), catch_exceptions=False)
    return EvalRun(result.exit_code, result.stdout, result.stderr)


def _ready(folder: AgentFolder) -> None:
    """Have the agent's module loaded anew, and LiteLLM's loggers bound to streams that stay open."""
    forget_modules(folder.agents_dir)
    if folder.litellm:
        from google.adk.models.lite_llm import _ensure_litellm_imported

        _ensure_litellm_imported()
