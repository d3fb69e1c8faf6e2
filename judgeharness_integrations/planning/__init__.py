"""Planning: how many cases, perturbations, repetitions and labels a goal takes, and what that costs.

A plan is made for what `report` and `compare` will print: decisions under a rule, their interval and their test. The
plan of the probes of a run is `judgeharness_integrations.plan`.
"""

from judgeharness_integrations.planning.advice import Advice, Facts, advise
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.goal import Goal
from judgeharness_integrations.planning.grid import Design, Limits, designs
from judgeharness_integrations.planning.gstudy import GStudy, Part, Split, gstudy
from judgeharness_integrations.planning.labels import CorrectedLabels, corrected_labels, wilson_labels
from judgeharness_integrations.planning.majority import MajorityRisk, majority_risk
from judgeharness_integrations.planning.pilot import Pilot, pilot_of
from judgeharness_integrations.planning.report import PLAN_SCHEMA, PlanningReport, planned
from judgeharness_integrations.planning.shifts import Shift
from judgeharness_integrations.planning.truths import ClusterSizes

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
