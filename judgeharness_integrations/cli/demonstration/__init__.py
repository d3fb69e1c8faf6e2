"""Recorded verdicts through the real harness: no key, no network.

The verdicts are of five judges on the 419 pairs of LLMBar, each pair shown in both orders (Zeng et al. 2024, Evaluating
Large Language Models at Evaluating Instruction Following, MIT License); see `README.md` beside the data.
"""

from judgeharness_integrations.cli.demonstration.recorded import SOURCE, Demo, JudgeShown, run_demo

__all__ = ["SOURCE", "Demo", "JudgeShown", "run_demo"]
