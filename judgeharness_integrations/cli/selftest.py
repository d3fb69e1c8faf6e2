"""`judgeharness selftest`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["selftest"]


def selftest(
    *,
    full: Annotated[
        bool, typer.Option("--full", help="Every check at every point, thousands of replicates; takes a night.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="A part of a name; may be given several times.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random numbers; the same gives the same report.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.selftest/1).")] = False,
) -> None:
    """Put this product to the test: intervals, faults it must name, rules, workflows. Exit code 1 when one misses."""
    from judgeharness_integrations.cli._selftest import show_selftest  # noqa: PLC0415 - keeps --help fast

    raise typer.Exit(show_selftest(full=full, only=tuple(only or ()), seed=seed, as_json=as_json))
