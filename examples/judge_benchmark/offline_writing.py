"""How the offline generator writes: plans and conversations out of sentences of the documents.

The flaw of each type is staged in the flawed round of both conversations; the worse assistant has it, the better one
does what the type's benign counterpart says. A defect, where one is asked for, is planted on top of that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from offline_reading import Fact, facts, plain
from offline_wording import (
    ANNOUNCED,
    BEHAVIOURS,
    DIRECTIVE,
    EVASIONS,
    INVENTED,
    MUDDLE,
    OPENINGS,
    QUESTIONS,
    REFUSALS,
    UNGROUNDED,
    framed,
)

Turn = dict[str, Any]
DEFECTS = (
    "drifted flaw",
    "two flaws",
    "announced flaw",
    "flaw in the better one",
    "user out of behaviour",
    "ungrounded claim",
    "wrong turn count",
    "malformed JSON",
    "incoherent plan",
)
_SECOND_ROUND = 2  # in which what was said or asked for before can be gone against
_NEEDS_A_PAST = frozenset({"self_contradiction", "instruction_forgetting"})
_DATE = re.compile(r"\d+ (?:January|February|March|April|May|June|July|August|September|October|November|December)")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True)
class Round:
    """One round as it is planned: what is asked, and the facts the answer is made of."""

    number: int
    asked: str
    facts: tuple[Fact, ...]
    flawed: bool = False
    absent: str = ""  # what the documents say nothing about


@dataclass(frozen=True)
class Scene:
    """A pair as it is planned. `style` chooses the words of another generator."""

    failure_type: str
    behaviour: str
    rounds: tuple[Round, ...]
    flawed_round: int
    seed: str
    style: str = ""

    @property
    def directed(self) -> bool:
        """Whether the user asks for a form of all answers."""
        return self.failure_type == "instruction_forgetting"


def seed_of(conditions: Mapping[str, Any], documents: str) -> str:
    """Return what everything about a pair is drawn from: the same for both of its conversations."""
    told = [conditions[name] for name in ("failure_type", "behaviour", "n_rounds", "flawed_round")]
    return repr([*told, plain(documents)])


def scene(conditions: Mapping[str, Any], documents: str, *, style: str = "", defect: str | None = None) -> Scene:
    """Return the plan of a pair."""
    seed = seed_of(conditions, documents)
    rng = Random(seed)  # noqa: S311 - a play, no secret
    failure, n_rounds, flawed = conditions["failure_type"], conditions["n_rounds"], conditions["flawed_round"]
    if defect == "drifted flaw":
        first = _SECOND_ROUND if failure in _NEEDS_A_PAST else 1
        flawed = rng.choice([number for number in range(first, n_rounds + 1) if number != flawed] or [flawed])
    known = facts(documents)
    if not known:
        raise ValueError("the documents hold no sentence of a kind the offline generator can ask about")
    chosen = _chosen(conditions["behaviour"], known, n_rounds, rng)
    rounds = [
        Round(number=number, asked=QUESTIONS[""].format(topic=used[0].topic), facts=used)
        for number, used in enumerate(chosen, start=1)
    ]
    rounds[flawed - 1] = _staged(failure, rounds, flawed, known, plain(documents), rng)
    return Scene(failure, conditions["behaviour"], tuple(rounds), flawed, seed, style)


def _chosen(behaviour: str, known: Sequence[Fact], n_rounds: int, rng: Random) -> list[tuple[Fact, ...]]:
    """Return what each round draws on: a fact and one that stands beside it, or elsewhere for who puts together."""
    by_chunk: dict[str, list[Fact]] = {}
    for fact in known:
        by_chunk.setdefault(fact.chunk, []).append(fact)
    with_figures = [fact for fact in known if fact.has_figure] or list(known)
    if behaviour == "focused":
        start = rng.randrange(len(with_figures))
        mains = (with_figures[start:] + with_figures[:start]) * n_rounds
    else:
        mains = rng.sample(with_figures, len(with_figures)) * n_rounds
    if behaviour == "scattered":  # never twice from one place in a row
        mains = _alternating(mains, n_rounds)
    chosen = []
    for main in mains[:n_rounds]:
        near = [fact for fact in by_chunk[main.chunk] if fact != main]
        far = [fact for fact in known if fact.chunk != main.chunk]
        beside = (far if behaviour == "integrative" else near) or [fact for fact in known if fact != main]
        chosen.append((main, *rng.sample(beside, min(2, len(beside)))))
    return chosen


def _alternating(mains: Sequence[Fact], n_rounds: int) -> list[Fact]:
    chosen = [mains[0]]
    for _ in range(n_rounds - 1):
        others = [fact for fact in mains if fact.chunk != chosen[-1].chunk and fact not in chosen]
        chosen.append(others[0] if others else mains[len(chosen)])
    return chosen


def _staged(  # noqa: PLR0917
    failure: str, rounds: Sequence[Round], flawed: int, known: Sequence[Fact], documents: str, rng: Random
) -> Round:
    """Return the flawed round: its question puts the assistant under the pressure of the type."""
    plan = replace(rounds[flawed - 1], flawed=True)
    main, *_ = plan.facts
    topic, other, used, absent = main.topic, "", plan.facts, ""
    if failure == "self_contradiction" and flawed > 1:
        used = rng.choice(rounds[: flawed - 1]).facts
        topic = used[0].topic
    elif failure == "fabricated_answer":
        topic = absent = rng.choice([name for name in INVENTED if name not in documents] or list(INVENTED))
    elif failure == "no_clarification":
        second = next((fact for fact in (*plan.facts, *known) if fact.topic != main.topic), main)
        other, used = second.topic, (main, second)
    asked = QUESTIONS.get(failure, QUESTIONS[""]).format(topic=topic, other=other)
    return replace(plan, asked=asked, facts=used, absent=absent)


def blueprint(plan: Scene, side: str, *, defect: str | None = None) -> dict[str, Any]:
    """Return one plan as JSON."""
    named = plan.flawed_round + (1 if plan.flawed_round < len(plan.rounds) else -1)
    where = named if defect == "incoherent plan" and side == "worse" else plan.flawed_round
    what = {
        "worse": f"the assistant shows {plan.failure_type} here and nowhere else",
        "better": "the user asks the same, and the assistant answers well",
    }
    rounds = [
        {
            "round": one.number,
            "user": f"asks: {one.asked}",
            "chunk": one.facts[0].chunk,
            "assistant": f"round of {plan.failure_type}"
            if one.flawed and side == "worse"
            else f"tells: {' '.join(fact.sentence for fact in one.facts[:2])}",
        }
        for one in plan.rounds
    ]
    return {"sketch": f"Round {where}: {what[side]}.", "rounds": rounds}


def turns(plan: Scene, side: str, *, defect: str | None = None) -> list[Turn]:
    """Return one conversation as JSON."""
    rng = Random(f"{plan.seed} {side} {plan.style}")  # noqa: S311 - a play, no secret
    written = []
    for one in plan.rounds:
        user = framed(plan.behaviour, one.asked, wrong=shifted(one.facts[0].sentence), number=one.number, rng=rng)
        if plan.directed and one.number == 1:
            user = f"{user} {DIRECTIVE}"
        worse_here = one.flawed and side == "worse"
        assistant = _flawed(plan, one, rng) if worse_here else _sound(plan, one, rng)
        written.append({"round": one.number, "user": user, "assistant": assistant})
    if defect is not None and defect in _PLANT:
        _PLANT[defect](plan, side, written, rng)
    return written


def _opening(plan: Scene, rng: Random) -> str:
    return "In short: " if plan.directed else rng.choice(OPENINGS[plan.style])


def _sound(plan: Scene, one: Round, rng: Random) -> str:
    told = [fact.sentence for fact in one.facts]
    if one.absent:
        return f"{_opening(plan, rng)}The documents say nothing about the {one.absent}."
    if one.flawed and plan.failure_type == "no_clarification":
        topics = " or ".join(fact.topic for fact in one.facts)
        return f"Do you mean {topics}? {' '.join(told)}"
    most = 3 if one.flawed and plan.failure_type == "disorganized" else 2
    return _opening(plan, rng) + " ".join(told[:most])


def _flawed(plan: Scene, one: Round, rng: Random) -> str:
    told = [fact.sentence for fact in one.facts]
    opening = _opening(plan, rng)
    flawed = {
        "self_contradiction": f"{opening}{shifted(told[0])} {' '.join(told[1:2])}".strip(),
        "disorganized": " ".join([MUDDLE[0], *told[1:2], MUDDLE[1], *told[2:3], MUDDLE[2], told[0], MUDDLE[3]]),
        "fabricated_answer": f"{opening}{INVENTED.get(one.absent, '')}",
        "instruction_forgetting": " ".join(told[:2]),
        "no_clarification": f"{opening}{told[0]}",
        "unnecessary_refusal": rng.choice(REFUSALS),
        "needless_repetition": f"{opening}{told[0]} {told[0]} {told[0]}",
    }
    return flawed.get(plan.failure_type) or rng.choice(EVASIONS)


def shifted(sentence: str) -> str:
    """Return a sentence with one word changed that matters: its last number, else its last word."""
    numbers = list(_NUMBER.finditer(sentence))
    if not numbers:
        words = sentence.rstrip(".").split()
        return " ".join([*words[:-1], "otherwise"]) + "."
    last = numbers[-1]
    other = str((int(last[0]) + 12) % 28 + 1) if _DATE.match(sentence, last.start()) else _other(last[0])
    return sentence[: last.start()] + other + sentence[last.end() :]


def _other(number: str) -> str:
    if ":" in number:
        hours, _, minutes = number.partition(":")
        return f"{(int(hours) + 2) % 24}:{minutes}"
    if "." in number:
        return f"{float(number) + 1:g}"
    value = int(number.replace(",", ""))
    return f"{value + max(1, round(value * 0.4)):,}" if "," in number else str(value + max(1, round(value * 0.4)))


def _elsewhere(plan: Scene) -> int:
    """Return the place of a round that is not the flawed one, the last but one where that is possible."""
    places = [one.number - 1 for one in plan.rounds if one.number not in {plan.flawed_round, 1}]
    return places[-1] if places else 0


def _two(plan: Scene, side: str, written: list[Turn], rng: Random) -> None:
    if side == "worse":
        other = EVASIONS if plan.failure_type == "unnecessary_refusal" else REFUSALS
        written[_elsewhere(plan)]["assistant"] = ("In short: " if plan.directed else "") + rng.choice(other)


def _announced(plan: Scene, side: str, written: list[Turn], _: Random) -> None:
    if side == "worse":
        turn = written[plan.flawed_round - 1]
        turn["assistant"] = f"{turn['assistant']} {ANNOUNCED}"


def _better(plan: Scene, side: str, written: list[Turn], rng: Random) -> None:
    if side == "better":
        written[_elsewhere(plan)]["assistant"] = ("In short: " if plan.directed else "") + rng.choice(REFUSALS)


def _other_behaviour(plan: Scene, side: str, written: list[Turn], rng: Random) -> None:
    if side == "worse":
        other = next(name for name in BEHAVIOURS if name not in {plan.behaviour, "underspecified"})
        one = plan.rounds[_elsewhere(plan)]
        wrong = shifted(one.facts[0].sentence)
        written[one.number - 1]["user"] = framed(other, one.asked, wrong=wrong, number=one.number, rng=rng)


def _ungrounded(plan: Scene, side: str, written: list[Turn], _: Random) -> None:
    if side == "better":
        turn = written[_elsewhere(plan)]
        turn["assistant"] = f"{turn['assistant']} {UNGROUNDED}"


def _longer(plan: Scene, side: str, written: list[Turn], _: Random) -> None:
    if side == "worse":
        written.append({**written[_elsewhere(plan)], "round": len(written) + 1})


_PLANT: Mapping[str, Callable[[Scene, str, list[Turn], Random], None]] = {
    "two flaws": _two,
    "announced flaw": _announced,
    "flaw in the better one": _better,
    "user out of behaviour": _other_behaviour,
    "ungrounded claim": _ungrounded,
    "wrong turn count": _longer,
}
