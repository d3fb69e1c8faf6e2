"""`judgeharness adapters`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["adapters"]


def adapters(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.adapters/1).")] = False
) -> None:
    """List the frameworks: ready, or the pip line that makes them so."""
    from judgeharness_integrations.cli._adapters import show_adapters  # noqa: PLC0415 - keeps --help fast

    show_adapters(as_json=as_json)
