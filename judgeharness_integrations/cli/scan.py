"""What `judgeharness scan` and `migrate` do: findings and changes, as programs keep them and as people read them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer
from rich.console import Console
from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations._version import __version__
from judgeharness_integrations.labelling.labellog import replace_durably
from judgeharness_integrations.migration.inspection import Finding, described
from judgeharness_integrations.migration.modules import ConfigSource, Source, SourceError
from judgeharness_integrations.migration.rewriting import (
    Cost,
    FileRewrite,
    Migration,
    NextStep,
    cost_of,
    diff_of,
    migrated,
)
from judgeharness_integrations.migration.rewriting.changes import Rewrite
from judgeharness_integrations.migration.rules import RULES, rule_of
from judgeharness_integrations.migration.scanning import ScanReport, nearest_settings, scan
from judgeharness_integrations.reporting.sections import Table
from judgeharness_integrations.reporting.terminal import console, table
from judgeharness_integrations.verdictlog.encoding import counted, safe_text

from ._command import GATE_FAILED, OK, USAGE, names_in
from ._label_options import MigrateRequest, ScanRequest
from ._output import print_json, show


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return findings as one run; every rule is described, found or not."""
    places = {code: place for place, code in enumerate(RULES)}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "judgeharness",
                        "version": __version__,
                        "rules": [
                            {
                                "id": rule.code,
                                "name": "".join(word.capitalize() for word in rule.name.replace("-", " ").split()),
                                "shortDescription": {"text": rule.name},
                                "fullDescription": {"text": rule.explanation},
                                "defaultConfiguration": {"level": "warning"},
                            }
                            for rule in RULES.values()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, places[finding.code]) for finding in findings],
            }
        ],
    }


def _result(finding: Finding, place: int) -> dict[str, Any]:
    path = finding.path
    uri = path.absolute().as_uri() if path.is_absolute() else quote(path.as_posix())
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": place,
        "level": "warning",
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }


_LONGEST = 1000


def print_report(report: ScanReport, paths: Sequence[Path], *, output: str, statistics: bool) -> None:
    """Print a report; what could not be read goes to standard error, whatever the format."""
    for error in report.unreadable:
        typer.echo(f"warning: {safe_text(str(error), _LONGEST)}", err=True)
    if output == "json":
        print_json(report.to_dict())
    elif output == "sarif":
        print_json(sarif(report.findings))
    else:
        _print_text(report, paths, statistics=statistics)


def _print_text(report: ScanReport, paths: Sequence[Path], *, statistics: bool) -> None:
    screen = console()
    if statistics:
        if report.findings:
            rows = [(code, RULES[code].name, str(count)) for code, count in report.statistics.items()]
            screen.print(table("findings by code", ("code", "rule", "findings"), rows, texts=2))
    elif screen.is_terminal:
        for path, found in groupby(report.findings, key=lambda one: one.path):
            screen.print(Text(safe_text(path.as_posix(), 200), style="bold"))
            lines = _lines(path)
            for here in _places(found):
                _print_findings(here, lines)
    else:
        for here in _places(report.findings):
            sys.stdout.write(f"{_place(here[0])} {_codes(here)} {_messages(here)}\n")
    if not statistics:
        for line in _uses(report):
            sys.stdout.write(f"{safe_text(line, _LONGEST)}.\n")
    sys.stdout.flush()
    typer.echo(_summary(report))
    if report.next_step is not None:
        typer.echo(f"next: {safe_text(_step(report.next_step, paths), _LONGEST)}")


def _step(step: NextStep, paths: Sequence[Path]) -> str:
    if step.by_hand is None:
        return f"judgeharness migrate {' '.join(str(path) for path in paths)}"
    return f"{step.path.as_posix()}:{step.by_hand.line}: {step.by_hand.todo}."


