"""The layers of verification in their order, and those that ask about plans and conversations: coherence, adherence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from judgeharness_integrations.benchmark.asker import (
    FLAG,
    ROUND,
    TEXT,
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
from judgeharness_integrations.benchmark.grounding import grounding
from judgeharness_integrations.benchmark.pair import (
    LAYERS,
    Blueprints,
    Conditions,
    Conversations,
    LayerResult,
    Pair,
    Verification,
)
from judgeharness_integrations.benchmark.results.checks import form_result
from judgeharness_integrations.judging.chatmodels import ChatModel, Prompt


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
