"""Pairs as cases a harness measures judges on: both conversations of a pair at once, or each by itself."""

from __future__ import annotations

from collections.abc import Mapping

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.conditions import Side
from judgeharness_integrations.benchmark.documents.document import Document
from judgeharness_integrations.benchmark.judging.gold import (
    FLAWED,
    NONE,
    SOUND,
    TURN,
    TYPE,
    attributes_of,
    gold_of,
    turn_label,
)
from judgeharness_integrations.benchmark.pair import Conversation, Pair
from judgeharness_integrations.cases import AnswerCase, Criterion, PairwiseCase

__all__ = ["pair_case", "side_case"]


def pair_case(pair: Pair, *, documents: Mapping[str, Document], show_documents: bool = True) -> PairwiseCase:
    """Return a pair as a case: `output` is the conversation of side A, `output_b` that of side B.

    Gold are verdict, turn and type; `context` are the chunks both conversations may draw on. The turns of this pair are
    a criterion of its own.

    Args:
        pair: one with conversations.
        documents: by id; those of the pair are enough.
        show_documents: whether the judge is shown them.

    Raises:
        CaseError: the pair has no conversations, or the documents lack a chunk of it.

    """
    first, second = _conversation(pair, "A").text(), _conversation(pair, "B").text()
    return PairwiseCase(
        case_id=pair.pair_id,
        output=first,
        output_b=second,
        context=_context(pair, documents) if show_documents else None,
        author=pair.generator,
        author_b=pair.generator,
        gold=gold_of(pair),
        attributes=attributes_of(pair) | {"length_a": len(first), "length_b": len(second)},
        criteria=(Criterion(name=TURN, labels=_turns(pair)),),
    )


def side_case(pair: Pair, side: Side, *, documents: Mapping[str, Document], show_documents: bool = True) -> AnswerCase:
    """Return one conversation of a pair as a case, `pair-00001/A`; see `pair_case`.

    Gold are whether it is flawed, the turn and the type; of the score there is none, since the generator declares which
    side is better and not by how much (attribute `better`).
    """
    text, flawed, gold = _conversation(pair, side).text(), side == pair.worse_side, gold_of(pair)
    return AnswerCase(
        case_id=f"{pair.pair_id}/{side}",
        output=text,
        context=_context(pair, documents) if show_documents else None,
        author=pair.generator,
        gold={
            FLAWED: FLAWED if flawed else SOUND,
            TURN: gold[TURN] if flawed else NONE,
            TYPE: gold[TYPE] if flawed else NONE,
        },
        attributes=attributes_of(pair) | {"length": len(text), "pair": pair.pair_id, "side": side},
        criteria=(Criterion(name=TURN, labels=(*_turns(pair), NONE)),),
    )


def _conversation(pair: Pair, side: Side) -> Conversation:
    found = pair.conversation(side)
    if found is None:
        raise CaseError(f"{pair.pair_id} has no conversations: there is nothing to judge.")
    return found


def _turns(pair: Pair) -> tuple[str, ...]:
    return tuple(turn_label(number) for number in range(1, pair.conditions.n_rounds + 1))


def _context(pair: Pair, documents: Mapping[str, Document]) -> str | None:
    """Return the chunks of a pair, each under its id in brackets and its headings; None for a pair without any."""
    mine = [documents[name] for name in pair.conditions.documents if name in documents]
    chunks = {chunk.chunk_id: chunk for document in mine for chunk in document.chunks}
    missing = [name for name in pair.conditions.chunks if name not in chunks]
    if missing:
        raise CaseError(
            f"{pair.pair_id} draws on chunk {missing[0]!r}, which no document holds: restore documents.jsonl."
        )
    return "\n\n".join(chunks[name].shown for name in pair.conditions.chunks) or None
