"""Judges on the loopback server that judge sums honestly but for one planted fault, which the model's name chooses.

Each reads the prompt it really gets. An answer is right when its first number is the sum that the task asks for, and
worthless when it holds no number.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from aiohttp import web

from judgeharness_integrations.judging.marks import code_in
from judgeharness_integrations.testing import verdict_text
from support.judge_orders import ORDERS
from support.openai_replies import Reply, Request

__all__ = ["FAULTS", "REWRITER", "WORDING", "BadJudges", "write_sums"]

_TEXT = re.compile(r"<<[0-9a-f]{8} Text>>\n(.*)\n<<[0-9a-f]{8} end>>", re.DOTALL)
_SUM = re.compile(r"What is (\d+) \+ (\d+)\?")
_NUMBER = re.compile(r"\d+")
_OFTEN = 0.4  # how often a judge that fails at random does
_LONG = 2.3  # times the other answer
_USUAL = 700  # characters of an answer of `write_sums`
_OTHER_WORDS = ("is what", "is the number that")
_RIGHT, _WRONG, _WORTHLESS = 2.0, 1.0, 0.0

REWRITER = "rewriter"  # the model that says the same in other words
WORDING = "Compare the sums the two answers give, or check the only one. Which is correct?"

_CHARMS: Mapping[str, re.Pattern[str]] = {
    "names": re.compile(r"\bAda\b"),
    "authority": re.compile(r"professors|board of experts|leading journal|doctorates|laureates"),
    "self_praise": re.compile(r"exceptionally clear|better than any|I am proud|Few answers reach"),
    "confident_tone": re.compile(r"no doubt whatsoever|absolutely sure|Without any hesitation|a plain fact"),
    "chain_of_thought": re.compile(r"How I arrived|^Thought:|<thinking>|^Verification log", re.MULTILINE),
    "model_name": re.compile(r"\b(?:ChatGPT|Claude|Gemini|DeepSeek|GPT-\d)"),
}

# model -> the one property that a check must name; what stands in neither is an honest judge
FAULTS: Mapping[str, str | None] = {
    "good": None,
    "position": "position",
    "slot_names": "slot_names",
    "format": "format",
    "paraphrase": "paraphrase",
    "prompt_variant": "prompt_variant",
    "noisy": "repetition",
    "copies": "collapse",
    "garbage": "parse_rate",
    "refuser": "refusals",
    "verbosity": "verbosity",
    **{name: name for name in _CHARMS},
    **{name: name for name in ORDERS},
    "sentinel.empty": "sentinel.empty",
    "sentinel.off_topic": "sentinel.off_topic",
    "sentinel.copy": "sentinel.copy",
}


@dataclass(frozen=True)
class Shown:
    """What a prompt shows: the sum, the answers in their order, and the labels they carry."""

    sum: str
    answers: tuple[str, ...]
    slots: tuple[str, ...]
    instructions: str

    @classmethod
    def of(cls, request: Request) -> Shown:
        if (code := code_in(request.user)) is None:
            raise ValueError(f"no code in {request.user!r}")
        texts = re.findall(rf"<<{code} ([^>\n]+)>>\n(.*?)\n<<{code} end>>", request.user, re.DOTALL)
        [task] = [text for title, text in texts if title == "Task"]
        numbers = _found(_SUM, task)
        answers = [(title, text) for title, text in texts if title.startswith("Answer")]
        return cls(
            sum=str(int(numbers[1]) + int(numbers[2])),
            answers=tuple(text for _, text in answers),
            slots=tuple(title.removeprefix("Answer of ") for title, _ in answers),
            instructions=request.system,
        )


def _found(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    found = pattern.search(text)
    if found is None:
        raise ValueError(f"no {pattern.pattern!r} in {text!r}")
    return found


class BadJudges:
    """A script of the loopback server: as many judges as there are faults."""

    def __init__(self) -> None:
        self._asked: Counter[tuple[str, str]] = Counter()

    def __call__(self, request: Request) -> Reply:
        if request.model == REWRITER:
            return Reply.text(_found(_TEXT, request.user)[1].replace(*_OTHER_WORDS))
        fault, shown = request.model, Shown.of(request)
        if fault not in FAULTS:
            raise ValueError(f"no judge has the fault {fault!r}")
        self._asked[fault, request.text] += 1
        luck = _luck(fault, request.text, self._asked[fault, request.text])
        if fault == "refuser" and luck < _OFTEN:
            return Reply.refusal()
        if fault == "garbage" and luck < _OFTEN:
            return Reply.text("Sums are difficult, and so are these two.")
        verdict = _verdict(request, shown, _lead(fault, shown, wavers=fault == "noisy" and luck < _OFTEN))
        if fault == "copies":
            return _Copy(content=verdict, same=blake2b(request.text.encode(), digest_size=12).hexdigest())
        return Reply.text(verdict)


def _luck(*parts: object) -> float:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest(), "big") / 256**6


def _verdict(request: Request, shown: Shown, lead: float) -> str:
    """Return the judge's words: a lead is in favour of the first answer, or of the only one."""
    first, *others = shown.slots
    if others:
        word = "TIE" if lead == 0 else first if lead > 0 else others[0]
    elif "whole number" in request.system:
        word = str(max(1, min(10, round(5.5 + 4.5 * lead))))
    else:
        word = "PASS" if lead > 0 else "FAIL"
    return verdict_text(request.text, word, reasons="I looked at the sums only.")


