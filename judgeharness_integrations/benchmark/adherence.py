"""The third layer: is the declared flaw in the declared turn, and is there nothing else to tell the two apart?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from judgeharness_integrations.benchmark.pair import Conditions, Conversations, LayerResult, Pair
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
