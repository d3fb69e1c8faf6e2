"""Planning: how many cases, perturbations, repetitions and labels a wanted precision takes, and what that costs.

The plan of the probes of a run is `judgeharness_integrations.plan`.
"""

from judgeharness_integrations.planning.advice import Advice, Facts, advise
from judgeharness_integrations.planning.components import Components
from judgeharness_integrations.planning.grid import Design, Limits, designs
from judgeharness_integrations.planning.labels import CorrectedLabels, corrected_labels, wilson_labels, wilson_width
from judgeharness_integrations.planning.majority import MajorityRisk, majority_risk
from judgeharness_integrations.planning.pilot import Pilot, pilot_of
from judgeharness_integrations.planning.precision import Goal
from judgeharness_integrations.planning.report import PLAN_SCHEMA, PlanningReport, planned
from judgeharness_integrations.planning.shifts import Shift

__all__ = [
    "PLAN_SCHEMA",
    "Advice",
    "Components",
    "CorrectedLabels",
    "Design",
    "Facts",
    "Goal",
    "Limits",
    "MajorityRisk",
    "Pilot",
    "PlanningReport",
    "Shift",
    "advise",
    "corrected_labels",
    "designs",
    "majority_risk",
    "pilot_of",
    "planned",
    "wilson_labels",
    "wilson_width",
]
