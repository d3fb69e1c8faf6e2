"""Planning: how many cases, perturbations, repetitions and labels a goal takes, and what that costs.

A plan is made for what `report` and `compare` will print: decisions under a rule, their interval and their test. The
plan of the probes of a run is `judgeharness_integrations.judging.plan`.
"""

from judgeharness_integrations.analysis.planning.grid import (
    CorrectedLabels,
    Design,
    Limits,
    corrected_labels,
    designs,
    wilson_labels,
)
from judgeharness_integrations.analysis.planning.gstudy import Components, GStudy, Part, Shift, Split, gstudy
from judgeharness_integrations.analysis.planning.pilot import ClusterSizes, Pilot, pilot_of
from judgeharness_integrations.analysis.planning.report import (
    PLAN_SCHEMA,
    Advice,
    Facts,
    MajorityRisk,
    PlanningReport,
    advise,
    majority_risk,
    planned,
)
from judgeharness_integrations.analysis.planning.study import Goal

__all__ = [
    "PLAN_SCHEMA",
    "Advice",
    "ClusterSizes",
    "Components",
    "CorrectedLabels",
    "Design",
    "Facts",
    "GStudy",
    "Goal",
    "Limits",
    "MajorityRisk",
    "Part",
    "Pilot",
    "PlanningReport",
    "Shift",
    "Split",
    "advise",
    "corrected_labels",
    "designs",
    "gstudy",
    "majority_risk",
    "pilot_of",
    "planned",
    "wilson_labels",
]
