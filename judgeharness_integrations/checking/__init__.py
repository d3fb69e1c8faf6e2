"""Is this judge any good? A conformance report on a judge, asked anew or from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy
from judgeharness_integrations.checking.report import CheckReport, PropertyCheck, Status, WorstCase

if TYPE_CHECKING:
    from judgeharness_integrations.checking.conformance import check_rows
    from judgeharness_integrations.checking.judge import acheck_judge, check_judge, plan_check

__all__ = [
    "CheckReport",
    "PropertyCheck",
    "Status",
    "WorstCase",
    "acheck_judge",
    "check_judge",
    "check_rows",
    "plan_check",
]

# Loaded at first use: reading a log should not pay for asking judges.
_HOMES = {"acheck_judge": "judge", "check_judge": "judge", "check_rows": "conformance", "plan_check": "judge"}

__getattr__ = lazy(__name__, _HOMES)
