"""Planning: how many cases, perturbations, repetitions and labels a goal takes, and what that costs.

A plan is made for what `report` and `compare` will print: decisions under a rule, their interval and their test. The
plan of the probes of a run is `judgeharness_integrations.judging.plan`.
"""

from .grid import CorrectedLabels, Design, Limits, corrected_labels, designs, wilson_labels
from .gstudy import Components, GStudy, Part, Shift, Split, gstudy
from .pilot import ClusterSizes, Pilot, pilot_of
from .report import PLAN_SCHEMA, Advice, Facts, MajorityRisk, PlanningReport, advise, majority_risk, planned
from .study import Goal

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
