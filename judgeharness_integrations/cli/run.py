"""`judgeharness run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["run"]


def run(
    config: Annotated[Path, typer.Argument(help="A configuration: .yaml, .toml or .json.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for verdicts.jsonl, results.jsonl, summary.json.",
            show_default="the key out, else judgeharness-out beside CONFIG",
        ),
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(help="Upper limit for all judges together, retries included.", show_default=False)
    ] = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files of an earlier run.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print summary.json; progress and plan go to stderr.")
    ] = False,
) -> None:
    """Measure judges on cases as a configuration says: plan and cost first, then every answer as a row."""
    from judgeharness_integrations.cli._run import run_config  # noqa: PLC0415 - keeps --help fast

    code = run_config(config, out=out, max_calls=max_calls, yes=yes, overwrite=overwrite, as_json=as_json)
    raise typer.Exit(code)
