"""Decisions: whether each claim stands in the documents, and where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from judgeharness_integrations.benchmark.asking.asker import UnreadableError
from judgeharness_integrations.benchmark.generation.material import Material, Which
from judgeharness_integrations.benchmark.pair import Claim
from judgeharness_integrations.benchmark.prompts.material import object_of, prompt
from judgeharness_integrations.benchmark.verification.claims import Claims
from judgeharness_integrations.benchmark.verification.evidence import Evidence
from judgeharness_integrations.benchmark.verification.reading import entries_of, flag_of, maybe_text_of, text_of
from judgeharness_integrations.benchmark.verification.schemas import FLAG, MAYBE_TEXT, TEXT, list_of
from judgeharness_integrations.chatmodels import Prompt

__all__ = ["Decision", "Decisions", "decided", "decisions_prompt", "read_decisions"]

_DECISION: Final = {
    "claim_id": TEXT,
    "chunk": MAYBE_TEXT,
    "evidence": MAYBE_TEXT,
    "reason": TEXT,
    "grounded": FLAG,
}
_SCHEMA: Final = object_of("grounding", {"decisions": list_of("decision", _DECISION)})


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What was decided about one claim; `chunk`, `evidence` and `reason` are None where nothing is said."""

    grounded: bool
    chunk: str | None
    evidence: str | None
    reason: str | None


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions by claim id. `unshown` were about claims that were not shown; they are left out."""

    by_claim: Mapping[str, Decision]
    unshown: int = 0


def decisions_prompt(claims: Claims, material: Material, *, side: Which) -> Prompt:
    """Return the request for decisions, `{decisions: [{claim_id, chunk, evidence, reason, grounded}]}`."""
    listed = "\n".join(f"{claim.claim_id} {claim.text}" for claim in claims.all)
    given = [("Conditions", material.conditions_text(side)), ("Documents", material.text), ("Claims", listed)]
    return prompt("grounding", given, _SCHEMA)


def read_decisions(data: Mapping[str, Any], *, claim_ids: Collection[str], chunks: Collection[str]) -> Decisions:
    """Return the decisions about the claims that were shown; a chunk the pair does not have is None.

    Raises:
        UnreadableError: there is no list of decisions, one lacks something, or two about a claim contradict each other.

    """
    found: dict[str, Decision] = {}
    unshown = 0
    for entry, where in entries_of(data, "decisions"):
        claim_id = text_of(entry, "claim_id", where)
        chunk = (maybe_text_of(entry, "chunk", where) or "").removeprefix("[").removesuffix("]").strip()
        decision = Decision(
            grounded=flag_of(entry, "grounded", where),
            chunk=chunk if chunk in chunks else None,
            evidence=maybe_text_of(entry, "evidence", where),
            reason=maybe_text_of(entry, "reason", where),
        )
        if claim_id not in claim_ids:
            unshown += 1
        elif found.setdefault(claim_id, decision).grounded != decision.grounded:
            raise UnreadableError(f"two decisions about claim {claim_id} contradict each other")
    return Decisions(by_claim=found, unshown=unshown)


def decided(claim: Claim, decisions: Decisions, evidence: Evidence) -> Claim:
    """Return a claim with what was decided about it, and whether the words that were quoted stand in the documents."""
    decision = decisions.by_claim.get(claim.claim_id)
    if decision is None:
        return claim
    return Claim(
        claim_id=claim.claim_id,
        text=claim.text,
        grounded=decision.grounded,
        chunk=decision.chunk,
        evidence=decision.evidence,
        evidence_found=None if decision.evidence is None else evidence.holds(decision.evidence),
        reason=decision.reason,
    )
