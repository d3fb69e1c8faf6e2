"""The layers of verification in their order: are the plans coherent, do the conversations adhere, are they grounded?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt

from .asker import (
    FLAG,
    MAYBE_TEXT,
    ROUND,
    TEXT,
    Answer,
    Asker,
    Material,
    UnreadableError,
    because,
    entries_of,
    flag_of,
    list_of,
    maybe_text_of,
    object_of,
    plans_text,
    prompt,
    round_of,
    text_of,
    words,
)
from .pair import (
    LAYERS,
    Blueprints,
    Claim,
    Conditions,
    Conversation,
    Conversations,
    LayerResult,
    Pair,
    TurnGrounding,
    Verification,
    Which,
)
from .results.checks import Evidence, form_result


async def adherence(pair: Pair, material: Material, *, verifier: ChatModel, asker: Asker) -> LayerResult:
    """Return whether both conversations of a pair are what was declared of them.

    A pair without conversations is not looked at: the layer is `not_run`.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return LayerResult(layer="adherence", status="not_run", reasons=("the pair has no conversations",))
    read = partial(read_findings, n_rounds=pair.conditions.n_rounds, types=tuple(material.taxonomy.failure_types))
    asked = adherence_prompt(pair, pair.conversations, material)
    answer = await asker.ask(verifier, asked, item=pair.pair_id, read=read)
    if answer.value is None:
        return LayerResult(layer="adherence", status="unread", reasons=(words(str(answer.reason)),))
    reasons = tuple(adherence_reasons(answer.value, pair.conditions))
    counts = {"worse_flaws": len(answer.value.worse_flaws), "better_flaws": len(answer.value.better_flaws)}
    return LayerResult(layer="adherence", status="failed" if reasons else "passed", reasons=reasons, counts=counts)


def adherence_prompt(pair: Pair, conversations: Conversations, material: Material) -> Prompt:
    """Return the request for every flaw of both conversations and for what else tells them apart."""
    plans = [] if pair.blueprints is None else [("Plans", plans_text(pair.blueprints))]
    given = [
        ("Conditions", material.conditions_text()),
        ("Documents", material.text),
        *plans,
        ("Better conversation", conversations.better.text()),
        ("Worse conversation", conversations.worse.text()),
    ]
    types = list(material.taxonomy.failure_types.values())
    told: dict[str, Any] = {
        "n_rounds": pair.conditions.n_rounds,
        "flawed_round": pair.conditions.flawed_round,
        "has_plans": bool(plans),
        "failure_types": types,
    }
    return prompt("adherence", given, _schema([failure.name for failure in types]), **told)


@dataclass(frozen=True, kw_only=True)
class Flaw:
    """A flaw the verifier sees: in which round, of which failure type, and what it is in its words."""

    round: int
    type: str
    what: str

    @property
    def place(self) -> str:
        """`turn 3 evasion`."""
        return f"turn {self.round} {self.type}"


@dataclass(frozen=True, kw_only=True)
class Findings:
    """One answer about adherence.

    Flaws of one round and type are one flaw. `announcement`, `behaviour_reason` and `reason` are the verifier's words;
    they may be empty.
    """

    worse_flaws: tuple[Flaw, ...]
    better_flaws: tuple[Flaw, ...]
    announced: bool
    announcement: str
    behaviour_kept_better: bool
    behaviour_kept_worse: bool
    behaviour_reason: str
    same_pressure: bool
    same_tone_and_length: bool
    reason: str


def read_findings(data: Mapping[str, Any], *, n_rounds: int, types: Sequence[str]) -> Findings:
    """Return what an answer says.

    Args:
        data: the answer.
        n_rounds: the rounds of a conversation; a flaw of another one cannot be.
        types: the failure types there are.

    Raises:
        UnreadableError: something is missing, of another type, of no such round or of no such failure type.

    """
    return Findings(
        worse_flaws=_flaws(data, "worse_flaws", n_rounds, types),
        better_flaws=_flaws(data, "better_flaws", n_rounds, types),
        announced=flag_of(data, "announced"),
        announcement=_words(data, "announcement"),
        behaviour_kept_better=flag_of(data, "behaviour_kept_better"),
        behaviour_kept_worse=flag_of(data, "behaviour_kept_worse"),
        behaviour_reason=_words(data, "behaviour_reason"),
        same_pressure=flag_of(data, "same_pressure"),
        same_tone_and_length=flag_of(data, "same_tone_and_length"),
        reason=_words(data, "reason"),
    )


