"""What generating will take, step by step, before the first call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.asker import Asker, Material
from judgeharness_integrations.benchmark.documents import read_documents
from judgeharness_integrations.benchmark.folder import (
    ANSWERS,
    DOCUMENTS,
    LOCK,
    TAXONOMY,
    BenchmarkFolder,
    Settings,
    check_fits,
    digest_of,
)
from judgeharness_integrations.benchmark.generation import generated
from judgeharness_integrations.benchmark.pair import Conditions, Document, Drawing, Pair, Taxonomy, draw_conditions
from judgeharness_integrations.benchmark.results.checks import flow, reasons
from judgeharness_integrations.benchmark.taxonomy import load_taxonomy, read_weights
from judgeharness_integrations.benchmark.verdicts import Cost
from judgeharness_integrations.judging.chatmodels import ChatModel
from judgeharness_integrations.reporting.sections import Block, Table
from judgeharness_integrations.verdictlog.encoding import counted, percent, safe_text

from .._asking import confirm
from .._command import terminable, undisturbed
from .._output import print_json, show
from .asking import Job, Outcome, StepPlan, cost_blocks, cost_document, read_model_file
from .options import Asking, GenerateRequest
from .tables import reason_blocks
from .verify import STEPS

_WRITTEN: Final = {"blueprints": 1, "conversation_better": 1, "conversation_worse": 1}


@dataclass(frozen=True, kw_only=True)
class GeneratePlan:
    """What is asked of whom.

    `pairs` are planned, those `left` by `steps` to be made; `known` answers are kept from before. `characters` of
    `documents` stand in each prompt, on average. `earliest`: failure type -> the first round its flaw can stand in, for
    types that so have longer conversations than --rounds begins with.
    """

    steps: StepPlan
    pairs: int
    documents: int
    characters: int
    known: int
    asking: Asking
    earliest: Mapping[str, int] = field(default_factory=dict)


def _plan_blocks(plan: GeneratePlan) -> Iterator[Block]:
    yield plan.steps.table()
    made = "" if plan.steps.left == plan.pairs else f", {plan.pairs - plan.steps.left} of them made before"
    yield (
        f"pairs: {plan.pairs}{made}; each prompt holds about {plan.characters} characters of {plan.documents} "
        f"document{'' if plan.documents == 1 else 's'}"
    )
    yield plan.steps.text
    for rounds in sorted(set(plan.earliest.values())):
        names = ", ".join(name for name, first in plan.earliest.items() if first == rounds)
        yield f"at least {rounds} rounds, whatever --rounds says, have pairs of {names}: no such flaw can stand earlier"
    if plan.known:
        yield f"answers kept from before: {plan.known}; those that still fit are not asked for again"
    yield plan.asking.limit_line


_ENDINGS: Final = {
    "unfinished": "unfinished",
    "form": "malformed: no pair can be read from the answers",
    "coherence": "incoherent: the plans conflict",
    "adherence": "not adherent: flaw or user are not as declared",
    "grounding": "not grounded: claims outside the flawed turn",
    "unread": "unverified: the verifier could not be read",
    "unverified": "unverified: there was no verifier",
    "accepted": "accepted",
}
_LONGEST_REASON = 100


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What was done: `drawn` are the conditions of all pairs planned, `costs` those of earlier commands too."""

    folder: Path
    settings: Settings
    drawn: Sequence[Conditions]
    outcome: Outcome[Conditions, Pair]
    costs: Sequence[Cost]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it; the counts add up to the pairs planned."""
        ended = flow(self.outcome.made, self.drawn, judged=(), columns=())[0]
        cost = cost_document(self.costs)
        spent = cost["cost"]
        return {
            "schema": "judgeharness.benchmark_generate/1",
            "folder": self.folder.name,
            "state": self.outcome.state,
            "generator": self.settings.generator,
            "verifier": self.settings.verifier,
            "min_grounded": self.settings.min_grounded,
            "seed": self.settings.drawing.seed,
            "planned": ended.planned,
            "counts": {name: getattr(ended, name) for name in _ENDINGS},
            "reasons": [reason.to_dict() for reason in reasons(self._pairs())],
            "calls": self.outcome.calls,
            "cost": cost,
            "cost_per_accepted": spent / ended.accepted if spent is not None and ended.accepted else None,
        }

    def _pairs(self) -> list[Pair]:
        return sorted(self.outcome.made, key=lambda pair: pair.conditions.number)


def print_generated(done: Generated, *, as_json: bool) -> None:
    """Print what became of the pairs and what to do next, as text or as JSON."""
    document = done.to_dict()
    if as_json:
        print_json(document)
        return
    show(_blocks(done, document))


def _blocks(done: Generated, document: Mapping[str, Any]) -> Iterator[Block]:
    planned = document["planned"]
    counts = {name: count for name, count in document["counts"].items() if count}
    rows = [(_ENDINGS[name], str(count), percent(count / planned)) for name, count in counts.items()]
    yield Table.of("pairs", ("what became of them", "pairs", f"% of {planned}"), rows)
    yield from reason_blocks("why", document["reasons"])
    yield from cost_blocks(done.costs, title="what the answers took, earlier commands included")
    yield from _lines(document, str(done.folder))


def _lines(document: Mapping[str, Any], folder: str) -> Iterator[str]:
    each = document["cost_per_accepted"]
    cost = "" if each is None else f"; an accepted pair cost {each:.4f} by the prices given"
    yield f"calls of this command: {document['calls']}, retries included{cost}"
    yield f"written to {folder}: benchmark.json, documents.jsonl, taxonomy.json, pairs.jsonl"
    if document["state"] != "complete":
        return
    if document["verifier"] is None and document["counts"]["unverified"]:
        yield f"next: judgeharness benchmark verify {folder} --verifier MODEL"
    elif document["counts"]["accepted"]:
        yield f"next: judgeharness benchmark judge {folder} --judges MODEL,..."
    else:
        yield from _none_accepted(document, folder)


def _none_accepted(document: Mapping[str, Any], folder: str) -> Iterator[str]:
    """Say what most pairs were turned down for, and where to see it."""
    if document["reasons"]:
        top = max(document["reasons"], key=lambda one: one["pairs"])
        reason = safe_text(top["reason"], _LONGEST_REASON)
        yield f"no pair was accepted: look first at {top['layer']}, {reason} ({top['pairs']} of {document['planned']})"
        yield f"next: judgeharness benchmark show {folder} {top['example']}"
    else:
        yield f"no pair was accepted; next: judgeharness benchmark stats {folder}"


_MOST_ROUNDS = 20


@terminable()
def generate_pairs(request: GenerateRequest) -> int:
    """Make a benchmark, or go on with it, and return the exit code."""
    models = read_model_file(request.asking.models)
    generator = models.model(request.generator)
    verifier = None if request.verifier is None else models.model(request.verifier)
    budget = request.asking.budget(models.prices)
    for model in (generator, verifier):
        if model is not None:
            budget.check_price(model.name)
    documents, taxonomy = read_documents(request.docs, domain=request.domain), load_taxonomy(request.taxonomy)
    folder = BenchmarkFolder(request.out)
    _check_free(folder)
    with folder.held():
        settings = _settings(
            request,
            folder,
            drawing=_drawing(request, documents, taxonomy),
            models=(generator.name, None if verifier is None else verifier.name),
            digests=(digest_of(documents), digest_of([taxonomy])),
        )
        before = folder.pairs()
        with folder.journal() as journal:
            asked = [generator] if verifier is None else [generator, verifier]
            job = Job(journal=journal, models=asked, file=models, budget=budget, options=request.asking)
            return _Generation(
                request=request,
                folder=folder,
                job=job,
                generator=generator,
                verifier=verifier,
                documents=documents,
                taxonomy=taxonomy,
                settings=settings,
                before=before,
            ).run()


def _check_free(folder: BenchmarkFolder) -> None:
    """Refuse a folder that holds something else; what a killed command left of a benchmark is none."""
    if folder.exists or not folder.path.is_dir():
        return
    ours = (DOCUMENTS, TAXONOMY, ANSWERS, LOCK, ".")
    other = sorted(entry.name for entry in folder.path.iterdir() if not entry.name.startswith(ours))
    if other:
        raise UsageError(f"{folder.path} holds something else ({other[0]}): give a folder of its own with --out.")


def _settings(
    request: GenerateRequest,
    folder: BenchmarkFolder,
    *,
    drawing: Drawing,
    models: tuple[str, str | None],
    digests: tuple[str, str],
) -> Settings:
    """Return what the benchmark is made with from now on, by generator and verifier, digests of documents and taxonomy.

    Raises:
        UsageError: the folder's was made with something else.

    """
    kept = folder.settings() if folder.exists else None
    least = 1.0 if kept is None else kept.min_grounded
    wanted = Settings(
        n=request.n,
        drawing=drawing,
        generator=models[0],
        verifier=models[1],
        min_grounded=least if request.min_grounded is None else request.min_grounded,
        documents=digests[0],
        taxonomy=digests[1],
    )
    if kept is not None:
        check_fits(kept, wanted, where=str(folder.path))
    return wanted


def _drawing(request: GenerateRequest, documents: Sequence[Document], taxonomy: Taxonomy) -> Drawing:
    names = {*taxonomy.failure_types, *taxonomy.behaviours, *(document.document_id for document in documents)}
    return Drawing(
        seed=request.seed,
        rounds=_rounds(request.rounds),
        documents_per_pair=request.documents_per_pair,
        weights=read_weights(request.weights, known=names),
    )


def _rounds(text: str) -> tuple[int, int]:
    """Return from and to of `3-7`, or of a single number.

    Raises:
        UsageError: it is neither, or not between 1 and 20.

    """
    low, _, high = text.partition("-")
    high = high or low
    if low.strip().isdecimal() and high.strip().isdecimal() and 1 <= int(low) <= int(high) <= _MOST_ROUNDS:
        return int(low), int(high)
    raise UsageError(f"--rounds is from-to, both between 1 and {_MOST_ROUNDS}, as 3-7, not {text!r}.")


@dataclass(frozen=True, kw_only=True)
class _Generation:
    """A benchmark about to be made; `before` are the pairs its folder has."""

    request: GenerateRequest
    folder: BenchmarkFolder
    job: Job
    generator: ChatModel
    verifier: ChatModel | None
    documents: Sequence[Document]
    taxonomy: Taxonomy
    settings: Settings
    before: Sequence[Pair]

    def run(self) -> int:
        """Say what it takes, ask what is not known yet, write everything down, and return the exit code."""
        drawn = [self._drawn(number) for number in range(self.settings.n)]
        known = self._known_pairs(drawn)
        self._check_kept(known)
        plan = self._plan(drawn, left=len(known.unfinished))
        show(_plan_blocks(plan), stderr=self.request.as_json)
        if plan.steps.left:
            confirm(plan.steps.at_most, yes=self.request.yes, at_most=True)
        self._note()
        rest = self.job.ask([one.item for one in known.unfinished], self._generated, title="pairs")
        with undisturbed():
            outcome = known.then(rest)
            self.folder.write_pairs(self._with_before(outcome.made))
            return self._end(drawn, outcome)

    def _drawn(self, number: int) -> Conditions:
        return draw_conditions(number, documents=self.documents, taxonomy=self.taxonomy, drawing=self.settings.drawing)

    def _known_pairs(self, drawn: Sequence[Conditions]) -> Outcome[Conditions, Pair]:
        """Make the pairs to which every answer is known: what was finished before an interruption needs no call."""
        outcome = self.job.ask(drawn, self._generated, title="known pairs", known=True)
        if outcome.stopped is not None:  # nothing was asked, and nothing is lost
            raise outcome.stopped
        return outcome

    def _check_kept(self, known: Outcome[Conditions, Pair]) -> None:
        """Refuse to write conversations of the folder anew: what judges and people said is about those there are.

        Raises:
            UsageError: the answers that are kept do not make them.

        """
        written = {pair.pair_id: pair.conversations for pair in self.before if pair.conversations is not None}
        left = [unfinished.item for unfinished in known.unfinished if unfinished.item.pair_id in written]
        written_alone = partial(self._generated, checked=False)
        again = self.job.ask(left, written_alone, title="known conversations", known=True)
        if again.stopped is not None:
            raise again.stopped
        made = [pair for pair in (*known.made, *again.made) if pair.pair_id in written]
        other = [pair.pair_id for pair in made if pair.conversations not in (None, written[pair.pair_id])]
        other += [unfinished.item.pair_id for unfinished in again.unfinished]
        if other:
            raise UsageError(
                f"{self.folder.path}: the conversations of {counted(len(other), 'pair')}, as {min(other)}, were "
                f"written with other options of {self.generator.name}, before its file was changed, by another "
                "version, or from answers that are gone: give what they were written with, restore answers.sqlite, or "
                "give another --out."
            )

    def _with_before(self, made: Sequence[Pair]) -> list[Pair]:
        """Return the folder's pairs with those made now in their places; conversations that were written stay."""
        pairs = {pair.conditions.number: pair for pair in self.before}
        for pair in made:
            before = pairs.get(pair.conditions.number)
            kept = before.conversations if before is not None and pair.conversations is None else pair.conversations
            pairs[pair.conditions.number] = pair.model_copy(update={"conversations": kept})
        return list(pairs.values())

    def _plan(self, drawn: Sequence[Conditions], *, left: int) -> GeneratePlan:
        lengths = {chunk.chunk_id: len(chunk.text) for document in self.documents for chunk in document.chunks}
        drawn_types = {conditions.failure_type for conditions in drawn}
        shown = sum(lengths[chunk] for conditions in drawn for chunk in conditions.chunks)
        verifier = self.settings.verifier
        steps = [(step, self.generator.name, calls) for step, calls in _WRITTEN.items()]
        steps += [] if verifier is None else [(step, verifier, calls) for step, calls in STEPS.items()]
        return GeneratePlan(
            steps=StepPlan(steps=steps, left=left),
            pairs=len(drawn),
            documents=len(self.documents),
            characters=round(shown / len(drawn)),
            known=sum(used.answers for used in self.job.journal.usage()),
            asking=self.request.asking,
            earliest={
                kind.name: kind.earliest_round
                for kind in self.taxonomy.failure_types.values()
                if kind.earliest_round > self.settings.drawing.rounds[0] and kind.name in drawn_types
            },
        )

    def _note(self) -> None:
        """Write down what the benchmark is made with before the first call; the settings last: they make it one."""
        if not self.folder.exists:
            self.folder.write_documents(self.documents)
            self.folder.write_taxonomy(self.taxonomy)
        self.folder.write_settings(self.settings)

    async def _generated(self, conditions: Conditions, asker: Asker, *, checked: bool = True) -> Pair:
        """Make a pair; unless it is to be `checked`, it is written alone."""
        return await generated(
            conditions,
            Material.of(conditions, self._documents, self.taxonomy),
            generator=self.generator,
            verifier=self.verifier if checked else None,
            min_grounded=self.settings.min_grounded,
            asker=asker,
        )

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {document.document_id: document for document in self.documents}

    def _end(self, drawn: Sequence[Conditions], outcome: Outcome[Conditions, Pair]) -> int:
        done = Generated(
            folder=self.folder.path, settings=self.settings, drawn=drawn, outcome=outcome, costs=self.job.costs()
        )
        print_generated(done, as_json=self.request.as_json)
        return self.job.end(outcome, "pairs")