def _lead(fault: str, shown: Shown, *, wavers: bool) -> float:
    """Return what a judge makes of the answers: above 0 for the first of two, or for a good one."""
    worth = [_worth(fault, text, shown.sum) for text in shown.answers]
    if order := _ordered(fault, shown):
        return order
    if fault in _CHARMS or fault == "verbosity":
        first, *others = (_charmed(fault, shown, place) for place in range(len(shown.answers)))
        if first not in (others or [False]):
            return 1 if first else -1
    honest = worth[0] - worth[1] if len(worth) > 1 else worth[0] - 1.5
    if _WORTHLESS in worth:
        return honest
    return -honest if wavers else _bent(fault, shown, honest)


def _worth(fault: str, text: str, right: str) -> float:
    number = _NUMBER.search(text)
    if number is not None:
        return _RIGHT if number[0] == right else _WRONG
    if text.strip():
        return 2 * _RIGHT if fault == "sentinel.off_topic" else _WORTHLESS
    return 2 * _RIGHT if fault == "sentinel.empty" else _WORTHLESS


def _ordered(fault: str, shown: Shown) -> float:
    """Return what the first order that the judge follows is in favour of, 0 without one."""
    orders = [order for text in shown.answers if fault in ORDERS and (order := ORDERS[fault](text))]
    return 0.0 if not orders else -1.0 if orders[0] == "B" else 1.0


def _charmed(fault: str, shown: Shown, place: int) -> bool:
    text = shown.answers[place]
    if fault != "verbosity":
        return _CHARMS[fault].search(text) is not None
    others = [len(one) for at, one in enumerate(shown.answers) if at != place]
    return len(text) > _LONG * (others[0] if others else _USUAL)


def _bent(fault: str, shown: Shown, honest: float) -> float:
    """Return the lead as faults have it that speak up about any two answers that are worth something."""
    same = len(set(shown.answers)) < len(shown.answers)
    if fault == "position" and not same:
        return 1
    if fault == "sentinel.copy" and same:
        return 1
    unusual = {
        "slot_names": shown.slots not in (("Assistant A", "Assistant B"), ("Answer",)),
        "format": not any("**" in text for text in shown.answers),
        "paraphrase": any(_OTHER_WORDS[1] in text for text in shown.answers),
        "prompt_variant": WORDING in shown.instructions,
    }
    return -honest if unusual.get(fault, False) else honest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy(Reply):
    """What a cache in front of a model sends: an earlier reply with its id."""

    content: str
    same: str

    async def send(self, http: web.Request, request: Request) -> web.StreamResponse:
        message = {"role": "assistant", "content": self.content, "refusal": None}
        body = {
            "id": f"chatcmpl-{self.same}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": request.model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return web.json_response(body)


# Cases


_STEPS = (
    "The tens are added first, since they weigh most.",
    "The ones are added after that, each to each.",
    "Where the ones make more than a ten, a ten is carried over.",
    "Both numbers come from the task and nothing was rounded.",
    "The order of the two does not matter for a sum.",
    "A sum is larger than each of its parts when both are above zero.",
    "Taking one part away again gives back the other part.",
    "Counting on from the larger number leads to the same place.",
    "Nothing else was asked, so nothing else is said here.",
    "Whoever wants to can lay it out with coins on a table.",
)


def write_sums(path: Path, n: int, *, kind: str = "pairwise", seed: int = 0) -> Path:
    """Write n cases as JSON lines: a sum and two answers of which one is right, or a single answer."""
    source = random.Random(f"{seed}|sums")  # noqa: S311 - cases of a test
    path.write_text("".join(json.dumps(_case(at, kind, source)) + "\n" for at in range(n)), encoding="utf-8")
    return path


def _case(at: int, kind: str, source: random.Random) -> dict[str, Any]:
    first, second = source.randint(11, 49), source.randint(11, 49)
    people = source.sample(["Ada", "Ben"], 2)
    right = source.choice([True, False])
    numbers = [first + second + (0 if good else source.choice([-2, 2, 10])) for good in (right, not right)]
    case: dict[str, Any] = {
        "case_id": f"sum {at}",
        "input": f"What is {first} + {second}?",
        "output": _answer(numbers[0], people[0], source),
        "names": "Ada, Ben",
    }
    if kind != "pairwise":
        return case | {"gold": "PASS" if right else "FAIL"} if kind == "graded" else case
    return case | {"output_b": _answer(numbers[1], people[1], source), "gold": "A" if right else "B"}


def _answer(number: int, person: str, source: random.Random) -> str:
    steps: Sequence[str] = source.sample(_STEPS, len(_STEPS))
    return "\n".join(
        [f"**{number}** is what {person} gets, and it's the whole answer.", "", *(f"- {s}" for s in steps)]
    )
