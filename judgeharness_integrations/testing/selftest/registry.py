"""All checks but those of commands: of intervals and tests, reports on simulated judges, rules and workflows.

To add one, declare it beside the function that simulates it, and name it here.
"""

from __future__ import annotations

from judgeharness_integrations.testing.selftest.agreement import ALT_TESTS, CATEGORIES, KAPPAS
from judgeharness_integrations.testing.selftest.check import Check
from judgeharness_integrations.testing.selftest.judges import CLEAN, FAULTS, RANKINGS
from judgeharness_integrations.testing.selftest.labelling import CHOOSING, LABELLING
from judgeharness_integrations.testing.selftest.looking import CERTIFYING, DRIFTING, LOOKING
from judgeharness_integrations.testing.selftest.planning import PLANNING
from judgeharness_integrations.testing.selftest.proportions import CORRECTED_RATES, EXCESSES, PROPORTIONS, SCORES
from judgeharness_integrations.testing.selftest.rules import FAILURES

WORKFLOWS: tuple[Check, ...] = (*PLANNING, *LABELLING, *CHOOSING, *DRIFTING, *LOOKING, *CERTIFYING)
CHECKS: tuple[Check, ...] = (
    *PROPORTIONS,
    *KAPPAS,
    *CATEGORIES,
    *SCORES,
    *CORRECTED_RATES,
    *ALT_TESTS,
    *RANKINGS,
    *EXCESSES,
    *FAULTS,
    *CLEAN,
    *FAILURES,
    *WORKFLOWS,
)
