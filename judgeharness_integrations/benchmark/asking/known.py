"""A model whose answers are all kept: what was made of them can be made again without it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.asking.journal import Journal
from judgeharness_integrations.chatmodels import Completion, Prompt

__all__ = ["KnownModel", "known_model"]


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """The name and parameters of a model that answered before; it is not there to be asked anything new."""

    name: str
    parameters: Mapping[str, Any]

    async def complete(self, prompt: Prompt) -> Completion:
        """Refuse.

        Raises:
            UsageError: always.

        """
        raise UsageError(f"no answer of {self.name} to {prompt.step} is kept: name the model.")


def known_model(journal: Journal, name: str, *, steps: Collection[str]) -> KnownModel | None:
    """Return the model of a name that answered some steps; None where none did, or several with other parameters."""
    found = [parameters for known, parameters in journal.models(steps) if known == name]
    return KnownModel(name=name, parameters=found[0]) if len(found) == 1 else None
