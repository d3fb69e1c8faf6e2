"""All checks but those of commands: of intervals and tests, reports on simulated judges, rules and workflows."""

from __future__ import annotations

from judgeharness_integrations.testing.selftest.agreement import ALT_TESTS, CATEGORIES, KAPPAS
from judgeharness_integrations.testing.selftest.check import Check
from judgeharness_integrations.testing.selftest.correctedrates import CORRECTED_RATES, SCORES
from judgeharness_integrations.testing.selftest.judges import CLEAN, FAULTS
from judgeharness_integrations.testing.selftest.proportions import EXCESSES, PROPORTIONS
from judgeharness_integrations.testing.selftest.rankings import RANKINGS
from judgeharness_integrations.testing.selftest.rules import FAILURES
from judgeharness_integrations.testing.selftest.workflows import WORKFLOWS

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