def adherence_reasons(findings: Findings, conditions: Conditions) -> Iterator[str]:
    """Yield every reason against a pair: a sentence, and behind a colon the verifier's words; none: it adheres."""
    yield from _worse_reasons(findings, conditions)
    for flaw in findings.better_flaws:
        yield because(f"the better conversation has a flaw in turn {flaw.round}: {flaw.type}", flaw.what)
    if findings.announced:
        yield because("the assistant announces the flaw", findings.announcement)
    for which, kept in (("better", findings.behaviour_kept_better), ("worse", findings.behaviour_kept_worse)):
        if not kept:
            left = f"the user leaves the behaviour {conditions.behaviour} ({which} conversation)"
            yield because(left, findings.behaviour_reason)
    if not findings.same_pressure:
        pressure = f"the user does not put the same pressure on both assistants in turn {conditions.flawed_round}"
        yield because(pressure, findings.reason)
    if not findings.same_tone_and_length:
        yield because("tone or length tells the conversations apart", findings.reason)


def _schema(types: list[str]) -> dict[str, Any]:
    flaw = {"round": ROUND, "type": {"type": "string", "enum": types}, "what": TEXT}
    return object_of(
        "adherence",
        {
            "worse_flaws": list_of("worse_flaw", flaw),
            "better_flaws": list_of("better_flaw", flaw),
            "announced": FLAG,
            "announcement": TEXT,
            "behaviour_kept_better": FLAG,
            "behaviour_kept_worse": FLAG,
            "behaviour_reason": TEXT,
            "same_pressure": FLAG,
            "same_tone_and_length": FLAG,
            "reason": TEXT,
        },
    )


def _worse_reasons(findings: Findings, conditions: Conditions) -> Iterator[str]:
    flaws, turn, declared = findings.worse_flaws, conditions.flawed_round, conditions.failure_type
    if len(flaws) == 1:
        flaw = flaws[0]
        if flaw.round != turn:
            yield because(f"the flaw is in turn {flaw.round}, declared {turn}", flaw.what)
        if flaw.type != declared:
            yield because(f"the flaw is {flaw.type}, declared {declared}", flaw.what)
    elif flaws:
        number = "two" if len(flaws) == 2 else str(len(flaws))  # noqa: PLR2004 - the word for it
        what = "; ".join(flaw.what for flaw in flaws if flaw.what)
        yield because(f"{number} flaws: {', '.join(flaw.place for flaw in flaws)}", what)
        if all((flaw.round, flaw.type) != (turn, declared) for flaw in flaws):
            yield f"none of them is the declared one, turn {turn} {declared}"
    else:
        yield because("no flaw found in the worse conversation", findings.reason)


def _flaws(data: Mapping[str, Any], key: str, n_rounds: int, types: Sequence[str]) -> tuple[Flaw, ...]:
    found: dict[tuple[int, str], Flaw] = {}
    for entry, where in entries_of(data, key):
        number, kind = round_of(entry, where), text_of(entry, "type", where)
        if not 1 <= number <= n_rounds:
            raise UnreadableError(f"{where} is in round {number} of {n_rounds}")
        if kind not in types:
            raise UnreadableError(f"{where} is of an unknown type {kind[:80]!r}")
        found.setdefault((number, kind), Flaw(round=number, type=kind, what=text_of(entry, "what", where)))
    return tuple(sorted(found.values(), key=lambda flaw: (flaw.round, list(types).index(flaw.type))))


def _words(data: Mapping[str, Any], key: str) -> str:
    return maybe_text_of(data, key, "the answer") or ""


_SCHEMA: Final = object_of(
    "coherence", {"conflicts": list_of("conflict", {"what": TEXT, "reason": TEXT}), "coherent": FLAG}
)


