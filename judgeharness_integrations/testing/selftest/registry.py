"""All checks: of every interval and test the product prints, of reports on simulated judges, of rules."""

from __future__ import annotations

from judgeharness_integrations.testing.selftest.alttests import ALT_TESTS
from judgeharness_integrations.testing.selftest.categories import CATEGORIES
from judgeharness_integrations.testing.selftest.check import Check
from judgeharness_integrations.testing.selftest.clean import CLEAN
from judgeharness_integrations.testing.selftest.correctedrates import CORRECTED_RATES
from judgeharness_integrations.testing.selftest.excesses import EXCESSES
from judgeharness_integrations.testing.selftest.failures import FAILURES
from judgeharness_integrations.testing.selftest.faults import FAULTS
from judgeharness_integrations.testing.selftest.kappas import KAPPAS
from judgeharness_integrations.testing.selftest.proportions import PROPORTIONS
from judgeharness_integrations.testing.selftest.rankings import RANKINGS
from judgeharness_integrations.testing.selftest.scores import SCORES

__all__ = ["CHECKS"]

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
)
