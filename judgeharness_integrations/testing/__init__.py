"""Public fakes: judges whose answers are known beforehand."""

from judgeharness_integrations.testing.judges import RecordedJudge, ScriptedJudge

__all__ = ["RecordedJudge", "ScriptedJudge"]
