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
from judgeharness_integrations.migration.scannedtree import ScannedTree
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
from judgeharness_integrations.migration.unresolved import Unresolved, may_call_judges, unresolved_judges

__all__ = ["ScanReport", "scan"]

_SINGLE = "JH002"


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """What was found.

    Args:
        findings: in order of files and lines.
        suppressed: how many findings comments hide.
        files: how many files were looked at.
        unreadable: files that were not, each with its reason.
        sites: judges by file, deterministic evaluators left out.
        imported: uses of those judges in other scanned files, with the place where each is made.
        unresolved: calls that look like a judge's, where the scanned files do not say which.

    """

    findings: tuple[Finding, ...]
    suppressed: int
    files: int
    unreadable: tuple[SourceError, ...]
    sites: tuple[tuple[Path, JudgeSite], ...]
    imported: tuple[tuple[Path, JudgeSite], ...] = ()
    unresolved: tuple[Unresolved, ...] = ()

    @property
    def judges(self) -> int:
        """How many judges there are."""
        return len(self.sites)

    @property
    def harnessed(self) -> int:
        """How many of them a harness asks, where they are made or in another file."""
        elsewhere = _places(self.imported, harnessed=True)
        return sum(site.harnessed or (path, site.line) in elsewhere for path, site in self.sites)

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
            "imported": [_imported(path, site) for path, site in self.imported],
            "unresolved": [one.to_dict() for one in self.unresolved],
        }


def _imported(path: Path, site: JudgeSite) -> dict[str, Any]:
    home, line = site.definition or (path, site.line)
    return {
        "path": path.as_posix(),
        "line": site.line,
        "column": site.column,
        "judge": f"{site.framework}/{site.kind}",
        "name": site.name,
        "definition": {"path": home.as_posix(), "line": line},
    }


def _places(sites: Iterable[tuple[Path, JudgeSite]], *, harnessed: bool) -> set[tuple[Path, int]]:
    """Return where the judges are made that other files use under a harness, or without one."""
    return {site.definition for _, site in sites if site.definition is not None and site.harnessed is harnessed}


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
    report = _Gathered(unread_files(paths), ScannedTree(path for path in files if path.suffix != ".json"))
    for done, path in enumerate(files, 1):
        report.take(path, chosen)
        if progress is not None:
            progress(done, len(files))
    return ScanReport(
        findings=tuple(sorted(report.kept(), key=lambda one: one.sort_key)),
        suppressed=report.suppressed,
        files=len(set(files) - {error.path for error in report.unreadable}),
        unreadable=tuple(report.unreadable),
        sites=tuple(report.sites),
        imported=tuple(report.imported),
        unresolved=tuple(sorted(report.unresolved, key=lambda one: (one.path.as_posix(), one.line))),
    )


class _Gathered:
    def __init__(self, unread: Iterable[SourceError], tree: ScannedTree) -> None:
        self.findings: list[Finding] = []
        self.suppressed = 0
        self.unreadable = list(unread)
        self.sites: list[tuple[Path, JudgeSite]] = []
        self.imported: list[tuple[Path, JudgeSite]] = []
        self.unresolved: list[Unresolved] = []
        self._tree = tree

    def take(self, path: Path, settings: ScanSettings) -> None:
        try:
            if path.suffix == ".json":
                config = ConfigInspection(ConfigSource.read(path))
                self._keep(config, _of_config(config, settings.codes_for(path)))
            else:
                self._take_python(self._tree.source(path), settings)
        except SourceError as error:
            self.unreadable.append(error)

    def kept(self) -> list[Finding]:
        """The findings; a judge that other files harness, or ask several times only, is no single sample."""
        harnessed = _places(self.imported, harnessed=True) - _places(self.imported, harnessed=False)
        several = {one.definition for _, one in self.imported if one.samples != 1}
        several -= {one.definition for _, one in self.imported if one.samples == 1}
        return [one for one in self.findings if one.code != _SINGLE or (one.path, one.line) not in harnessed | several]

    def _take_python(self, source: Source, settings: ScanSettings) -> None:
        text, path = source.text, source.path
        named = may_call_judges(text, self._tree.outline(path))
        if not (named or may_hold_judges(text) or self._tree.concerns(path, text)):
            return
        try:
            inspection = Inspection(source)
        except SourceError:
            if may_hold_judges(text):
                raise
            return
        self._keep(inspection, _of_python(inspection, settings.codes_for(path)))
        self.imported += [(path, site) for site in inspection.sites if site.definition is not None]
        self.unresolved += unresolved_judges(inspection) if named else ()

    def _keep(self, inspection: Inspection | ConfigInspection, found: Sequence[Finding]) -> None:
        hidden = suppressions_of(inspection.source)
        shown = [finding for finding in found if not hidden.hide(finding)]
        self.findings += shown
        self.suppressed += len(found) - len(shown)
        own = (site for site in inspection.sites if not site.deterministic and site.definition is None)
        self.sites += [(inspection.source.path, site) for site in own]


def _of_config(config: ConfigInspection, codes: Iterable[str]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(one for code in sorted(codes) for one in RULES[code].config(config)))


def _of_python(inspection: Inspection, codes: Iterable[str]) -> tuple[Finding, ...]:
    return tuple(dict.fromkeys(one for code in sorted(codes) for one in RULES[code].python(inspection)))
