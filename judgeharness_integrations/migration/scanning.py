"""Scans files and folders for single-call judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection
from judgeharness_integrations.migration.named import unread_files
from judgeharness_integrations.migration.noqa import suppressions_of
from judgeharness_integrations.migration.prefilter import may_hold_judges
from judgeharness_integrations.migration.rules.registry import RULES
from judgeharness_integrations.migration.settings import ScanSettings
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.sources import (
    ConfigSource,
    Source,
    SourceError,
    check_parser,
    config_files,
    python_files,
)

__all__ = ["ScanReport", "scan"]


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """What was found.

    Args:
        findings: in order of files and lines.
        suppressed: how many findings comments hide.
        files: how many files were looked at.
        unreadable: files that were not, each with its reason.
        sites: judges by file, deterministic evaluators left out.

    """

    findings: tuple[Finding, ...]
    suppressed: int
    files: int
    unreadable: tuple[SourceError, ...]
    sites: tuple[tuple[Path, JudgeSite], ...]

    @property
    def judges(self) -> int:
        """How many judges there are."""
        return len(self.sites)

    @property
    def harnessed(self) -> int:
        """How many of them a harness asks."""
        return sum(site.harnessed for _, site in self.sites)

    @property
    def statistics(self) -> dict[str, int]:
        """Code -> number of findings, most frequent first."""
        counts = Counter(finding.code for finding in self.findings)
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def to_dict(self) -> dict[str, Any]:
        """Return what a machine reads (judgeharness.scan/1)."""
        return {
            "schema": "judgeharness.scan/1",
            "findings": [finding.to_dict() for finding in self.findings],
            "suppressed": self.suppressed,
            "files": self.files,
            "unreadable": [str(error) for error in self.unreadable],
            "judges": self.judges,
            "harnessed": self.harnessed,
            "statistics": self.statistics,
        }


def scan(
    paths: Sequence[Path],
    *,
    settings: ScanSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScanReport:
    """Scan files and folders; nothing is executed or imported.

    Args:
        paths: files are scanned whatever they are called, folders without their hidden and installed parts.
        settings: what is looked for; everything when None.
        progress: is told how many files of how many are done.

    Raises:
        NotInstalledError: libcst is not installed.
        UsageError: a path does not exist.

    """
    check_parser()
    chosen = settings or ScanSettings()
    exclude = chosen.exclude
    files = [*python_files(paths, exclude=exclude), *config_files(paths, exclude=exclude)]
    report = _Gathered(unread_files(paths))
    for done, path in enumerate(files, 1):
        report.take(path, chosen)
        if progress is not None:
            progress(done, len(files))
    return ScanReport(
        findings=tuple(sorted(report.findings, key=lambda one: one.sort_key)),
        suppressed=report.suppressed,
        files=len(set(files) - {error.path for error in report.unreadable}),
        unreadable=tuple(report.unreadable),
        sites=tuple(report.sites),
    )


class _Gathered:
    def __init__(self, unread: Iterable[SourceError]) -> None:
        self.findings: list[Finding] = []
        self.suppressed = 0
        self.unreadable = list(unread)
        self.sites: list[tuple[Path, JudgeSite]] = []

    def take(self, path: Path, settings: ScanSettings) -> None:
        try:
            source = ConfigSource.read(path) if path.suffix == ".json" else Source.read(path)
            if isinstance(source, Source) and not may_hold_judges(source.text):
                return
            sites, found = _inspected(source, settings.codes_for(path))
            hidden = suppressions_of(source)
        except SourceError as error:
            self.unreadable.append(error)
            return
        shown = [finding for finding in found if not hidden.hide(finding)]
        self.findings += shown
        self.suppressed += len(found) - len(shown)
        self.sites += [(path, site) for site in sites if not site.deterministic]


def _inspected(
    source: Source | ConfigSource, codes: Iterable[str]
) -> tuple[tuple[JudgeSite, ...], tuple[Finding, ...]]:
    rules = [RULES[code] for code in sorted(codes)]
    if isinstance(source, ConfigSource):
        config = ConfigInspection(source)
        return config.sites, tuple(dict.fromkeys(one for rule in rules for one in rule.config(config)))
    inspection = Inspection(source)
    return inspection.sites, tuple(dict.fromkeys(one for rule in rules for one in rule.python(inspection)))
