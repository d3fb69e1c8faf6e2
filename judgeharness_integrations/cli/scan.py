"""`judgeharness scan`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import Exclude

_CODES = "; several, with commas or the option given again."


@dataclass(frozen=True, kw_only=True)
class ScanRequest:
    """Find single-call judges in Python files and ADK configs. Nothing is executed, imported or asked.

    Exits with 1 on findings. `# noqa: JH002` hides one, `# judgeharness: noqa` a file; [tool.judgeharness.scan] of
    the first path's nearest pyproject.toml has select, ignore, exclude and per-file-ignores.
    """

    paths: Annotated[
        tuple[Path, ...],
        typer.Argument(
            metavar="[PATH]...", help="Python files, ADK configs, folders; the working directory by default."
        ),
    ] = (Path(),)
    select: Annotated[
        tuple[str, ...], typer.Option(help=f"Only these codes or prefixes (JH00){_CODES}", show_default=False)
    ] = ()
    ignore: Annotated[
        tuple[str, ...], typer.Option(help=f"Not these codes or prefixes{_CODES}", show_default=False)
    ] = ()
    exclude: Exclude = ()
    output: Annotated[
        str | None,
        typer.Option(
            "--format", help="text, json, github or sarif.", show_default="text; github where GITHUB_ACTIONS=true"
        ),
    ] = None
    statistics: Annotated[bool, typer.Option("--statistics", help="Count findings by code, without listing.")] = False
    explain: Annotated[
        str | None, typer.Option(metavar="CODE", help="Say what a rule finds and why.", show_default=False)
    ] = None
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules.")] = False
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 in spite of findings.")] = False


scan = command(ScanRequest, "judgeharness_integrations.cli._scan:scan_code")
