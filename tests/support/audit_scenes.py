"""Benchmarks to audit, made from records alone: pairs in every state, hostile texts, and what judges said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from judgeharness_integrations.audit.source import Answering, CaseView, Choice, Item, Progress
from judgeharness_integrations.benchmark.folder import BenchmarkFolder, Settings
from judgeharness_integrations.benchmark.pair import (
    LAYERS,
    Behaviour,
    Blueprint,
    Blueprints,
    Chunk,
    Claim,
    Conditions,
    Conversation,
    Conversations,
    Document,
    FailureType,
    LayerResult,
    Pair,
    RoundPlan,
    Taxonomy,
    Turn,
    TurnGrounding,
    Verification,
    clean,
)
from judgeharness_integrations.verdictlog.row import VerdictRow
from support.report_scenes import HOSTILE

TOKEN = "a-token-for-tests"  # noqa: S105 - of a server on loopback that lives for a test
FAILURES = ("self_contradiction", "evasion", "fabricated_answer")
BEHAVIOURS = ("focused", "skeptical")
JUDGES = {"strong": 9, "middling": 6, "weak": 3}  # how many of ten pairs each is right about

_ASKED = (
    "How long does the pump run after the filter has been changed?",
    "Does that hold in winter too, when the water is colder?",
    "And if the pressure drops below the mark on the gauge?",
    "So what should I write into the log for the next shift?",
    "Is there anything I must not do before the engineer comes?",
)
_SAID = (
    "After a filter change the pump runs for twenty minutes. The gauge is looked at again after ten minutes.",
    "In winter the same twenty minutes hold, as long as the inlet stays above 4 °C; else the heater goes on first.",
    "Below the mark the valve closes by itself. Open it by hand once the gauge has been steady for five minutes.",
    "Write down the time of the change, the pressure before and after, and who did it. The log needs all three.",
    "Do not loosen the upper flange. Everything else can wait, and nothing of it is dangerous.",
)
_FLAWED = (
    "As I said, the pump runs for forty minutes after a filter change, whatever the temperature of the water is. Ten "
    "minutes were only ever meant for the summer."
)


def taxonomy() -> Taxonomy:
    failures = {
        name: FailureType(
            name=name,
            definition=f"{name}: what judges are told about it.",
            flaw="A later turn contradicts what an earlier one said rightly, by shifting a qualifier.",
            benign="The later turn comes back to the earlier claim, and keeps its qualifier.",
        )
        for name in FAILURES
    }
    behaviours = {
        name: Behaviour(name=name, description="The user asks one thing after another and stays with the subject.")
        for name in BEHAVIOURS
    }
    return Taxonomy(failure_types=failures, behaviours=behaviours)


def documents() -> list[Document]:
    chunks = tuple(
        Chunk(chunk_id=f"pump-manual#{place}", text=text, heading="Changing the filter", page=place + 4)
        for place, text in enumerate(_SAID)
    )
    other = Chunk(chunk_id="grid-codes#0", text="The grid code asks for a reserve of 3 %.\n\nIt says so twice.")
    return [
        Document(document_id="pump-manual", title="The pump manual", domain="pumps", source="pump.pdf", chunks=chunks),
        Document(document_id="grid-codes", title="Grid codes", domain="power", source="grid.txt", chunks=(other,)),
    ]


def pair(number: int, *, hostile: str = "", state: str = "accepted") -> Pair:
    """A pair: even ones have their flaw in B, every third is of the other domain; `hostile` stands in every text."""
    rounds = 3 + number % 3
    flawed = 2 + number % 2
    domain = "power" if number % 3 == 2 else "pumps"
    chunks = ("grid-codes#0",) if domain == "power" else tuple(f"pump-manual#{place}" for place in range(5))
    conditions = Conditions(
        pair_id=f"pair-{number + 1:05d}",
        number=number,
        failure_type=FAILURES[number % 3],
        behaviour=BEHAVIOURS[number % 2],
        n_rounds=rounds,
        flawed_round=flawed,
        better="B" if number % 2 else "A",
        domain=domain,
        documents=("grid-codes",) if domain == "power" else ("pump-manual",),
        chunks=chunks,
    )
    if state == "never written":
        reason = clean(f"the answer is no JSON object {hostile}")
        failed = LayerResult(layer="form", status="failed", reasons=(reason,))
        return Pair(conditions=conditions, generator="gen-1", verification=Verification(layers=(failed, *_not_run(1))))
    talk = Conversations(better=_conversation(rounds, None, hostile), worse=_conversation(rounds, flawed, hostile))
    return Pair(
        conditions=conditions,
        generator=clean(f"gen-1{hostile}"),
        blueprints=_blueprints(rounds, flawed, chunks, hostile),
        conversations=talk,
        verification=_verification(talk, flawed, chunks[0], hostile, state),
    )


def _conversation(rounds: int, flawed: int | None, hostile: str) -> Conversation:
    return Conversation(
        turns=tuple(
            Turn(
                round=place,
                user=clean(_ASKED[place - 1] + hostile),
                assistant=clean((_FLAWED if place == flawed else _SAID[place - 1]) + hostile),
            )
            for place in range(1, rounds + 1)
        )
    )


def _blueprints(rounds: int, flawed: int, chunks: Sequence[str], hostile: str) -> Blueprints:
    def plan(sketch: str) -> Blueprint:
        return Blueprint(
            sketch=clean(sketch + hostile),
            rounds=tuple(
                RoundPlan(
                    round=place,
                    user=clean(f"asks about step {place}{hostile}"),
                    chunk=chunks[(place - 1) % len(chunks)],
                    assistant=clean(f"answers from the manual, with its numbers{hostile}"),
                )
                for place in range(1, rounds + 1)
            ),
        )

    return Blueprints(
        better=plan("Comes back to the first answer and repeats its condition."),
        worse=plan(f"In round {flawed} the condition of the first answer is dropped and its number doubled."),
    )


def _not_run(first: int) -> tuple[LayerResult, ...]:
    return tuple(LayerResult(layer=name, status="not_run") for name in LAYERS[first:])


def _verification(talk: Conversations, flawed: int, chunk: str, hostile: str, state: str) -> Verification:
    if state == "unverified":
        return Verification()
    passed = tuple(LayerResult(layer=name, status="passed") for name in LAYERS[:3])
    if state == "rejected":
        reason = clean(f"round 1 of the worse conversation is flawed as well: evasion {hostile}")
        failed = LayerResult(layer="adherence", status="failed", reasons=(reason,))
        return Verification(verifier="ver-1", layers=(*passed[:2], failed, *_not_run(3)))
    turns = tuple(
        TurnGrounding(side=side, round=turn.round, claims=_claims(turn, chunk, hostile))
        for side, told in (("better", talk.better), ("worse", talk.worse))
        for turn in told.turns
        if side == "better" or turn.round != flawed
    )
    claims = sum(len(turn.claims) for turn in turns)
    counts = {"claims": claims, "grounded": claims, "not_grounded": 0, "undecided": 0, "turns": len(turns)}
    grounding = LayerResult(layer="grounding", status="passed", counts=counts, turns=turns)
    return Verification(verifier=clean(f"ver-1{hostile}"), layers=(*passed, grounding))


def _claims(turn: Turn, chunk: str, hostile: str) -> tuple[Claim, ...]:
    """Return a claim of each kind a verifier can leave behind: with words that stand there, without, undecided."""
    words = "After a filter change the pump runs\nfor twenty minutes."
    grounded = Claim(
        claim_id=f"{turn.round}.1",
        text=clean(f"The pump runs for twenty minutes.{hostile}"),
        grounded=True,
        chunk=chunk,
        evidence=words,
        evidence_found=True,
        reason=clean(f"said in so many words{hostile}"),
    )
    if turn.round > 1:
        return (grounded,)
    invented = grounded.model_copy(
        update={"claim_id": "1.2", "grounded": False, "evidence": clean(f"nowhere{hostile}"), "evidence_found": False}
    )
    open_one = Claim(claim_id="1.3", text=clean(f"The gauge is looked at after ten minutes.{hostile}"))
    return (grounded, invented, open_one)


def rows(made: Pair, judge: str, *, right: bool, swapped: bool = False, hostile: str = "") -> list[VerdictRow]:
    """What a judge says about both conversations of a pair, in one order."""
    conditions = made.conditions
    said = {
        "verdict": conditions.better if right else made.worse_side,
        "turn": f"turn {conditions.flawed_round if right else 1}",
        "type": conditions.failure_type if right else FAILURES[(conditions.number + 1) % 3],
    }
    reason = clean(f"Conversation {made.worse_side} changes its mind about the time.{hostile}")
    return [
        VerdictRow(
            case_id=made.pair_id,
            run="pairwise",
            judge=judge,
            criterion=criterion,
            verdict=verdict,
            perturbation="position_swap" if swapped else "none",
            swapped=swapped,
            call_id=f"{judge}/{made.pair_id}/{swapped}",
            reasoning=reason,
            raw=json.dumps({"reasoning": reason, **said}) if criterion == "verdict" else None,
        )
        for criterion, verdict in said.items()
    ]


def single_rows(made: Pair, judge: str) -> list[VerdictRow]:
    """What a judge says about each conversation by itself: right about the worse one, harsh on the better one."""
    turn, kind = f"turn {made.conditions.flawed_round}", made.conditions.failure_type
    return [
        VerdictRow(
            case_id=f"{made.pair_id}/{side}",
            run="pointwise",
            judge=judge,
            criterion=name,
            verdict=verdict,
            attributes={
                "pair": made.pair_id,
                "side": side,
                "better": made.conditions.better,
                "flawed_round": made.conditions.flawed_round,
                "failure_type": kind,
            },
        )
        for side in ("A", "B")
        for name, verdict in (
            ("score", 4 if side == made.conditions.better else 2),
            ("flawed", "flawed"),
            ("turn", turn),
            ("type", kind),
        )
    ]


def all_rows(pairs: Sequence[Pair], *, hostile: str = "") -> Iterator[VerdictRow]:
    """What three judges of planted quality say, the strong one in both orders; one answer cannot be read."""
    for made in pairs:
        number = made.conditions.number
        for judge, of_ten in JUDGES.items():
            yield from rows(made, judge + hostile, right=number % 10 < of_ten, hostile=hostile)
        failed = rows(made, f"shaky{hostile}", right=True)
        if number % 4 == 0:
            problem = f"no JSON object{hostile}"
            failed = [replace(row, verdict=None, outcome="unparsed", error=problem, reasoning=None) for row in failed]
        yield from failed


def benchmark(folder: Path, n: int = 12, *, hostile: str = "", judged: bool = True) -> BenchmarkFolder:
    """A benchmark of `n` pairs, of which the last three are unverified, rejected and never written."""
    states = ["accepted"] * (n - 3) + ["unverified", "rejected", "never written"]
    pairs = [pair(number, hostile=hostile, state=state) for number, state in enumerate(states)]
    made = BenchmarkFolder(folder)
    made.write_taxonomy(taxonomy())
    made.write_documents(documents())
    made.write_pairs(pairs)
    made.write_settings(Settings(n=n, generator="gen-1", verifier="ver-1", documents="0" * 32, taxonomy="0" * 32))
    if judged:
        with made.log() as log:
            log.append(all_rows([one for one in pairs if one.conversations], hostile=hostile))
            log.append(row for one in pairs[:2] for row in single_rows(one, "weak"))
    return made


def hostile_benchmark(folder: Path) -> BenchmarkFolder:
    """Every text of it tries everything."""
    long_word = "x" * 3000
    rtl = "\u05e9\u05dc\u05d5\u05dd \u202eabc\u2066"
    return benchmark(folder, 6, hostile=clean(" ".join((*HOSTILE, long_word, rtl))))


class Cases:
    """Plain cases in memory, of every kind of answer."""

    kind = "cases"
    title = "a run"
    annotator = "anna"
    choices: tuple[Choice, ...] = ()
    filters: tuple[str, ...] = ()
    orders = ("drawn",)
    blind_orders: tuple[str, ...] = ()

    def __init__(self, **answering: Answering) -> None:
        self.said: dict[str, tuple[str | None, str]] = {}
        self._answering = answering

    def items(self) -> list[Item]:
        return [
            Item(item_id=name, title=f"Question {place}", label=said[0], note=said[1])
            for place, name in enumerate(self._answering, start=1)
            for said in [self.said.get(name, (None, ""))]
        ]

    def ordered(self, order: str) -> list[str]:
        return [*self._answering]

    def answering(self, item_id: str) -> Answering:
        return self._answering[item_id]

    def views(self, item_id: str) -> CaseView:
        texts = (("input", "Which city?"), ("answer A", "Bern."), ("answer B", "<b>Basel</b>."))
        return CaseView(question="Which answer is better?", texts=texts, side_by_side=("answer A", "answer B"))

    def label(self, item_id: str, value: str | None, note: str) -> None:
        self.said[item_id] = (value, note)

    def progress(self) -> Progress:
        done = sum(said[0] is not None for said in self.said.values())
        return Progress(labelled=done, items=len(self._answering))


def preference() -> Answering:
    words = (("A", "1", "a"), ("B", "2", "b"), ("TIE", "3", "t"))
    return Answering(choices=tuple(Choice(value=word, key=key, alias=alias, name=word) for word, key, alias in words))


def every_kind() -> Cases:
    some = tuple(Choice(value=word, key=str(place), name=word) for place, word in enumerate(("toxic", "spam"), start=1))
    return Cases(
        pair=preference(),
        tags=Answering(kind="several", choices=some),
        score=Answering(kind="number", low=1, high=10),
        words=Answering(kind="text"),
    )


def client(source: Any, **options: Any) -> Any:
    """A client of the page that has opened the whole address."""
    from starlette.testclient import TestClient

    from judgeharness_integrations.audit.app import audit_app

    made = TestClient(audit_app(source, token=TOKEN), base_url="http://127.0.0.1:8123", **options)
    assert made.get("/", params={"token": TOKEN}).status_code == 200
    return made