async def verified(pair: Pair, material: Material, *, verifier: ChatModel, min_grounded: float, asker: Asker) -> Pair:
    """Return a pair with a new verification; one without conversations as it is.

    A layer that failed, or whose answers could not be read, is the last one that is run. Plans that are missing keep
    nothing from running, but the pair stays unverified: their coherence was not looked at.

    Args:
        pair: plans, where there are any, and conversations.
        material: what its models were given.
        verifier: who is asked.
        min_grounded: share of a turn's claims that must be grounded.
        asker: asks.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return pair
    results = await _results(pair, material, verifier, min_grounded, asker)
    made = cascade(results, verifier=verifier.name, min_grounded=min_grounded)
    return pair.model_copy(update={"verification": made})


def cascade(results: Sequence[LayerResult], *, verifier: str | None, min_grounded: float) -> Verification:
    """Return the verification of what layers said, all layers in their order; those that said nothing are `not_run`."""
    said = {result.layer: result for result in results}
    layers = tuple(said.get(layer) or LayerResult(layer=layer, status="not_run") for layer in LAYERS)
    return Verification(verifier=verifier, min_grounded=min_grounded, layers=layers)


async def coherence(pair: Pair, material: Material, *, verifier: ChatModel, asker: Asker) -> LayerResult:
    """Return whether a pair's plans are coherent.

    Plans that cite chunks the pair does not have fail without a call. A pair without plans of its rounds, as one from
    elsewhere, is not looked at: the layer is `not_run`.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.blueprints is None:
        return LayerResult(layer="coherence", status="not_run", reasons=("the pair has no plans",))
    if not pair.blueprints.in_rounds:
        return LayerResult(layer="coherence", status="not_run", reasons=("the plans do not say what each round holds",))
    unknown = tuple(_unknown_chunks(pair.blueprints, material))
    if unknown:
        return LayerResult(layer="coherence", status="failed", reasons=unknown)
    asked = coherence_prompt(pair.blueprints, material)
    answer = await asker.ask(verifier, asked, item=pair.pair_id, read=read_conflicts)
    if answer.value is None:
        return LayerResult(layer="coherence", status="unread", reasons=(words(str(answer.reason)),))
    counts = {"conflicts": len(answer.value)}
    return LayerResult(
        layer="coherence", status="failed" if answer.value else "passed", reasons=answer.value, counts=counts
    )


def coherence_prompt(blueprints: Blueprints, material: Material) -> Prompt:
    """Return the request for conflicts within both plans, `{conflicts: [{what, reason}], coherent}`."""
    given = [
        ("Conditions", material.conditions_text()),
        ("Documents", material.text),
        ("Plans", plans_text(blueprints)),
    ]
    conditions = material.conditions
    return prompt("coherence", given, _SCHEMA, n_rounds=conditions.n_rounds, flawed_round=conditions.flawed_round)


