"""`judgeharness adapters`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command


@dataclass(frozen=True, kw_only=True)
class AdaptersRequest:
    """List the frameworks: ready, or the pip line that makes them so; --check whether each keeps the harness's laws.

    With --check the exit code is 1 when an adapter fails a check or cannot be loaded.
    """

    name: Annotated[str | None, typer.Argument(help="Only this adapter.", show_default=False)] = None
    check: Annotated[
        bool, typer.Option("--check", help="Run the conformance suite on scripted models: nothing is asked.")
    ] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.adapters/1).")] = False


adapters = command(AdaptersRequest, "judgeharness_integrations.cli._adapters:show_adapters")
