"""Finds single-call judges in other people's code and rewrites them. Needs the extra `migration` (libcst)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judgeharness_integrations._lazy import lazy

if TYPE_CHECKING:
    from .discovery import find_sites
    from .inspection import Finding
    from .scanning import ScanReport, ScanSettings, nearest_settings, scan
    from .syntax import JudgeSite

__all__ = ["Finding", "JudgeSite", "ScanReport", "ScanSettings", "find_sites", "nearest_settings", "scan"]

# Loaded at first use, so that the package can say what is missing when libcst is not installed.
_HOMES = {
    "Finding": "inspection",
    "JudgeSite": "syntax",
    "ScanReport": "scanning",
    "ScanSettings": "scanning",
    "find_sites": "discovery",
    "nearest_settings": "scanning",
    "scan": "scanning",
}


def _require(_: str) -> None:
    from .modules import check_parser  # noqa: PLC0415

    check_parser()


__getattr__ = lazy(__name__, _HOMES, _require)
