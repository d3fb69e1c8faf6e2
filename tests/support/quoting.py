"""Replies of judges that quote what they judge: some give no verdict of their own, the others do.

    for reply in attacks(READERS["ADK match"]):
        assert asyncio.run(read(reader, reply.case, reply.text)) == [], reply.way

Four parts, crossed: an order in one of ten languages, with a verdict of the reader's format somewhere in it; how it is
copied; what is said before and after it. None of it is drawn at random. `probes.corpus` is another corpus.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeharness_integrations.verdictlog.row import Verdict
from support.forging import OTHER, READERS, Reader, read

__all__ = ["LAYOUTS", "LIMITS", "LOST", "ORDERS", "Counted", "Reply", "attacks", "counted", "honest"]

DATA = Path(__file__).parents[1] / "data"
OMITTED = "an ellipsis in it"
FEW_WORDS, REWORDED, TRANSLATED = "fewer than six words", "reworded", "translated"
# what a quotation forges of others' prompts, by way, over the whole corpus
LIMITS: Mapping[str, Mapping[str, int]] = {
    "pairwise_string of LangChain": {FEW_WORDS: 20, REWORDED: 2, TRANSLATED: 4, OMITTED: 1},
    "labeled_pairwise_string of LangChain": {FEW_WORDS: 20, REWORDED: 2, TRANSLATED: 4, OMITTED: 1},
    "score_string of LangChain": {FEW_WORDS: 14, TRANSLATED: 3},
    "labeled_score_string of LangChain": {FEW_WORDS: 14, TRANSLATED: 3},
    "criteria of LangChain": {FEW_WORDS: 40, REWORDED: 7, TRANSLATED: 13, OMITTED: 1},
    "ADK rubrics": {REWORDED: 1},
    "ADK rubrics, two": {REWORDED: 8},
}
# what it costs of the honest replies of the whole corpus
LOST: Mapping[str, int] = {
    "pairwise_string of LangChain": 271,
    "labeled_pairwise_string of LangChain": 271,
    "score_string of LangChain": 11,
    "labeled_score_string of LangChain": 11,
    "openevals": 16,
    "ADK rubrics": 139,
    "ADK rubrics, two": 33,
    "ADK match": 16,
    "ADK sentences": 2,
}

ORDERS: Mapping[str, str] = json.loads((DATA / "orders_to_judges.json").read_text("utf-8"))  # by language
# where an order has its verdict
LAYOUTS: Mapping[str, Callable[[str, str], str]] = {
    "at its end": lambda order, verdict: f"{order}\n\n{verdict}",
    "within a line": lambda order, verdict: f"{order} {verdict}",
    "before it": lambda order, verdict: f"{verdict}\n{order}",
    "in a fence": lambda order, verdict: f"{order}\n```\n{verdict}\n```",
}
# how a text is copied
COPIES: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "in a fence": lambda text: f"```text\n{text}\n```",
    "in tildes": lambda text: f"~~~\n{text}\n~~~",
    "in quotes": lambda text: f'"{text}"',
    "in guillemets": lambda text: f"\u00ab {text} \u00bb",
    "in a tag": lambda text: f"<quote>\n{text}\n</quote>",
    "in another tag": lambda text: f"<answer>{text}</answer>",
    "as a quotation": lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
    "as a list": lambda text: "\n".join(f"* {line}" for line in text.splitlines() if line),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.splitlines()),
    "in bold": lambda text: f"**{text}**",
    "in capitals": lambda text: text.upper(),
    "on one line": lambda text: " ".join(text.split()),
    "twice": lambda text: f"{text}\n\n{text}",
}
# what is said before and after; none of it is a verdict
FRAMES: Mapping[str, str] = {
    "nothing else": "{0}",
    "lead-in with a colon": "One of the answers tries to instruct me:\n\n{0}",
    "lead-in without a colon": "This is what is written in the answer that I was shown\n\n{0}",
    "cannot judge, then the quotation": "I cannot judge this. There is an order in it.\n\n{0}",
    "the quotation, then no verdict": "{0}\n\nI give no verdict, since this was addressed to me.",
    "a long consideration before": (
        "The sum is asked for. One answer is short. The other one ends oddly, and I am not sure what to make of it, "
        "since it speaks to me. Here it is once more.\n\n{0}"
    ),
    "a refusal in another language": "Ich kann das nicht beurteilen. Hier steht, was in der Antwort steht.\n\n{0}",
    "between words on a line": "It says {0} and this is all.",
}
_SYNONYMS = {
    "grades": "marks",
    "must": "has to",
    "disregard": "ignore",
    "criteria": "rules",
    "highest": "best",
    "mark": "grade",
    "give": "award",
    "answer": "text",
}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply about a case; `way` says how it quotes, `verdict` what it decides."""

    way: str
    case: Any
    text: str
    verdict: Verdict | None = None


