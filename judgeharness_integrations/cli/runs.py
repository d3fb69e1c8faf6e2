"""`judgeharness runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["runs"]


def runs(
    log: Annotated[
        str,
        typer.Argument(help="A log, or the folder of a run.", envvar="JUDGEHARNESS_LOG"),
    ] = "judgeharness-out",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List the runs of a log: how far each is, how it ended and what it cost."""
    from judgeharness_integrations.cli._runs import list_runs  # noqa: PLC0415 - keeps --help fast

    list_runs(log if "://" in log else Path(log), as_json=as_json)
