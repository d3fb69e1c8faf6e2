"""What `judgeharness benchmark verify` prints: the plan, the cascade, and what it took."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.asker import Asker, Material
from judgeharness_integrations.benchmark.folder import BenchmarkFolder, KnownModel, Settings, known_model
from judgeharness_integrations.benchmark.pair import Document, Pair, Taxonomy
from judgeharness_integrations.benchmark.results.checks import reasons, tallies
from judgeharness_integrations.benchmark.verdicts import Cost
from judgeharness_integrations.benchmark.verification import verified
from judgeharness_integrations.judging.chatmodels import ChatModel
from judgeharness_integrations.reporting.sections import Block, Table
from judgeharness_integrations.verdictlog.encoding import percent, safe_text

from .._asking import confirm
from .._command import terminable, undisturbed
from .._output import print_json, show
from .asking import Job, Outcome, StepPlan, cost_blocks, cost_document, read_model_file
from .options import Asking, VerifyRequest
from .tables import reason_blocks

STEPS: Final = {"coherence": 1, "adherence": 1, "claims": 2, "grounding": 2}
"""Steps of the verifier and how often each is asked about a pair; the last two of each conversation."""
_LAYER_WORDS: Final = ("layer", "passed", "failed", "unread", "not run", "of pairs")


@dataclass(frozen=True, kw_only=True)
class VerifyPlan:
    """What is to be asked: of `pairs` with conversations some are left to `steps`; `others` have no conversations."""

    steps: StepPlan
    pairs: int
    others: int
    asking: Asking


@dataclass(frozen=True, kw_only=True)
class Verified:
    """What was done: `pairs` are all of the folder, `settings` what was asked for, `before` what was before."""

    folder: Path
    before: Settings
    settings: Settings
    pairs: Sequence[Pair]
    outcome: Outcome[Pair, Pair]
    costs: Sequence[Cost]


def _plan_blocks(plan: VerifyPlan) -> Iterator[Block]:
    if plan.steps.left:
        yield plan.steps.table()
    known = plan.pairs - plan.steps.left
    yield f"pairs with conversations: {plan.pairs}" + (
        f"; every answer about {known} of them is known already" if known else ""
    )
    if plan.others:
        yield f"pairs without conversations, which stay as they are: {plan.others}"
    if plan.steps.left:
        yield plan.steps.text
        yield plan.asking.limit_line


def print_verified(done: Verified, *, as_json: bool) -> None:
    """Print what became of the pairs, as text or as JSON."""
    if as_json:
        print_json(_document(done))
        return
    show(_blocks(done))


def _blocks(done: Verified) -> Iterator[Block]:
    rows = (
        (tally.layer, *map(str, (tally.passed, tally.failed, tally.unread, tally.not_run, tally.pairs)))
        for tally in tallies(done.pairs)
    )
    yield Table.of("cascade", _LAYER_WORDS, rows)
    yield from reason_blocks("why", list(_reasons(done)))
    yield from cost_blocks(done.costs, title="what verification took, earlier commands included")
    yield from _lines(done)


def _lines(done: Verified) -> Iterator[str]:
    states, total = Counter(pair.state for pair in done.pairs), len(done.pairs)
    accepted = f"accepted {states['accepted']} of {total} pairs ({percent(states['accepted'] / total)} %)"
    yield f"{accepted}, rejected {states['rejected']}, unverified {states['unverified']}"
    earlier = _earlier(done)
    if earlier:
        by = f"by {safe_text(str(done.settings.verifier), 60)}"
        yield f"{earlier} of them are not verified {by} yet, and counted as they were before"
    yield _calls(done)
    if any(tally.unread for tally in tallies(done.pairs)):
        yield "answers that could not be read are kept and not asked for again; another --verifier begins anew"
    if not done.outcome.unfinished:
        next_ = "judge" if states["accepted"] else "stats"
        options = " --judges MODEL,..." if states["accepted"] else ""
        yield f"next: judgeharness benchmark {next_} {safe_text(str(done.folder))}{options}"


def _earlier(done: Verified) -> int:
    """Return how many pairs with conversations stand as an earlier verification left them, if there was one."""
    asked = [pair.verification for pair in done.pairs if pair.conversations is not None]
    wished = (done.settings.verifier, done.settings.min_grounded)
    return sum((found.verifier, found.min_grounded) != wished for found in asked)


def _calls(done: Verified) -> str:
    least, before = done.settings.min_grounded, done.before.min_grounded
    changed = f"; min_grounded {least:g} instead of {before:g}" if least != before else f"; min_grounded {least:g}"
    if not done.outcome.calls and not done.outcome.unfinished:
        return f"0 calls: every answer was known{changed}"
    return f"calls of this command: {done.outcome.calls}, retries included{changed}"


def _reasons(done: Verified) -> Iterator[dict[str, Any]]:
    """Yield why pairs were rejected, then what could not be read, as documents keep it."""
    for one in reasons(done.pairs):
        yield {"layer": one.layer, "status": "failed"} | one.to_dict()
    for tally in tallies(done.pairs):
        for why, count in tally.because:
            yield {"layer": tally.layer, "status": "unread", "reason": why, "pairs": count, "example": None}


def _document(done: Verified) -> dict[str, Any]:
    states = Counter(pair.state for pair in done.pairs)
    return {
        "schema": "judgeharness.benchmark_verify/1",
        "folder": done.folder.name,
        "state": done.outcome.state,
        "verifier": done.settings.verifier,
        "min_grounded": done.settings.min_grounded,
        "pairs": len(done.pairs),
        "with_conversations": sum(pair.conversations is not None for pair in done.pairs),
        "unfinished": len(done.outcome.unfinished),
        "not_verified_yet": _earlier(done),
        "calls": done.outcome.calls,
        "counts": {state: states[state] for state in ("accepted", "rejected", "unverified")},
        "layers": [
            {name: value for name, value in asdict(tally).items() if name != "because"} for tally in tallies(done.pairs)
        ],
        "reasons": list(_reasons(done)),
        "cost": cost_document(done.costs),
    }


@terminable()
def verify_benchmark(request: VerifyRequest) -> int:
    """Verify the pairs of a folder that have conversations, and return the exit code."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    models = read_model_file(request.asking.models)
    verifier = _verifier_before(folder) if request.verifier is None else models.model(request.verifier)
    budget = request.asking.budget(models.prices)
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
            job = Job(journal=journal, models=[verifier], file=models, budget=budget, options=request.asking)
            return _Verification(
                request=request,
                folder=folder,
                job=job,
                verifier=verifier,
                before=before,
                settings=settings,
                pairs=pairs,
            ).run()


