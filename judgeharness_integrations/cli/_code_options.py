"""The options of `judgeharness scan`, `migrate`, `selftest` and `adapters`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import Exclude

_PARSER = "judgeharness_integrations.migration.sources:check_parser"  # both commands read sources with libcst
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
    select: Annotated[tuple[str, ...], typer.Option(help=f"Only these codes or prefixes (JH00){_CODES}")] = ()
    ignore: Annotated[tuple[str, ...], typer.Option(help=f"Not these codes or prefixes{_CODES}")] = ()
    exclude: Exclude = ()
    output: Annotated[
        str | None,
        typer.Option(
            "--format", help="text, json, github or sarif.", show_default="text; github where GITHUB_ACTIONS=true"
        ),
    ] = None
    statistics: Annotated[bool, typer.Option("--statistics", help="Count findings by code, without listing.")] = False
    explain: Annotated[str | None, typer.Option(metavar="CODE", help="Say what a rule finds and why.")] = None
    list_rules: Annotated[bool, typer.Option("--list", help="List the rules.")] = False
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="Exit with 0 in spite of findings.")] = False


scan = command(ScanRequest, "judgeharness_integrations.cli.scan:scan_code", needs=_PARSER)


@dataclass(frozen=True, kw_only=True)
class MigrateRequest:
    """Put the judges in your code under a harness: a diff, and the calls it will cost. Nothing is asked.

    LangChain evaluators, openevals judges, LangSmith evaluators and ADK metrics are wrapped; judges written by hand are
    listed. Formatting and comments stay as they are.
    """

    paths: Annotated[tuple[Path, ...], typer.Argument(metavar="PATH...", help="Python files, ADK configs, folders.")]
    level: Annotated[
        str,
        typer.Option(
            help="single: one call a case, the same verdicts; measured: JudgeHarness.standard, also where "
            "single was written earlier."
        ),
    ] = "single"
    exclude: Exclude = ()
    write: Annotated[bool, typer.Option("--write", help="Write the files. Without it nothing is written.")] = False
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something would change.")] = False
    cases: Annotated[int | None, typer.Option(help="Say what so many cases will cost.", min=1)] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.migrate/1).")] = False


migrate = command(MigrateRequest, "judgeharness_integrations.cli.migrate:migrate_paths", needs=_PARSER)


@dataclass(frozen=True, kw_only=True)
class SelftestRequest:
    """Put this product to the test: intervals, faults it must name, rules, workflows. Exit code 1 when one misses."""

    full: Annotated[
        bool, typer.Option("--full", help="Every check at every point, thousands of replicates; takes a night.")
    ] = False
    only: Annotated[tuple[str, ...], typer.Option(help="A part of a name; may be given several times.")] = ()
    seed: Annotated[int, typer.Option(help="Of the random numbers; the same gives the same report.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.selftest/1).")] = False


selftest = command(SelftestRequest, "judgeharness_integrations.cli.selftest:show_selftest")


@dataclass(frozen=True, kw_only=True)
class AdaptersRequest:
    """List the frameworks: ready, or the pip line that makes them so; --check whether each keeps the harness's laws.

    With --check the exit code is 1 when an adapter fails a check or cannot be loaded.
    """

    name: Annotated[str | None, typer.Argument(help="Only this adapter.")] = None
    check: Annotated[
        bool, typer.Option("--check", help="Run the conformance suite on scripted models: nothing is asked.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.adapters/1).")] = False


adapters = command(AdaptersRequest, "judgeharness_integrations.cli.adapters:show_adapters")
