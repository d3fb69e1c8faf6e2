"""Scans files and folders for single-call judges, as `[tool.judgeharness.scan]` and the command's options say."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import ConfigError, UnknownNameError

from .discovery import ScannedTree
from .inspection import (
    ConfigInspection,
    Finding,
    Inspection,
    Unresolved,
    may_call_judges,
    suppressions_of,
    unresolved_judges,
)
from .modules import (
    ConfigSource,
    Source,
    SourceError,
    check_parser,
    config_files,
    excluded,
    may_hold_judges,
    python_files,
    unread_files,
)
from .rewriting import NextStep, next_step
from .rules import RULES, codes_matching
from .rules.answers import FIRST_MATCH
from .rules.numbers import SINGLE_SAMPLE
from .syntax import JudgeSite

_MOOT = frozenset({SINGLE_SAMPLE.code, FIRST_MATCH.code})  # where a harness asks the judge


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
        next_step: what to do about the judges no harness asks; None where all are harnessed.

    """

    findings: tuple[Finding, ...]
    suppressed: int
    files: int
    unreadable: tuple[SourceError, ...]
    sites: tuple[tuple[Path, JudgeSite], ...]
    imported: tuple[tuple[Path, JudgeSite], ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    next_step: NextStep | None = None

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
            "unresolved": [call.to_dict() for call in self.unresolved],
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
    paths: Sequence[Path], *, settings: ScanSettings | None = None, progress: Callable[[int, int], None] | None = None
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
    report = _Collection(unread_files(paths), ScannedTree(path for path in files if path.suffix != ".json"))
    for done, path in enumerate(files, 1):
        report.take(path, chosen)
        if progress is not None:
            progress(done, len(files))
    found = ScanReport(
        findings=tuple(sorted(report.kept(), key=lambda one: one.sort_key)),
        suppressed=report.suppressed,
        files=len(set(files) - {error.path for error in report.unreadable}),
        unreadable=tuple(report.unreadable),
        sites=tuple(report.sites),
        imported=tuple(report.imported),
        unresolved=tuple(sorted(report.unresolved, key=lambda one: (one.path.as_posix(), one.line))),
    )
    return replace(found, next_step=report.next_step(exclude)) if found.judges > found.harnessed else found


def _judge_of(finding: Finding) -> tuple[Path, int]:
    """Where the judge of a finding is made or asked."""
    return finding.path, finding.line if finding.site is None else finding.site.line


class _Collection:
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
                config = ConfigInspection(ConfigSource.read(path, tree=self._tree))
                self._keep(config, settings.codes_for(path))
            else:
                self._take_python(self._tree.source(path), settings)
        except SourceError as error:
            self.unreadable.append(error)

    def kept(self) -> list[Finding]:
        """The findings; a judge that other files harness, or ask several times only, is no single sample."""
        harnessed = _places(self.imported, harnessed=True) - _places(self.imported, harnessed=False)
        several = {one.definition for _, one in self.imported if one.samples != 1}
        several -= {one.definition for _, one in self.imported if one.samples == 1}
        return [
            finding
            for finding in self.findings
            if not (finding.code in _MOOT and _judge_of(finding) in harnessed)
            and not (finding.code == SINGLE_SAMPLE.code and _judge_of(finding) in several)
        ]

    def next_step(self, exclude: Sequence[str]) -> NextStep | None:
        """What `migrate` does about the judges that no harness asks."""
        bare = dict.fromkeys(path for path, site in (*self.sites, *self.imported) if not site.harnessed)
        return next_step(bare, self._tree, exclude=exclude)

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
        self._keep(inspection, settings.codes_for(path))
        self.imported += [(path, site) for site in inspection.sites if site.definition is not None]
        self.unresolved += unresolved_judges(inspection) if named else ()

    def _keep(self, inspection: Inspection | ConfigInspection, codes: Iterable[str]) -> None:
        found = dict.fromkeys(one for code in sorted(codes) for one in RULES[code].findings(inspection))
        hidden = suppressions_of(inspection.source)
        kept = [finding for finding in found if not hidden.hide(finding)]
        self.findings += kept
        self.suppressed += len(found) - len(kept)
        own = (site for site in inspection.sites if not site.deterministic and site.definition is None)
        self.sites += [(inspection.source.path, site) for site in own]


_KEYS = ("select", "ignore", "exclude", "per-file-ignores")
_WHERE = "[tool.judgeharness.scan]"


@dataclass(frozen=True, kw_only=True)
class ScanSettings:
    """Codes or prefixes that are selected and ignored, patterns of files that are left out; `root` holds the file."""

    select: tuple[str, ...] = ("JH",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path | None = None

    def __post_init__(self) -> None:
        """Refuse codes nobody knows.

        Raises:
            UnknownNameError: a code or prefix stands for no rule.

        """
        for codes in (self.select, self.ignore, *self.per_file_ignores.values()):
            codes_matching(codes)

    def codes_for(self, path: Path) -> frozenset[str]:
        """Return the codes that are looked for in a file."""
        ignored = set(codes_matching(self.ignore))
        absolute = path.absolute()
        inside = self.root is not None and absolute.is_relative_to(self.root)
        relative = absolute.relative_to(self.root) if inside and self.root is not None else path
        for pattern, codes in self.per_file_ignores.items():
            if excluded(relative, (pattern,)):
                ignored |= codes_matching(codes)
        return codes_matching(self.select) - ignored

    def overridden(
        self, *, select: Sequence[str] = (), ignore: Sequence[str] = (), exclude: Sequence[str] = ()
    ) -> ScanSettings:
        """Return the settings with a command's options: a selection replaces, what is left out adds up."""
        return replace(
            self,
            select=tuple(select) or self.select,
            ignore=(*(() if select else self.ignore), *ignore),
            exclude=(*self.exclude, *exclude),
        )


def nearest_settings(path: Path) -> ScanSettings:
    """Return the settings of the nearest pyproject.toml at or above a path that has our table; defaults without one.

    Raises:
        ConfigError: the file cannot be read or a key holds a wrong value.
        UnknownNameError: a key or a code nobody knows.

    """
    start = path.absolute()
    for folder in (start, *start.parents) if start.is_dir() else start.parents:
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                return _settings(file, table)
    return ScanSettings()


def _table(file: Path) -> Mapping[str, Any] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read ({error}): correct it.") from None
    ours = document.get("tool", {}).get("judgeharness", {})
    return ours.get("scan") if isinstance(ours, dict) else None


def _settings(file: Path, table: Mapping[str, Any]) -> ScanSettings:
    if not isinstance(table, dict):
        raise ConfigError(f"{file}: {_WHERE} must be a table.")
    for key in table:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS)
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError(f"{file}: per-file-ignores of {_WHERE} must be a table of lists.")
    return ScanSettings(
        select=_texts(file, table, "select") or ("JH",),
        ignore=_texts(file, table, "ignore"),
        exclude=_texts(file, table, "exclude"),
        per_file_ignores={pattern: _texts(file, per_file, pattern) for pattern in per_file},
        root=file.parent,
    )


def _texts(file: Path, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{file}: {key!r} of {_WHERE} must be a list of texts.")
    return tuple(value)
