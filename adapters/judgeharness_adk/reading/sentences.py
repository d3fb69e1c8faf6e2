"""The answers of ADK's `hallucinations_v1`: its segmenter's sentences, and its validator -> one `Answer` a sentence."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from judgeharness_adk.reading._fields import Field, bare, clip, comparable, fields, own_text, stated
from judgeharness_integrations.judging import Answer
from judgeharness_integrations.quotations import quotations
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["read_sentences", "split_sentences"]

_NAMES = frozenset({"sentence", "label", "rationale", "supporting_excerpt", "contradicting_excerpt"})
_VERDICTS: dict[str, Verdict] = dict.fromkeys(("supported", "not_applicable"), "PASS")
_VERDICTS |= dict.fromkeys(("unsupported", "contradictory", "disputed"), "FAIL")
_STATED = stated("label", "supported|unsupported|contradictory|disputed|not[ _-]applicable")
_TAG = re.compile(r"(</?sentence>)", re.IGNORECASE)

_Block = list[Field]


def split_sentences(text: str | None) -> tuple[str, ...]:
    """Return the sentences a segmenter put between tags, stripped, without empty ones.

    A sentence whose closing tag is missing ends at the next opening one; what is cut off at the end does not count.
    """
    parts = _TAG.split(text or "")  # text, tag, text, tag, ..., text
    opened = zip(parts[1:-2:2], parts[2:-2:2], strict=True)
    sentences = (sentence.strip() for tag, sentence in opened if tag.casefold() == "<sentence>")
    return tuple(filter(None, sentences))


def read_sentences(
    text: str | None, sentences: Sequence[tuple[str, str]], *, shown: Iterable[str] = ()
) -> tuple[Answer, ...]:
    """Return one answer a sentence, in their order.

    Supported and not applicable are "PASS"; unsupported, contradictory and disputed are "FAIL"; all else is unparsed.
    A sentence given several times is matched in order when it is answered as often, else all its answers must agree.

    Args:
        text: what the validator answered, None for nothing.
        sentences: (criterion, sentence) of each sentence it was shown.
        shown: the texts it was shown; a label inside a passage of one of them is none.

    """
    keys = [_key(sentence) for _, sentence in sentences]
    about: dict[str, list[_Block]] = defaultdict(list)
    for block in _blocks(fields(_own(text or "", tuple(shown), keys), _NAMES)):
        about[_key(block[0].text)].append(block)
    given = Counter(keys)
    turns = {key: iter(about[key]) for key in given if given[key] == len(about[key])}
    blocks = [[next(turns[key])] if key in turns else about[key] for key in keys]
    return tuple(_answer(name, mine) for (name, _), mine in zip(sentences, blocks, strict=True))


def _own(text: str, shown: Sequence[str], keys: Sequence[str]) -> str:
    """Return an answer without the labels that it quotes.

    A judge has to repeat each sentence before its label, and another sentence may foretell that. An answer that begins
    with the sentences in their order does what it was asked to, if it gives any label that it does not quote.
    """
    quoted = quotations(text, shown)
    if not quoted.spans or all(quoted.around(*match.span(1)) for match in _STATED.finditer(text)):
        return own_text(text, shown, _STATED)
    return own_text(text, shown, _STATED, repeated=_heads(text, keys))


def _heads(text: str, keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return where an answer that begins with sentences in their order repeats them, up to their labels."""
    found = fields(text, _NAMES)
    if not found or bare(text[: found[0].start]):
        return []
    heads: list[tuple[int, int]] = []
    for block, key in zip(_blocks(found), keys, strict=False):
        if _key(block[0].text) != key or len(block) == 1 or block[1].name != "label":
            break
        heads.append((block[0].start, block[1].value))
    return heads


def _blocks(found: Sequence[Field]) -> list[_Block]:
    """Group the fields from one `sentence` to the next; those before the first are nobody's."""
    blocks: list[_Block] = []
    for field in found:
        if field.name == "sentence":
            blocks.append([field])
        elif blocks:
            blocks[-1].append(field)
    return blocks


def _key(sentence: str) -> str:
    return comparable(_TAG.sub(" ", sentence))


def _answer(criterion: str, blocks: Sequence[_Block]) -> Answer:
    labels = [field for block in blocks for field in block if field.name == "label"]
    said = {label for field in labels for label in field.said(_label, _label)}
    rationale = next((field.text for block in blocks for field in block if field.name == "rationale"), "")
    verdicts = {_VERDICTS[label] if label else None for label in said}
    if len(verdicts) == 1 and None not in verdicts:
        return Answer(
            criterion=criterion, verdict=verdicts.pop(), reasoning=_told(_label(labels[0].first) or "", rationale)
        )
    return Answer(criterion=criterion, outcome="unparsed", reasoning=_told(_why(blocks, labels, said), rationale))


def _told(label: str, rationale: str) -> str:
    return f"{label}: {rationale}" if rationale else label


def _why(blocks: Sequence[_Block], labels: Sequence[Field], said: set[str | None]) -> str:
    if not labels:
        return "no label of this sentence" if blocks else "no answer about this sentence"
    if None not in said:
        return "answered twice: " + " and ".join(sorted(label for label in said if label))
    unreadable = next(field.first for field in labels if None in field.said(_label, _label))
    return f"label {clip(unreadable)} is none of the five" if unreadable else "the label is empty"


def _label(line: str) -> str | None:
    word = "_".join(bare(line).casefold().replace("-", " ").replace("_", " ").split())
    return word if word in _VERDICTS else None