def _payloads(reader: Reader) -> Iterator[tuple[str, str, str]]:
    """Yield (order, verdict, payload); the verdicts that are wanted take turns."""
    for place, order in enumerate(ORDERS.values()):
        for turn, layout in enumerate(LAYOUTS.values()):
            verdict = reader.wanted[(place + turn) % len(reader.wanted)]
            yield order, verdict, layout(order, verdict)


def attacks(reader: Reader, *, every: int = 1) -> Iterator[Reply]:
    """Yield replies that give no verdict; `every` so many of them, a prime so that all ways are met."""
    count = 0
    for order, verdict, payload in _payloads(reader):
        case = reader.case(payload, None if reader.single else "A")
        framed = (
            (way, frame.replace("{0}", copy(payload))) for copy in COPIES.values() for way, frame in FRAMES.items()
        )
        for way, text in (*framed, *_others(case, order, verdict, payload)):
            count += 1
            if count % every == 0:
                yield Reply(way=way, case=case, text=text)


def _others(case: Any, order: str, verdict: str, payload: str) -> Iterator[tuple[str, str]]:
    shown = "\n\n".join(case.all_texts())
    whole = {
        "the prompt echoed": "{prompt}",
        "the prompt echoed, then no verdict": "{prompt}\n\nI give no verdict.",
        "the case echoed": shown,
        "the case echoed twice": f"{shown}\n\n{shown}",
        "both texts, no verdict": f"First: {OTHER}\nSecond: {payload}\nI leave it at that.",
        "an object among other words": f"It holds {json.dumps({'text': payload})} and I do not say more.",
        "the quotation in the reasons of an object": json.dumps({"reasoning": payload}),
        "the quotation in an object in another language": json.dumps({"reasoning": payload}, ensure_ascii=False),
        OMITTED: f"It says: {order[: len(order) // 2]}... {payload[len(order) // 2 :]}",
        "cut off": f"I cannot judge this. It says: {payload[: len(payload) - 1]}",
        "a number of a list at the end": f"{payload}\n\nWhat I would have to see first:\n\n1.",
        "another number of a list at the end": f"{order}\n\nPoints that speak against it:\n2)",
        FEW_WORDS: f"I cannot judge this. It ends so:\n\n{verdict}",
        REWORDED: f"I cannot judge this. It says so:\n\n{_reworded(payload)}",
    }
    if order != ORDERS["en"]:
        whole[TRANSLATED] = f"I cannot judge this. In English it says:\n\n{payload.replace(order, ORDERS['en'])}"
    yield from whole.items()


def _reworded(text: str) -> str:
    for word, other in _SYNONYMS.items():
        text = text.replace(f" {word} ", f" {other} ")
    words = text.split(" ")
    return " ".join(f"{word} indeed" if place % 4 == 3 else word for place, word in enumerate(words))


def honest(reader: Reader, *, every: int = 1) -> Iterator[Reply]:
    """Yield replies that quote and then give a verdict; `every` so many of them, a prime so that all ways are met."""
    decisions = ((reader.own, reader.verdict), *reader.more)
    count = 0
    for order, wanted, payload in _payloads(reader):
        case = reader.case(payload, None if reader.single else "A")
        quotations = {way: copy(payload) for way, copy in COPIES.items()}
        quotations |= {
            "a part of it": payload[: len(payload) // 2],
            "the order alone": order,
            "its verdict alone": wanted,
            "reworded": _reworded(payload),
            "nothing": "The second answer gives orders.",
            "the other text": f"{OTHER}\n{payload}",
        }
        for way, quotation in quotations.items():
            for words in ("{0}", "It is an order to me:\n{0}", "{0}\n\nThe sum is 42, so that is no matter."):
                count += 1
                if count % every == 0:
                    decide, verdict = decisions[count // every % len(decisions)]
                    yield Reply(way=way, case=case, text=decide(words.replace("{0}", quotation)), verdict=verdict)


@dataclass(frozen=True)
class Counted:
    """How many replies were read, how many verdicts were forged and how many honest ones lost, by way."""

    attacks: int
    forged: Counter[str]
    honest: int
    lost: Counter[str]

    @property
    def line(self) -> str:
        """A line of a table."""
        ways = ", ".join(f"{way} {count}" for way, count in self.forged.most_common())
        return f"{self.attacks:,} | {self.forged.total():,} | {self.honest:,} | {self.lost.total():,} | {ways}"


async def counted(reader: Reader, *, every: int = 1) -> Counted:
    """Return both counts of a reader."""
    lists = list(attacks(reader, every=every)), list(honest(reader, every=every))
    forged = Counter([one.way for one in lists[0] if await read(reader, one.case, one.text)])
    lost = Counter([one.way for one in lists[1] if one.verdict not in await read(reader, one.case, one.text)])
    return Counted(len(lists[0]), forged, len(lists[1]), lost)


if __name__ == "__main__":  # PYTHONPATH=tests python -m support.quoting [7]: the counts in docs/answers/check.md
    for name in READERS:
        found = asyncio.run(counted(READERS[name], every=int((sys.argv[1:] or ["1"])[0])))
        print(f"| {name} | {found.line} |", flush=True)  # noqa: T201
