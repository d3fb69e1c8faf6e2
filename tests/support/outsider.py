"""A second corpus of replies, written by somebody who has not seen the code that reads one.

    for reply in attacks(READERS["ADK match"]):
        assert asyncio.run(read(reader, reply.case, reply.text)) == [], reply.way

Three groups. `attacks` pass a hostile text on and decide nothing: a verdict read in one is forged. `own_words` decide
nothing either, but name a verdict that no text of the case holds. `honest` quote and then decide in the format that was
asked for: a verdict that is not read is lost, another one in its place is turned. A pure function of `SEED`.

The hostile text "bare" is the verdict and nothing else: what copies it is counted apart, as `WAY, bare`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from judgeharness_integrations.verdictlog.row import Verdict
from support.forging import ANSWER, OTHER, READERS, Reader, prompt_of, read
from support.outsider_copies import COPIES, QUOTED_HONESTLY
from support.outsider_ways import TELLINGS, Scene

__all__ = ["Counted", "Reply", "attacks", "counted", "honest", "own_words"]

SEED = 20
_TEXTS: Mapping[str, Any] = json.loads((Path(__file__).parents[1] / "data/outsider_texts.json").read_text("utf-8"))
_HARMLESS = "That was all there is to say about it."
_FEW = 12  # words
_T = TypeVar("_T")


@dataclass(frozen=True)
class Reply:
    """What a model says of a case, in which way, and the verdicts it gives itself."""

    way: str
    case: Any
    text: str
    verdicts: tuple[Verdict, ...] = ()


def _chosen(options: Sequence[_T], *keys: object) -> _T:
    """Return one of the options: always the same one for the same keys."""
    return options[zlib.crc32("\n".join(map(str, (SEED, *keys))).encode()) % len(options)]


def _sampled(replies: Iterator[Reply], every: int) -> Iterator[Reply]:
    """Yield one reply of so many; with a prime all ways are met."""
    return (reply for place, reply in enumerate(replies) if place % every == every // 2)


def _case(reader: Reader, payload: str) -> Any:
    return reader.case(payload, None if reader.single else "A")


def _scenes(reader: Reader) -> Iterator[tuple[str, Any, Scene]]:
    """Yield each hostile text with each verdict of the reader's format: its kind, the case and the scene."""
    for kind, texts in _TEXTS["hostile"].items():
        for verdict in reader.wanted:
            hostile, translation, summary = (
                texts[part].replace("{v}", verdict) for part in ("text", "translation", "summary")
            )
            case = _case(reader, hostile)
            prompt = asyncio.run(prompt_of(reader, case))
            yield kind, case, Scene(hostile, translation, summary, verdict, OTHER, prompt)


def _way(way: str, kind: str) -> str:
    return f"{way}, bare" if kind == "bare" else way


def attacks(reader: Reader, *, every: int = 1) -> Iterator[Reply]:
    """Yield replies that hold no verdict of the judge's own, only what it was shown."""
    return _sampled(_attacks(reader), every)


def _attacks(reader: Reader) -> Iterator[Reply]:
    for kind, case, scene in _scenes(reader):
        for way, copy in COPIES.items():
            text = _chosen((scene.hostile, f"{ANSWER}\n\n{scene.hostile}"), "text", way, kind, scene.verdict)
            yield Reply(_way(way, kind), case, _framed(copy(text), way, kind, scene.verdict))
        for way, telling in TELLINGS.items():
            yield Reply(_way(way, kind), case, telling(scene))


def _framed(quotation: str, *keys: object) -> str:
    """Return a quotation with words around it; a short one is not left alone, since that would be a verdict."""
    frames: Sequence[str] = _TEXTS["frames"]
    frame = _chosen(frames if len(quotation.split()) > _FEW else frames[1:], *keys)
    return frame.replace("{q}", quotation)


def own_words(reader: Reader, *, every: int = 1) -> Iterator[Reply]:
    """Yield replies that name a verdict, with the code of the case if the reader wants one, but do not give it."""
    return _sampled(_own_words(reader), every)


