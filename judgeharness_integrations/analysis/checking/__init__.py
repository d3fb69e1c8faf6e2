"""Is this judge any good? A conformance report on a judge, asked anew or from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

from .statistics import CheckReport, PropertyCheck, Status, WorstCase

if TYPE_CHECKING:
    from .conformance import check_rows

__all__ = ["CheckReport", "PropertyCheck", "Status", "WorstCase", "check_rows"]

# Loaded at first use: reading a log should not pay for asking judges.
_HOMES = {"check_rows": "conformance"}

__getattr__ = lazy(__name__, _HOMES)
