"""`judgeharness scan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["scan"]

_CODES = "; several, with commas or the option given again."


def scan(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...", help="Python files, ADK configs, folders; the working directory by default."
        ),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help=f"Only these codes or prefixes (JH00){_CODES}", show_default=False)
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help=f"Not these codes or prefixes{_CODES}", show_default=False)
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out files or folders, as build or */generated/*; may be given several times.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--format", help="text, json, github or sarif.", show_default="text; github where GITHUB_ACTIONS=true"
        ),
    ] = None,
    *,
    statistics: Annotated[bool, typer.Option("--statistics", help="Count findings by code, without listing.")] = False,
    explain: Annotated[
        str | None, typer.Option(metavar="CODE", help="Say what a rule finds and why.", show_default=False)
    ] = None,
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules.")] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 in spite of findings.")] = False,
) -> None:
    """Find single-call judges in Python files and ADK configs. Nothing is executed, imported or asked.

    Exits with 1 on findings. `# noqa: JH002` hides one, `# judgeharness: noqa` a file; [tool.judgeharness.scan] of
    the first path's nearest pyproject.toml has select, ignore, exclude and per-file-ignores.
    """
    from judgeharness_integrations.cli._scan import explain_rule, list_all_rules, scan_paths  # noqa: PLC0415 - fast help

    if explain is not None:
        explain_rule(explain)
    elif list_rules:
        list_all_rules()
    else:
        scan_paths(
            paths or [Path()],
            select=select or (),
            ignore=ignore or (),
            exclude=exclude or (),
            output=output,
            statistics=statistics,
            exit_zero=exit_zero,
        )
