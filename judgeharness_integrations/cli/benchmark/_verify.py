"""What `judgeharness benchmark verify` does: what is known from the journal first, then the verifier about the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.asking.asker import Asker
from judgeharness_integrations.benchmark.asking.journal import Journal
from judgeharness_integrations.benchmark.asking.known import KnownModel, known_model
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.generation.material import Material
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.settings import Settings
from judgeharness_integrations.benchmark.verification.cascade import verified
from judgeharness_integrations.chatmodels import ChatModel
from judgeharness_integrations.cli._asking import confirm
from judgeharness_integrations.cli._stopping import terminable, undisturbed
from judgeharness_integrations.cli.benchmark._going import Outcome, ask_all, cost_rows, ended
from judgeharness_integrations.cli.benchmark._models import ModelFile, Spending, read_model_file
from judgeharness_integrations.cli.benchmark._verify_output import (
    STEPS,
    Verified,
    VerifyPlan,
    print_plan,
    print_verified,
)
from judgeharness_integrations.execution.budget import Budget

__all__ = ["VerifyRequest", "verify_benchmark"]


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """What the command was given."""

    folder: Path
    verifier: str | None
    min_grounded: float | None
    models: Path | None
    spending: Spending
    max_concurrency: int
    yes: bool
    as_json: bool


@terminable()
def verify_benchmark(request: VerifyRequest) -> int:
    """Verify the pairs of a folder that have conversations, and return the exit code."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    models = read_model_file(request.models)
    verifier = _known(folder) if request.verifier is None else models.model(request.verifier)
    budget = request.spending.budget(models)
    budget.check_price(verifier.name)
    with folder.held():
        folder.check_documents()
        before = folder.settings()
        settings = before.model_copy(
            update={"verifier": verifier.name, "min_grounded": _least(request.min_grounded, before)}
        )
        pairs = folder.pairs()
        if not any(pair.conversations for pair in pairs):
            raise UsageError(
                f"{folder.path} holds no pair with conversations yet: write them with judgeharness benchmark generate."
            )
        with folder.journal() as journal:
            going = _Going(
                request=request,
                folder=folder,
                models=models,
                verifier=verifier,
                budget=budget,
                journal=journal,
                before=before,
                settings=settings,
                pairs=pairs,
            )
            return going.go()


def _known(folder: BenchmarkFolder) -> ChatModel:
    """Return the verifier of the settings, as far as its answers go: without one named, nothing new is asked."""
    name = folder.settings().verifier
    if name is None:
        raise UsageError(f"{folder.path} has not been verified yet: name who checks, as --verifier MODEL.")
    with folder.journal() as journal:
        found = known_model(journal, name, steps=STEPS)
    if found is None:
        raise UsageError(
            f"the answers that {name} gave about {folder.path} are not kept, or it had several options: name it as "
            "--verifier MODEL."
        )
    return found


def _least(given: float | None, before: Settings) -> float:
    if given is not None and not (math.isfinite(given) and 0 <= given <= 1):
        raise UsageError(f"--min-grounded is a share between 0 and 1, not {given:g}.")
    return before.min_grounded if given is None else given


@dataclass(frozen=True, kw_only=True)
class _Going:
    """A verification about to be made; `settings` are those it leaves behind, `before` those it found."""

    request: VerifyRequest
    folder: BenchmarkFolder
    models: ModelFile
    verifier: ChatModel
    budget: Budget
    journal: Journal
    before: Settings
    settings: Settings
    pairs: Sequence[Pair]

    def go(self) -> int:
        """Say what it takes, ask, write everything down, and return the exit code."""
        asked = [pair for pair in self.pairs if pair.conversations is not None]
        known = self._asked(asked, Budget(max_calls=0), title="known pairs")
        if known.stopped is not None:
            return self._written(known)
        left = [unfinished.item for unfinished in known.unfinished]
        if left and isinstance(self.verifier, KnownModel):
            raise UsageError(
                f"{len(left)} of {len(asked)} pairs need answers that {self.verifier.name} has not given: name it as "
                "--verifier MODEL."
            )
        plan = VerifyPlan(
            verifier=self.verifier.name,
            pairs=len(asked),
            others=len(self.pairs) - len(asked),
            left=len(left),
            readings=Asker.readings,
            spending=self.request.spending,
        )
        print_plan(plan, stderr=self.request.as_json)
        if not left:
            return self._written(known)
        confirm(plan.at_most, yes=self.request.yes, at_most=True)
        rest = self._asked(left, self.budget, title="pairs")
        return self._written(Outcome(results=(*known.made, *rest.results), stopped=rest.stopped, calls=rest.calls))

    def _asked(self, pairs: Sequence[Pair], budget: Budget, *, title: str) -> Outcome[Pair, Pair]:
        documents = {document.document_id: document for document in self.folder.documents()}
        taxonomy = self.folder.taxonomy()
        asker = Asker(journal=self.journal, budget=budget, policy=self.request.spending.policy)

        async def make(pair: Pair) -> Pair:
            return await verified(
                pair,
                Material.of(pair.conditions, documents, taxonomy),
                verifier=self.verifier,
                min_grounded=self.settings.min_grounded,
                asker=asker,
            )

        return ask_all(
            pairs,
            make,
            models=[self.verifier],
            budget=budget,
            concurrency=self.request.max_concurrency,
            title=title,
        )

    def _written(self, outcome: Outcome[Pair, Pair]) -> int:
        """Write down what was verified; the settings name a verifier once every pair was verified by it."""
        with undisturbed():
            pairs = list(({pair.pair_id: pair for pair in (*self.pairs, *outcome.made)}).values())
            if not outcome.unfinished:
                pairs = [_under(self.settings, pair) for pair in pairs]
            self.folder.write_pairs(pairs)
            if not outcome.unfinished:
                self.folder.write_settings(self.settings)
            costs = cost_rows(self.journal.usage(), self.models.prices, steps=STEPS)
            done = Verified(
                folder=self.folder.path,
                before=self.before,
                settings=self.settings,
                pairs=pairs,
                outcome=outcome,
                costs=costs,
            )
            print_verified(done, as_json=self.request.as_json)
            return ended(outcome, what="pairs", options=self.models.options)


def _under(settings: Settings, pair: Pair) -> Pair:
    """Return a pair that ended before its conversations with the share that holds now, as if it was made with it."""
    if pair.conversations is not None:
        return pair
    found = pair.verification.model_copy(update={"min_grounded": settings.min_grounded})
    return pair.model_copy(update={"verification": found})
