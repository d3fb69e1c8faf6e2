"""What `judgeharness scan` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.cli.exits import GATE_FAILED
from judgeharness_integrations.migration.sources import check_parser

__all__ = ["explain_rule", "list_all_rules", "scan_paths"]

_FORMATS = ("text", "json", "github", "sarif")


def explain_rule(code: str) -> None:
    """Print what a rule finds and why.

    Raises:
        UnknownNameError: there is no such rule.

    """
    check_parser()
    from judgeharness_integrations.cli._printing import console  # noqa: PLC0415 - rules need libcst
    from judgeharness_integrations.migration.rules import rule_of  # noqa: PLC0415

    rule = rule_of(code)
    screen = console()
    screen.print(f"{rule.code} {rule.name}\n\n{rule.explanation}")


def list_all_rules() -> None:
    """Print every code with its name."""
    check_parser()
    from judgeharness_integrations.migration.rules import RULES  # noqa: PLC0415 - rules need libcst

    for rule in RULES.values():
        typer.echo(f"{rule.code} {rule.name}")


def scan_paths(
    paths: Sequence[Path],
    *,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    output: str | None,
    statistics: bool,
    exit_zero: bool,
) -> None:
    """Scan and print what was found; exits with 1 on findings.

    Raises:
        UsageError: an option is wrong, a path does not exist, or nothing could be read.

    """
    check_parser()
    chosen = _format(output)
    from judgeharness_integrations.migration.scanning import scan  # noqa: PLC0415 - rules need libcst
    from judgeharness_integrations.migration.settings import nearest_settings  # noqa: PLC0415

    settings = nearest_settings(paths[0]).overridden(
        select=_split(select), ignore=_split(ignore), exclude=_split(exclude)
    )
    report = scan(paths, settings=settings, progress=_progress if sys.stderr.isatty() else None)
    if report.unreadable and not report.files:
        raise UsageError(str(report.unreadable[0]))
    from judgeharness_integrations.cli._scan_output import print_report  # noqa: PLC0415 - only now is there a report

    print_report(report, paths, output=chosen, statistics=statistics)
    if report.findings and not exit_zero:
        raise typer.Exit(GATE_FAILED)


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