def _places(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return findings place by place: what is found of one call is mended at once."""
    return [list(here) for _, here in groupby(findings, key=lambda one: (one.path, one.line, one.column))]


def _codes(here: Sequence[Finding]) -> str:
    return ", ".join(one.code for one in here)


def _messages(here: Sequence[Finding]) -> str:
    return safe_text(" ".join(one.message for one in here), _LONGEST * len(here))


def _print_findings(here: Sequence[Finding], lines: Sequence[str]) -> None:
    screen, finding = console(), here[0]
    head = Text(f"  {finding.line}:{finding.column} ")
    head.append(_codes(here), style="bold yellow")
    screen.print(head.append(f" {_messages(here)}"))
    if finding.line <= len(lines):
        source = lines[finding.line - 1]
        screen.print(Text(f"    {safe_text(source, 160)}", style="dim"))


def _lines(path: Path) -> Sequence[str]:
    try:
        return (ConfigSource if path.suffix == ".json" else Source).read(path).lines
    except SourceError:  # it was there a moment ago
        return ()


def _place(finding: Finding) -> str:
    return f"{safe_text(finding.path.as_posix(), _LONGEST)}:{finding.line}:{finding.column}"


def _summary(report: ScanReport) -> str:
    files = len({finding.path for finding in report.findings})
    places = len(_places(report.findings))
    at = f" at {counted(places, 'place')}" if places < len(report.findings) else ""
    found = f"{counted(len(report.findings), 'finding')}{at}"
    line = f"{found} in {files} of {counted(report.files, 'file')}; {_judges(report)}"
    return line + (f"; {counted(report.suppressed, 'finding')} suppressed by noqa" if report.suppressed else "")


def _judges(report: ScanReport) -> str:
    """Judges in words; none are "found" only where none is called."""
    unresolved = len(report.unresolved)
    if unresolved and not report.judges:
        return f"{counted(unresolved, 'judge')} called and not resolved"
    line = f"{counted(report.judges, 'judge')} found, {report.harnessed} of them harnessed"
    if report.imported:
        line += f", used from {counted(len({path for path, _ in report.imported}), 'other file')}"
    return line + (f"; {unresolved} more called and not resolved" if unresolved else "")


def _uses(report: ScanReport) -> Iterator[str]:
    """Yield where judges of other files are used, and what looks like a judge and is not resolved."""
    for path, site in report.imported:
        home, line = site.definition or (path, site.line)
        yield f"{path.as_posix()}:{site.line}:{site.column} uses {described(site)} of {home.as_posix()}:{line}"
    for one in report.unresolved:
        place = f"{one.path.as_posix()}:{one.line}:{one.column}"
        yield f"{place} not resolved: {one.name} looks like a judge, and {one.why}"


def scan_code(request: ScanRequest) -> int:
    """Explain a rule, list all of them, or scan and print what was found; return 1 on findings.

    Raises:
        UnknownNameError: there is no rule of that code.
        UsageError: an option is wrong, a path does not exist, or nothing could be read.

    """
    if request.explain is not None:
        rule = rule_of(request.explain)
        console().print(f"{rule.code} {rule.name}\n\n{rule.explanation}")
        return OK
    if request.list_rules:
        for rule in RULES.values():
            typer.echo(f"{rule.code} {rule.name}")
        return OK
    settings = nearest_settings(request.paths[0]).overridden(
        select=names_in(request.select), ignore=names_in(request.ignore), exclude=names_in(request.exclude)
    )
    report = scan(request.paths, settings=settings, progress=_progress if sys.stderr.isatty() else None)
    if report.unreadable and not report.files:
        raise UsageError(str(report.unreadable[0]))
    print_report(report, request.paths, output=request.output, statistics=request.statistics)
    return GATE_FAILED if report.findings and not request.exit_zero else OK


def _progress(done: int, files: int) -> None:
    if done == files:
        sys.stderr.write("\r\x1b[K")
    elif done % 10 == 0:
        sys.stderr.write(f"\r{done} of {files} files")
    sys.stderr.flush()


def write_file(source: Source | ConfigSource, text: str) -> str | None:
    """Put a new text in the place of the file a source was read from: all of it or nothing, in the same encoding.

    Returns:
        None, or the sentence why the file stays as it is.

    """
    path = Path(os.path.realpath(source.path))  # a link stays a link
    try:
        if path.read_bytes() != source.encoded(source.text):
            return "it has changed since it was read, so it stays as it is: run the command again."
        replace_durably(path, source.encoded(text))
    except UnicodeEncodeError:
        return f"its encoding {source.encoding} cannot hold the new text, so it stays as it is."
    except OSError as error:
        return f"it cannot be written ({error.strerror or error}), so it stays as it is."
    return None


_SCHEMA = "judgeharness.migrate/1"
_CHANGE = ("line", "framework", "kind", "action", "calls_before", "calls_after")


def migration_json(
    migration: Migration, *, cases: int | None, refused: Mapping[Path, str], write: bool
) -> dict[str, Any]:
    """Return everything `judgeharness migrate` says.

    Args:
        migration: what was found and rewritten.
        cases: for how many cases the extra calls are multiplied out.
        refused: files that were to be written and were not, with the reason.
        write: whether files were to be written.

    """
    return {
        "schema": _SCHEMA,
        "level": migration.level,
        "files_read": migration.seen - len(migration.unreadable),
        "files": [_file(one, refused.get(one.path), write=write) for one in migration.files],
        "unreadable": [
            {"path": str(error.path), "line": error.line, "reason": str(error)} for error in migration.unreadable
        ],
        "totals": _totals([one.rewrite for one in migration.files], cases),
        "written": sorted(str(one.path) for one in migration.changed if write and one.path not in refused),
    }


def _file(one: FileRewrite, refused: str | None, *, write: bool) -> dict[str, Any]:
    rewrite = one.rewrite
    return {
        "path": str(one.path),
        "changed": rewrite.changed,
        "written": write and rewrite.changed and refused is None,
        "changes": [{name: getattr(change, name) for name in _CHANGE} for change in rewrite.changes],
        "by_hand": [asdict(found) for found in rewrite.by_hand],
        "already_harnessed": rewrite.harnessed,
        "problem": refused or rewrite.problem,
        "notes": [*rewrite.notes, *rewrite.line_notes],
        "diff": diff_of(rewrite, one.path),
    }


def _totals(rewrites: Iterable[Rewrite], cases: int | None) -> dict[str, Any]:
    every = list(rewrites)
    cost = cost_of(every)
    return {
        "files_changed": sum(one.changed for one in every),
        "judges_changed": cost.judges,
        "by_hand": cost.by_hand,
        "already_harnessed": cost.already,
        "calls_a_case_before": cost.before,
        "calls_a_case_after": cost.after,
        "judges_with_unknown_calls": cost.unknown,
        "cases": cases,
        "extra_calls": None if cases is None else cost.extra * cases,
    }


_STYLES = {"+": "green", "-": "red", "@": "cyan", "#": "yellow"}


def print_migration(migration: Migration, *, cases: int | None, refused: Mapping[Path, str], write: bool) -> None:
    """Print a migration; see `migration_json` for the arguments."""
    for one in migration.changed:
        _print_diff(console(), diff_of(one.rewrite, one.path))
    cost = cost_of(one.rewrite for one in migration.files)
    costs = [_costs(migration)] if migration.files else []
    show([*costs, *_by_hand(migration), *_sentences(migration, cost, cases, refused, write=write)])


def _print_diff(screen: Console, diff: str) -> None:
    """Print a diff as it is into a pipe; on a terminal in colours, without what could steer it."""
    if not screen.is_terminal:
        screen.file.write(diff)
        return
    for line in diff.splitlines():
        shown = "".join(sign if sign.isprintable() or sign == "\t" else "\N{REPLACEMENT CHARACTER}" for sign in line)
        bold = line.startswith(("+++", "---"))
        screen.print(Text(shown, style="bold" if bold else _STYLES.get(line[:1], "")), soft_wrap=True)


def _costs(migration: Migration) -> Table:
    rows = []
    for one in migration.files:
        cost = cost_of([one.rewrite])
        calls = f"{_least(cost.exact)}{cost.before} -> {cost.after}" if cost.judges else "-"
        calls += f" (+ {cost.unknown} unknown)" if cost.unknown else ""
        rows.append([str(one.path), str(cost.judges), calls, str(cost.by_hand), str(cost.already)])
    columns = ("file", "judges", "calls a case", "by hand", "harnessed")
    return Table.of(f"level {migration.level}: judges, and the calls they make about one case", columns, rows)


def _by_hand(migration: Migration) -> Iterator[str]:
    for one in migration.files:
        for found in one.rewrite.by_hand:
            yield f"by hand: {one.path}:{found.line} {found.kind}: {found.why}: {found.todo}."
        in_no_diff = () if one.rewrite.changed else one.rewrite.line_notes
        for note in (*one.rewrite.notes, *in_no_diff):
            yield f"note: {one.path}: {note}"


def _sentences(
    migration: Migration, cost: Cost, cases: int | None, refused: Mapping[Path, str], *, write: bool
) -> Iterator[str]:
    for one in migration.files:
        if one.rewrite.problem is not None:
            yield f"not rewritten: {one.path}: {one.rewrite.problem}"
    for path, why in refused.items():
        yield f"not written: {path}: {why}"
    for error in migration.unreadable:
        yield f"not read: {error}"
    yield _migrate_summary(migration, cost)
    if cases is not None:
        yield (
            f"{counted(cases, 'case')}, each judged once by each of these judges: {_least(cost.exact)}"
            f"{counted(cost.before * cases, 'call')} before, {cost.after * cases:,} after, {cost.extra * cases:,} more."
        )
    if not migration.changed:
        yield "Nothing to write."
    elif write:
        done, files = len(migration.changed) - len(refused), len(migration.changed)
        yield f"{done} of {counted(files, 'file')} written."
    else:
        yield "Nothing was written; add --write."


def _migrate_summary(migration: Migration, cost: Cost) -> str:
    read = migration.seen - len(migration.unreadable)
    steps = f" ({counted(cost.steps, 'app')} to register, no judge)" if cost.steps else ""
    line = (
        f"{counted(cost.all_judges, 'judge')} in {len(migration.files)} of {counted(read, 'file')}: "
        f"{cost.judges} to change, {cost.by_hand} by hand{steps}, {cost.already} harnessed already"
    )
    if cost.already and cost.harnessed is not None:
        line += f" ({_least(cost.harnessed_exact)}{counted(cost.harnessed, 'call')} a case)"
    if cost.judges:
        line += (
            f"; those to change: {_least(cost.exact)}{counted(cost.before, 'call')} a case before, {cost.after} after"
        )
    return line + (f"; the calls of {counted(cost.unknown, 'judge')} are unknown." if cost.unknown else ".")


def _least(exact: bool) -> str:  # noqa: FBT001 - private
    return "" if exact else "at least "


def migrate_paths(request: MigrateRequest) -> int:
    """Print what a migration changes and costs, write it where that is asked for, and return the exit code.

    Raises:
        UsageError: a path does not exist, or nothing could be read.

    """
    if request.write and request.check:
        raise UsageError("--check writes nothing: leave out --check or --write.")
    migration = migrated(request.paths, request.level, exclude=request.exclude)
    if migration.unreadable and len(migration.unreadable) == migration.seen:
        raise migration.unreadable[0]
    refused = _write(migration) if request.write else {}
    if request.as_json:
        print_json(migration_json(migration, cases=request.cases, refused=refused, write=request.write))
    else:
        print_migration(migration, cases=request.cases, refused=refused, write=request.write)
    if refused:
        return USAGE
    return GATE_FAILED if request.check and migration.changed else OK


def _write(migration: Migration) -> dict[Path, str]:
    """Write the changed files, and return why those that were not written were not."""
    refused = {one.path: write_file(one.source, one.rewrite.after) for one in migration.changed}
    return {path: why for path, why in refused.items() if why is not None}
