"""What a real evaluation with our evaluators leaves in a folder: sidecars and ADK's own results.

evaluated(tmp_path, in_turn("yes", "yes", "no"), num_runs=2)
results = load_results(tmp_path)
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.adk_answers import Answers
from support.adk_bench import EvalRun, run_adk_eval, run_agent_evaluator
from support.adk_folder import FINAL_RESPONSE, AgentFolder, eval_config, judge_options, write_agent_folder
from support.adk_judges import scripted_judge
from support.adk_offline import isolated_adk

REGISTER = "import judgeharness_adk\njudgeharness_adk.register()"
__all__ = ["evaluate_again", "evaluate_by_command", "evaluated"]


def evaluated(
    project: Path,
    script: Answers,
    *,
    criteria: Mapping[str, Any] | None = None,
    cases: int = 2,
    turns: int = 1,
    num_runs: int = 2,
    persist: bool = True,
    name: str = "weather_app",
    rubrics: Sequence[str] = ("polite",),
    samples: int = 3,
    **block: Any,
) -> AgentFolder:
    """Evaluate the weather agent of a new folder below `project`, which is the working directory meanwhile.

    Args:
        project: Where sidecars and agents go.
        script: The judge's.
        criteria: What is measured; by default the final response, by `rubrics` and `samples`.
        cases: Number of eval cases.
        turns: User turns of each.
        num_runs: How often each case runs.
        persist: Whether ADK keeps its results.
        name: The agent's folder.
        rubrics: Ids of the rubrics.
        samples: `num_samples`.
        block: Keys of `judge_harness`.
    """
    options = judge_options("scripted-judge", rubrics=rubrics, samples=samples, judge_harness=block)
    config = eval_config({FINAL_RESPONSE: options} if criteria is None else criteria)
    folder = write_agent_folder(project, config=config, cases=cases, turns=turns, name=name, extra=REGISTER)
    evaluate_again(folder, script, num_runs=num_runs, persist=persist)
    return folder


def evaluate_again(folder: AgentFolder, script: Answers, *, num_runs: int = 1, persist: bool = True) -> None:
    """Evaluate an agent whose folder is there."""
    project = folder.agents_dir.parent
    with isolated_adk(project), contextlib.chdir(project), scripted_judge(script):
        run_agent_evaluator(folder, num_runs=num_runs, persist=persist)


def evaluate_by_command(folder: AgentFolder, script: Answers, *args: str) -> EvalRun:
    """Evaluate an agent whose folder is there with `adk eval`."""
    project = folder.agents_dir.parent
    with isolated_adk(project), contextlib.chdir(project), scripted_judge(script):
        return run_adk_eval(folder, *args, in_process=True)
