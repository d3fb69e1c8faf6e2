"""What `judgeharness scan` does: findings as text, JSON, SARIF 2.1.0 or annotations of a GitHub workflow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer
from rich.text import Text

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations._version import __version__
from judgeharness_integrations.cli._code_options import ScanRequest
from judgeharness_integrations.cli._output import print_json
from judgeharness_integrations.cli.exits import GATE_FAILED, OK
from judgeharness_integrations.migration.inspection import Finding, described
from judgeharness_integrations.migration.rewriting import NextStep
from judgeharness_integrations.migration.rules import RULES, rule_of
from judgeharness_integrations.migration.scanning import ScanReport, nearest_settings, scan
from judgeharness_integrations.migration.sources import ConfigSource, Source, SourceError
from judgeharness_integrations.reporting.terminal import console, table
from judgeharness_integrations.verdictlog.plain import counted, safe_text


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
    elif output == "github":
        for finding in report.findings:
            sys.stdout.write(annotation(finding) + "\n")
        typer.echo(_summary(report))
    else:
        _print_text(report, paths, statistics=statistics)


def annotation(finding: Finding) -> str:
    """Return a finding as a command of GitHub's workflow log; texts cannot leave their place in it."""
    name = RULES[finding.code].name
    properties = {
        "file": finding.path.as_posix(),
        "line": finding.line,
        "col": finding.column,
        "endLine": finding.end_line,
        "title": f"{finding.code} {name}",
    }
    listed = ",".join(f"{key}={_escaped(str(value), property_=True)}" for key, value in properties.items())
    return f"::warning {listed}::{_escaped(finding.message)}"


def _escaped(text: str, *, property_: bool = False) -> str:
    """Percent-encode as GitHub's toolkit does: `%`, CR and LF everywhere, colons and commas in properties."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if property_ else text


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
            for finding in found:
                _print_finding(finding, lines)
    else:
        for one in report.findings:
            sys.stdout.write(f"{_place(one)} {one.code} {safe_text(one.message, _LONGEST)}\n")
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


def _print_finding(finding: Finding, lines: Sequence[str]) -> None:
    screen = console()
    head = Text(f"  {finding.line}:{finding.column} ")
    head.append(finding.code, style="bold yellow")
    screen.print(head.append(f" {safe_text(finding.message, _LONGEST)}"))
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
    line = (
        f"{counted(len(report.findings), 'finding')} in {files} of {counted(report.files, 'file')}; {_judges(report)}"
    )
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


_FORMATS = ("text", "json", "github", "sarif")


def scan_code(request: ScanRequest) -> int:
    """Explain a rule, list all of them, or scan and print what was found; return 1 on findings.

    Raises:
        UnknownNameError: there is no rule of that code, or no such format.
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
    chosen = _format(request.output)
    settings = nearest_settings(request.paths[0]).overridden(
        select=_split(request.select), ignore=_split(request.ignore), exclude=_split(request.exclude)
    )
    report = scan(request.paths, settings=settings, progress=_progress if sys.stderr.isatty() else None)
    if report.unreadable and not report.files:
        raise UsageError(str(report.unreadable[0]))
    print_report(report, request.paths, output=chosen, statistics=request.statistics)
    return GATE_FAILED if report.findings and not request.exit_zero else OK


def _format(given: str | None) -> str:
    if given is None:
        return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"
    if given not in _FORMATS:
        raise UnknownNameError("format", given, _FORMATS)
    return given


def _split(given: Sequence[str]) -> list[str]:
    return [one.strip() for text in given for one in text.split(",") if one.strip()]


def _progress(done: int, files: int) -> None:
    if done == files:
        sys.stderr.write("\r\x1b[K")
    elif done % 10 == 0:
        sys.stderr.write(f"\r{done} of {files} files")
    sys.stderr.flush()