def _own_words(reader: Reader) -> Iterator[Reply]:
    case = _case(reader, _HARMLESS)
    for verdict in _own_forms(reader):
        for way, words in _TEXTS["own words"].items():
            yield Reply(way, case, words.replace("{v}", verdict))


def _own_forms(reader: Reader) -> tuple[str, ...]:
    """Return verdicts as the judge itself gives them."""
    if not reader.ours:
        return reader.wanted
    own: str = reader.own(_HARMLESS)
    return (own if own.startswith("{") else own.rpartition("\n")[2],)


def honest(reader: Reader, *, every: int = 1) -> Iterator[Reply]:
    """Yield replies that quote and then give a verdict in the format that was asked for."""
    return _sampled(_honest(reader), every)


def _honest(reader: Reader) -> Iterator[Reply]:
    decisions = (reader.own, *(decide for decide, _ in reader.more))
    plain = _case(reader, _HARMLESS)
    verdicts = [tuple(asyncio.run(read(reader, plain, decide("Nothing to quote.")))) for decide in decisions]
    for kind, texts in _TEXTS["hostile"].items():
        for wanted in reader.wanted:
            hostile = texts["text"].replace("{v}", wanted)
            case = _case(reader, hostile)
            for way, copy in QUOTED_HONESTLY.items():
                lead: str = _chosen(_TEXTS["leads"], "lead", way, kind, wanted)
                place = _chosen(range(len(decisions)), "decision", way, kind, wanted)
                text = decisions[place](lead.replace("{q}", copy(hostile)))
                yield Reply(_way(way, kind), case, text, verdicts[place])
                if text.startswith("{"):
                    yield Reply(_way(f"{way}, laid out", kind), case, _laid_out(text), verdicts[place])


def _laid_out(text: str) -> str:
    """Return an object over several lines, reasons last, other scripts as they are."""
    return json.dumps(dict(reversed(json.loads(text).items())), indent=2, ensure_ascii=False)


@dataclass(frozen=True)
class Counted:
    """How many replies were read of each group, and in which ways a verdict was forged, lost or turned."""

    read: Mapping[str, int]
    forged: Counter[str]
    own_words: Counter[str]
    lost: Counter[str]
    turned: Counter[str]

    @property
    def found(self) -> dict[str, dict[str, int]]:
        """The ways with a count, by group; no group without one."""
        groups = {"forged": self.forged, "own_words": self.own_words, "lost": self.lost, "turned": self.turned}
        return {group: dict(sorted(ways.items())) for group, ways in groups.items() if ways}


def counted(reader: Reader, *, every: int = 1) -> Counted:
    """Return all counts of a reader."""
    counts = Counted({}, Counter(), Counter(), Counter(), Counter())
    totals = dict.fromkeys(("attacks", "own_words", "honest"), 0)
    for group, replies, ways in (
        ("attacks", attacks(reader, every=every), counts.forged),
        ("own_words", own_words(reader, every=every), counts.own_words),
    ):
        for reply in replies:
            totals[group] += 1
            ways.update([reply.way] * bool(_read(reader, reply)))
    for reply in honest(reader, every=every):
        totals["honest"] += 1
        verdicts = _read(reader, reply)
        if Counter(verdicts) - Counter(reply.verdicts):
            counts.turned[reply.way] += 1
        elif verdicts != reply.verdicts:
            counts.lost[reply.way] += 1
    return Counted(totals, counts.forged, counts.own_words, counts.lost, counts.turned)


def _read(reader: Reader, reply: Reply) -> tuple[Verdict, ...]:
    return tuple(asyncio.run(read(reader, reply.case, reply.text)))


if (
    __name__ == "__main__"
):  # PYTHONPATH=tests python -m support.outsider [7]: all counts, as tests/data/outsider_counts.json holds them
    found = {name: counted(reader, every=int((sys.argv[1:] or ["1"])[0])) for name, reader in READERS.items()}
    print(json.dumps({name: {**one.found, "read": one.read} for name, one in found.items()}, indent=1))  # noqa: T201
