"""`judgeharness adapters`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["adapters"]


def adapters(
    name: Annotated[str | None, typer.Argument(help="Only this adapter.", show_default=False)] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Run the conformance suite on scripted models: nothing is asked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.adapters/1).")] = False,
) -> None:
    """List the frameworks: ready, or the pip line that makes them so; --check whether each keeps the harness's laws.

    With --check the exit code is 1 when an adapter fails a check or cannot be loaded.
    """
    from judgeharness_integrations.cli._adapters import show_adapters  # noqa: PLC0415 - keeps --help fast

    if not show_adapters(name, check=check, as_json=as_json):
        from judgeharness_integrations.cli.exits import GATE_FAILED  # noqa: PLC0415

        raise typer.Exit(GATE_FAILED)
