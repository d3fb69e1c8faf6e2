"""`judgeharness benchmark verify`: its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli._shared_options import Yes
from judgeharness_integrations.cli.benchmark._models import Concurrency, Models, Spending


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Check every pair that has conversations, layer by layer.

    Form: rounds, texts, lengths; nobody is asked. Coherence: behaviour, flaw and round of the plans do not conflict.
    Adherence: the declared flaw in the declared turn and nothing else that tells the two apart. Grounding: what the
    assistant states outside the flawed turn stands in the documents, claim by claim. A layer that fails ends a pair,
    its reasons are kept.

    Another verifier replaces the verification; answers are kept and none is asked for twice, so that another
    --min-grounded alone costs nothing. Interrupted or out of budget, the same command goes on.
    """

    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The benchmark's folder.", show_default=False)]
    verifier: Annotated[
        str | None,
        typer.Option(
            help="Who checks: provider:model, or path/to/file.py:name of a model or function of yours.",
            show_default="the one before, whose answers are kept; nothing new is asked",
        ),
    ] = None
    min_grounded: Annotated[
        float | None,
        typer.Option(help="Share of a turn's claims that must be grounded.", show_default="as before, at first 1.0"),
    ] = None
    models: Models = None
    spending: Spending = field(default_factory=Spending)
    max_concurrency: Concurrency = 8
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the cascade as JSON; the plan goes to stderr.")] = False


verify = command(VerifyRequest, "judgeharness_integrations.cli.benchmark._verify:verify_benchmark")