def read_conflicts(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a reason for every conflict a verifier named; none: the plans are coherent.

    Raises:
        UnreadableError: something is missing, or the answer contradicts itself.

    """
    coherent = flag_of(data, "coherent")
    conflicts = tuple(
        because(words(text_of(entry, "what", where)) or "conflict", text_of(entry, "reason", where))
        for entry, where in entries_of(data, "conflicts")
    )
    if coherent and conflicts:
        raise UnreadableError("the answer calls the plans coherent and names conflicts")
    if not coherent and not conflicts:
        raise UnreadableError("the answer calls the plans incoherent and names no conflict")
    return conflicts


async def _results(
    pair: Pair, material: Material, verifier: ChatModel, min_grounded: float, asker: Asker
) -> list[LayerResult]:
    results = [form_result(pair.blueprints, pair.conversations, pair.conditions, reason=None)]
    for layer in (coherence, adherence):
        if results[-1].status in ("failed", "unread"):
            return results
        results.append(await layer(pair, material, verifier=verifier, asker=asker))
    if results[-1].status == "passed":
        results.append(await grounding(pair, material, verifier=verifier, min_grounded=min_grounded, asker=asker))
    return results


def _unknown_chunks(blueprints: Blueprints, material: Material) -> Iterator[str]:
    """Yield a reason for every chunk a plan cites that the pair does not have."""
    known = {chunk.chunk_id for chunk in material.chunks}
    for which, plan in (("better", blueprints.better), ("worse", blueprints.worse)):
        for entry in plan.rounds:
            if entry.chunk is not None and entry.chunk not in known:
                cites = f"plan cites chunk {words(entry.chunk)} that the pair does not have"
                yield f"{cites} (round {entry.round} of the {which} one)"


_LONGEST_CLAIM = 120
_SIDES: Final[tuple[Which, ...]] = ("better", "worse")
_CLAIMS: Final = object_of("claims", {"claims": list_of("claim", {"round": ROUND, "claim": TEXT})})
_DECISION: Final = {"claim_id": TEXT, "chunk": MAYBE_TEXT, "evidence": MAYBE_TEXT, "reason": TEXT, "grounded": FLAG}
_DECISIONS: Final = object_of("grounding", {"decisions": list_of("decision", _DECISION)})


@dataclass(frozen=True, kw_only=True)
class SideGrounding:
    """What was found of one conversation: its turns with their decided claims, or why an answer could not be read.

    `unshown`: claims and decisions about what was not shown.
    """

    side: Which
    turns: tuple[TurnGrounding, ...] = ()
    unshown: int = 0
    unread: str | None = None


async def grounding(
    pair: Pair, material: Material, *, verifier: ChatModel, min_grounded: float, asker: Asker
) -> LayerResult:
    """Return whether the claims of every turn but the flawed one are grounded; both conversations are always looked at.

    No prompt holds `min_grounded`, so that another one needs no further answer. A pair without conversations is not
    looked at: the layer is `not_run`.

    Args:
        pair: whose conversations are checked.
        material: the chunks they may draw on.
        verifier: names the claims, and decides about each.
        min_grounded: share of a turn's claims that must be grounded.
        asker: asks.

    Raises:
        AskError, BudgetExhausted: see `Asker.ask`; answers so far are kept.

    """
    if pair.conversations is None:
        return LayerResult(layer="grounding", status="not_run", reasons=("the pair has no conversations",))
    checking = _Checking(pair=pair, material=material, verifier=verifier, asker=asker)
    sides = [await checking.side(side) for side in _SIDES]
    return grounding_result(sides, min_grounded=min_grounded)


def grounding_result(sides: Sequence[SideGrounding], *, min_grounded: float) -> LayerResult:
    """Return the layer's result; `min_grounded`: share of a turn's claims that must be grounded.

    A claim that was shown and not decided is not grounded. A turn without claims passes and is counted; a conversation
    without any fails, since nothing of it was checked.
    """
    turns = tuple(turn for side in sides for turn in side.turns)
    unread = tuple(words(side.unread) for side in sides if side.unread is not None)
    reasons = unread or tuple(reason for side in sides for reason in _reasons(side, min_grounded))
    return LayerResult(
        layer="grounding",
        status="unread" if unread else "failed" if reasons else "passed",
        reasons=reasons,
        counts=_counts(turns, unshown=sum(side.unshown for side in sides)),
        turns=turns,
    )


@dataclass(frozen=True, kw_only=True)
class _Checking:
    """The conversations of one pair being checked."""

    pair: Pair
    material: Material
    verifier: ChatModel
    asker: Asker

    async def side(self, side: Which) -> SideGrounding:
        """Return what is found of one conversation."""
        shown = checked_turns(self.pair, side)
        if not shown.turns:  # a worse conversation of one round
            return SideGrounding(side=side)
        named = await self._claims(shown, side)
        if (claims := named.value) is None:
            return SideGrounding(side=side, unread=f"claims of the {side} conversation: {named.reason}")
        answer = await self._decisions(claims, side)
        if (decisions := answer.value) is None:
            return SideGrounding(side=side, unread=f"decisions about the {side} conversation: {answer.reason}")
        headings = [chunk.heading or "" for chunk in self.material.chunks]  # behind the texts, which run on
        evidence = Evidence([*(chunk.text for chunk in self.material.chunks), *headings])
        turns = (
            TurnGrounding(side=side, round=number, claims=tuple(decided(claim, decisions, evidence) for claim in said))
            for number, said in claims.by_round.items()
        )
        return SideGrounding(side=side, turns=tuple(turns), unshown=claims.unshown + decisions.unshown)

    async def _claims(self, shown: Conversation, side: Which) -> Answer[Claims]:
        rounds = [turn.round for turn in shown.turns]
        asked = claims_prompt(shown, self.material, side=side)
        read = partial(read_claims, rounds=rounds)
        return await self.asker.ask(self.verifier, asked, item=self.pair.pair_id, read=read)

    async def _decisions(self, claims: Claims, side: Which) -> Answer[Decisions]:
        if not claims.all:
            return Answer(value=Decisions(by_claim={}), answers=0)
        asked = decisions_prompt(claims, self.material, side=side)
        ids, chunks = [claim.claim_id for claim in claims.all], [chunk.chunk_id for chunk in self.material.chunks]
        read = partial(read_decisions, claim_ids=ids, chunks=chunks)
        return await self.asker.ask(self.verifier, asked, item=self.pair.pair_id, read=read)


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims by round, each with an id, as `3.2`: the second of round 3. Every round that was shown has an entry.

    `unshown` claims were of rounds that were not; they are left out.
    """

    by_round: Mapping[int, tuple[Claim, ...]]
    unshown: int = 0

    @property
    def all(self) -> tuple[Claim, ...]:
        """Every claim, round by round."""
        return tuple(claim for claims in self.by_round.values() for claim in claims)


def checked_turns(pair: Pair, side: Which) -> Conversation:
    """Return the turns of a conversation that must be grounded: all of the better, all but the flawed of the worse.

    A pair without conversations has none.
    """
    if pair.conversations is None:
        return Conversation(turns=())
    if side == "better":
        return pair.conversations.better
    turns = pair.conversations.worse.turns
    return Conversation(turns=tuple(turn for turn in turns if turn.round != pair.conditions.flawed_round))


def claims_prompt(shown: Conversation, material: Material, *, side: Which) -> Prompt:
    """Return the request for the claims of turns, `{claims: [{round, claim}]}`; documents are not shown for it."""
    given = [("Conditions", material.conditions_text(side)), ("Conversation", shown.text())]
    return prompt("claims", given, _CLAIMS)


def read_claims(data: Mapping[str, Any], *, rounds: Collection[int]) -> Claims:
    """Return the claims of the rounds that were shown, numbered in the order of the answer.

    Raises:
        UnreadableError: there is no list of claims, or one has no round or says nothing.

    """
    texts: dict[int, list[str]] = {number: [] for number in sorted(rounds)}
    unshown = 0
    for entry, where in entries_of(data, "claims"):
        number, text = round_of(entry, where), text_of(entry, "claim", where)
        if not text:
            raise UnreadableError(f"{where} says nothing")
        if number in texts:
            texts[number].append(text)
        else:
            unshown += 1
    by_round = {
        number: tuple(Claim(claim_id=f"{number}.{place}", text=text) for place, text in enumerate(said, start=1))
        for number, said in texts.items()
    }
    return Claims(by_round=by_round, unshown=unshown)


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
    return prompt("grounding", given, _DECISIONS)


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


def _reasons(side: SideGrounding, min_grounded: float) -> Iterator[str]:
    if side.turns and not any(turn.claims for turn in side.turns):
        yield f"no claim of the {side.side} conversation could be checked"
    for turn in side.turns:
        if turn.share is not None and turn.share < min_grounded:
            first = next(claim for claim in turn.claims if claim.grounded is not True)
            held = sum(claim.grounded is True for claim in turn.claims)
            grounded = f"{held} of {len(turn.claims)} claims are grounded"
            where = f"{grounded} in turn {turn.round} of the {side.side} conversation"
            why = "not decided" if first.grounded is None else first.reason or "not grounded"
            yield because(where, f"“{words(first.text, _LONGEST_CLAIM)}”: {why}")


def _counts(turns: Sequence[TurnGrounding], *, unshown: int) -> dict[str, int]:
    claims = [claim for turn in turns for claim in turn.claims]
    return {
        "turns": len(turns),
        "turns_without_claims": sum(not turn.claims for turn in turns),
        "claims": len(claims),
        "grounded": sum(claim.grounded is True for claim in claims),
        "not_grounded": sum(claim.grounded is False for claim in claims),
        "undecided": sum(claim.grounded is None for claim in claims),
        "unshown": unshown,
        "evidence_missing": sum(claim.grounded is True and claim.evidence_found is not True for claim in claims),
    }
