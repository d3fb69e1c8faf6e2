"""A small benchmark that was verified and judged, made from records: no model is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from judgeharness_integrations.benchmark.folder import BenchmarkFolder, Settings, digest_of
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
    Drawing,
    FailureType,
    Layer,
    LayerResult,
    Pair,
    RoundPlan,
    Taxonomy,
    Turn,
    TurnGrounding,
    Verification,
    draw_conditions,
)
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["DOCUMENTS", "SKILL", "TAXONOMY", "judged", "make_benchmark", "make_pair", "verification"]

SKILL = {"strong": 0.95, "middling": 0.75, "weak": 0.5}
TAXONOMY = Taxonomy(
    failure_types={
        name: FailureType(name=name, definition=f"{name}, defined", flaw=f"does {name}", benign=f"avoids {name}")
        for name in ("evasion", "fabricated_answer", "disorganized")
    },
    behaviours={name: Behaviour(name=name, description=f"{name} users") for name in ("focused", "skeptical")},
)
DOCUMENTS = [
    Document(
        document_id=name,
        title=name.title(),
        domain=domain,
        source=f"{name}.md",
        chunks=tuple(
            Chunk(
                chunk_id=f"{name}#{place}", text=f"The {name} opens at {place + 7}. " * 20, heading="Hours", page=place
            )
            for place in range(1, 4)
        ),
    )
    for name, domain in (("library", "loans"), ("garden", "plots"))
]


def verification(failed: Layer | None = None, *, unread: bool = False, reason: str = "it did not hold") -> Verification:
    """Return all layers passed, or all up to one that failed or could not be read."""
    stop = LAYERS.index(failed) if failed is not None else len(LAYERS)
    layers = []
    for place, layer in enumerate(LAYERS):
        said = "unread" if unread else "failed"
        status = "passed" if place < stop else said if place == stop else "not_run"
        claims = (
            Claim(claim_id="1.1", text="It opens at 8.", grounded=True, chunk="library#1", evidence="opens at 8",
                  evidence_found=True, reason="it stands there"),
            Claim(claim_id="1.2", text="It is free.", grounded=None),
        )  # fmt: skip
        grounded = layer == "grounding" and status != "not_run"
        layers.append(
            LayerResult(
                layer=layer,
                status=status,
                reasons=(reason,) if place == stop else (),
                counts={"claims": 2, "grounded": 1} if grounded else {},
                turns=(TurnGrounding(side="better", round=1, claims=claims),) if grounded else (),
            )
        )
    return Verification(verifier="checker", min_grounded=0.5, layers=tuple(layers))


def make_pair(conditions: Conditions, *, generator: str = "writer", verified: Verification | None = None) -> Pair:
    """Return a pair whose conversations say what they are."""
    rounds = range(1, conditions.n_rounds + 1)
    sides = ("better", "worse")
    plans = {
        side: Blueprint(
            sketch=f"the {side} one",
            rounds=tuple(
                RoundPlan(round=n, user=f"asks {n}", chunk=conditions.chunks[0], assistant=f"answers {n}")
                for n in rounds
            ),
        )
        for side in sides
    }
    said = {
        side: Conversation(
            turns=tuple(
                Turn(round=n, user=f"Question {n} of {conditions.pair_id}?", assistant=f"Answer {n}, {side}.")
                for n in rounds
            )
        )
        for side in sides
    }
    return Pair(
        conditions=conditions,
        generator=generator,
        blueprints=Blueprints(**plans),
        conversations=Conversations(**said),
        verification=verification() if verified is None else verified,
    )


def make_benchmark(
    path: Path, *, n: int = 24, generator: str = "writer", failed: Mapping[int, Verification] | None = None
) -> BenchmarkFolder:
    """Write a benchmark of n pairs, accepted but for some; nobody has judged it."""
    folder = BenchmarkFolder(path)
    folder.write_documents(DOCUMENTS)
    folder.write_taxonomy(TAXONOMY)
    drawing = Drawing(seed=3, rounds=(3, 5))
    drawn = [draw_conditions(number, documents=DOCUMENTS, taxonomy=TAXONOMY, drawing=drawing) for number in range(n)]
    folder.write_pairs(
        make_pair(one, generator=generator, verified=(failed or {}).get(one.number, verification())) for one in drawn
    )
    digests = {"documents": digest_of(DOCUMENTS), "taxonomy": digest_of([TAXONOMY])}
    folder.write_settings(
        Settings(n=n, drawing=drawing, generator=generator, verifier="checker", min_grounded=0.5, **digests)
    )
    return folder


def judged(
    pairs: Sequence[Pair], *, skill: Mapping[str, float] | None = None, seed: int = 0, orders: int = 2
) -> Iterator[VerdictRow]:
    """Yield answers of judges that are right with the probability of their skill, alike in both orders."""
    for judge, right in (SKILL if skill is None else skill).items():
        for pair in pairs:
            draw = random.Random(f"{seed}|{judge}|{pair.pair_id}")  # noqa: S311 - no secret
            conditions = pair.conditions
            knows = draw.random() < right
            other = {"A": "B", "B": "A"}[conditions.better]
            answers = {
                "verdict": conditions.better if knows else other,
                "turn": f"turn {conditions.flawed_round if knows or draw.random() < 0.5 else 1}",
                "type": conditions.failure_type if knows else "evasion",
            }
            for swapped in (False, True)[:orders]:
                for place, (criterion, label) in enumerate(answers.items()):
                    yield VerdictRow(
                        run="pairwise",
                        case_id=pair.pair_id,
                        judge=judge,
                        criterion=criterion,
                        verdict=label,
                        perturbation="position_swap" if swapped else "none",
                        swapped=swapped,
                        call_id=f"{judge}/{pair.pair_id}/{swapped}",
                        reasoning="because" if place == 0 else None,
                        model=judge,
                        input_tokens=100 if place == 0 else None,
                        output_tokens=20 if place == 0 else None,
                    )
