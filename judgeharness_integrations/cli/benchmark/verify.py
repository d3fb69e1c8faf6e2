"""`judgeharness benchmark verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli.benchmark._models import Concurrency, MaxCalls, MaxCost, Models

__all__ = ["verify"]

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The benchmark's folder.", show_default=False)]
_Verifier = Annotated[
    str | None,
    typer.Option(
        help="Who checks: provider:model, or path/to/file.py:name of a model or function of yours.",
        show_default="the one before, whose answers are kept; nothing new is asked",
    ),
]
_MinGrounded = Annotated[
    float | None,
    typer.Option(help="Share of a turn's claims that must be grounded.", show_default="as before, at first 1.0"),
]
_Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the cascade as JSON; the plan goes to stderr.")]


def verify(
    folder: _Folder,
    *,
    verifier: _Verifier = None,
    min_grounded: _MinGrounded = None,
    models: Models = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    max_concurrency: Concurrency = 8,
    yes: _Yes = False,
    as_json: _Json = False,
) -> None:
    """Check every pair that has conversations, layer by layer.

    Form: rounds, texts, lengths; nobody is asked. Coherence: behaviour, flaw and round of the plans do not conflict.
    Adherence: the declared flaw in the declared turn and nothing else that tells the two apart. Grounding: what the
    assistant states outside the flawed turn stands in the documents, claim by claim. A layer that fails ends a pair,
    its reasons are kept.

    Another verifier replaces the verification; answers are kept and none is asked for twice, so that another
    --min-grounded alone costs nothing. Interrupted or out of budget, the same command goes on.
    """
    from judgeharness_integrations.cli.benchmark._models import Spending  # noqa: PLC0415
    from judgeharness_integrations.cli.benchmark._verify import VerifyRequest, verify_benchmark  # noqa: PLC0415

    request = VerifyRequest(
        folder=folder,
        verifier=verifier,
        min_grounded=min_grounded,
        models=models,
        spending=Spending(max_calls=max_calls, max_cost=max_cost),
        max_concurrency=max_concurrency,
        yes=yes,
        as_json=as_json,
    )
    raise typer.Exit(verify_benchmark(request))
