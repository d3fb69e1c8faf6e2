"""`judgeharness selftest`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command


@dataclass(frozen=True, kw_only=True)
class SelftestRequest:
    """Put this product to the test: intervals, faults it must name, rules, workflows. Exit code 1 when one misses."""

    full: Annotated[
        bool, typer.Option("--full", help="Every check at every point, thousands of replicates; takes a night.")
    ] = False
    only: Annotated[
        tuple[str, ...], typer.Option(help="A part of a name; may be given several times.", show_default=False)
    ] = ()
    seed: Annotated[int, typer.Option(help="Of the random numbers; the same gives the same report.")] = 0
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.selftest/1).")] = False


selftest = command(SelftestRequest, "judgeharness_integrations.cli._selftest:show_selftest")