def _verifier_before(folder: BenchmarkFolder) -> ChatModel:
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
class _Verification:
    """A verification about to be made; `settings` are those it leaves behind, `before` those it found."""

    request: VerifyRequest
    folder: BenchmarkFolder
    job: Job
    verifier: ChatModel
    before: Settings
    settings: Settings
    pairs: Sequence[Pair]

    def run(self) -> int:
        """Say what it takes, ask, write everything down, and return the exit code."""
        asked = [pair for pair in self.pairs if pair.conversations is not None]
        known = self.job.ask(asked, self._verified, title="known pairs", known=True)
        if known.stopped is not None:
            return self._write(known)
        left = [unfinished.item for unfinished in known.unfinished]
        if left and isinstance(self.verifier, KnownModel):
            raise UsageError(
                f"{len(left)} of {len(asked)} pairs need answers that {self.verifier.name} has not given: name it as "
                "--verifier MODEL."
            )
        plan = VerifyPlan(
            steps=StepPlan(steps=[(step, self.verifier.name, n) for step, n in STEPS.items()], left=len(left)),
            pairs=len(asked),
            others=len(self.pairs) - len(asked),
            asking=self.request.asking,
        )
        show(_plan_blocks(plan), stderr=self.request.as_json)
        if not left:
            return self._write(known)
        confirm(plan.steps.at_most, yes=self.request.yes, at_most=True)
        return self._write(known.then(self.job.ask(left, self._verified, title="pairs")))

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.document_id: document for document in self.folder.documents()}

    @cached_property
    def _taxonomy(self) -> Taxonomy:
        return self.folder.taxonomy()

    async def _verified(self, pair: Pair, asker: Asker) -> Pair:
        return await verified(
            pair,
            Material.of(pair.conditions, self._documents, self._taxonomy),
            verifier=self.verifier,
            min_grounded=self.settings.min_grounded,
            asker=asker,
        )

    def _write(self, outcome: Outcome[Pair, Pair]) -> int:
        """Write down what was verified; the settings name a verifier once every pair was verified by it."""
        with undisturbed():
            pairs = list(({pair.pair_id: pair for pair in (*self.pairs, *outcome.made)}).values())
            if not outcome.unfinished:
                pairs = [_under(self.settings, pair) for pair in pairs]
            self.folder.write_pairs(pairs)
            if not outcome.unfinished:
                self.folder.write_settings(self.settings)
            done = Verified(
                folder=self.folder.path,
                before=self.before,
                settings=self.settings,
                pairs=pairs,
                outcome=outcome,
                costs=self.job.costs(STEPS),
            )
            print_verified(done, as_json=self.request.as_json)
            return self.job.end(outcome, "pairs")


def _under(settings: Settings, pair: Pair) -> Pair:
    """Return a pair that ended before its conversations with the share that holds now, as if it was made with it."""
    if pair.conversations is not None:
        return pair
    found = pair.verification.model_copy(update={"min_grounded": settings.min_grounded})
    return pair.model_copy(update={"verification": found})
