"""Any verdict log under any rule, without asking anybody again."""

from ..aggregation.cases import CaseDecision, case_consistency, case_decisions
from ..aggregation.rules import PLANNED_SAMPLES
from .replaying import CriterionFold, JudgeFold, replay, replay_cases, replay_criterion, rows_about, rows_of_judges
from .report import REPLAY_SCHEMA, JudgeReplay, ReplayReport

__all__ = [
    "PLANNED_SAMPLES",
    "REPLAY_SCHEMA",
    "CaseDecision",
    "CriterionFold",
    "JudgeFold",
    "JudgeReplay",
    "ReplayReport",
    "case_consistency",
    "case_decisions",
    "replay",
    "replay_cases",
    "replay_criterion",
    "rows_about",
    "rows_of_judges",
]
