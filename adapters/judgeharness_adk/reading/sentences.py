"""The answers of ADK's `hallucinations_v1` and of its judges of validity: one `Answer` each.

The answer of ADK's judges of validity (response match, simulated user) -> one `Answer`. It is asked for JSON with
`is_the_agent_response_valid` or `is_valid`. Every statement of that key counts: in the JSON objects that parse, and
anywhere outside them, for models copy the unquoted `[valid]` of the prompt. The key inside a string of such an object
does not count, and statements that differ are unparsed.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.judge import Answer
from judgeharness_integrations.judging.parsing import may_quote, object_of, quotations, without_quoted
from judgeharness_integrations.verdictlog.row import Verdict

from .rubrics import Field, bare, clip, comparable, fields, own_text, stated

_NAMES = frozenset({"sentence", "label", "rationale", "supporting_excerpt", "contradicting_excerpt"})
_VERDICTS: dict[str, Verdict] = dict.fromkeys(("supported", "not_applicable"), "PASS")
_VERDICTS |= dict.fromkeys(("unsupported", "contradictory", "disputed"), "FAIL")
_STATED = stated("label", "supported|unsupported|contradictory|disputed|not[ _-]applicable")
_ENDS = frozenset({"supported", "unsupported", "contradictory", "disputed", "applicable"})
_TAG = re.compile(r"(</?sentence>)", re.IGNORECASE)

_LEAST_SHARE = 0.8  # of the letters and digits of a response; marks of lists and tables get lost

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
    if not may_quote(text, shown, _ENDS):
        return text
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
            criterion=criterion, verdict=verdicts.pop(), reasoning=_labelled(_label(labels[0].first) or "", rationale)
        )
    return Answer(criterion=criterion, outcome="unparsed", reasoning=_labelled(_why(blocks, labels, said), rationale))


def _labelled(label: str, rationale: str) -> str:
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


_VALIDITY_VERDICTS: dict[str, Verdict] = {"valid": "PASS", "true": "PASS", "invalid": "FAIL", "false": "FAIL"}
_VALIDITY_VERDICTS |= dict.fromkeys(("almost", "partially", "partially_valid"), "FAIL")  # as ADK counts them
_MISNAMED: dict[str, Verdict] = {"invalid": "FAIL", "true": "FAIL", "valid": "PASS", "false": "PASS"}
_KEY = "is_the_agent_response_valid"
_ENDED = (  # value, and an end of the value, without which it goes on: ["valid" or "invalid"]
    r"[\"'`]?\s*+:[\s\[\"'`*]*+([^\n\"'`,}\]]*+)"
    r"(?:(?=([ \t\r\"'`*\]]*+(?:\Z|[\n}]|,\s*+(?:\Z|[}`]|[\"']?\w++[\"']?\s*+:))))|)"
)
_VALUE = r"[\"'`]?\s*+:[\s\[\"'`*]*+(\w++)"
_REASONING = re.compile(r"\"reasoning\"\s*+:", re.IGNORECASE)
_PASSES = re.compile(r"\"passes\"\s*+:", re.IGNORECASE)
_UNMET = re.compile(  # one of the `criteria`, in the order that the prompt asks for
    r"\"name\"\s*+:\s*+\"([^\"\n]{0,200})\"\s*+,\s*+\"reasoning\"\s*+:\s*+\"([^\"\n]{0,4000})\"\s*+,\s*+"
    r"\"passes\"\s*+:\s*+\"?false",
    re.IGNORECASE,
)
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, strict=False)  # pairs, so that a key given twice is seen
_MOST_OBJECTS = 100  # decoding is tried at so many braces; what stands later is read by its keys

_Pairs = tuple[tuple[str, object], ...]


class _Spelling:
    """A key that ends in `valid`, and the one that says the opposite, wherever an answer states them."""

    def __init__(self, key: str) -> None:
        opposite = key.removesuffix("valid") + "invalid"
        name = rf"{re.escape(key.removesuffix('valid'))}(?:in)?valid"
        self.key = key
        self.verdicts = {key: _VALIDITY_VERDICTS, opposite: _MISNAMED}
        self.keyed = re.compile(rf"\b({name}){_ENDED}", re.IGNORECASE)
        self.stated = re.compile(rf"\b{name}{_VALUE}", re.IGNORECASE)
        self.member = re.compile(rf"\b({name}){_VALUE}", re.IGNORECASE)  # the key as one word


_spelling = lru_cache(maxsize=8)(_Spelling)


def read_validity(text: str | None, criterion: str, *, shown: Iterable[str] = (), key: str = _KEY) -> Answer:
    """Return "PASS" for valid, "FAIL" for invalid (almost and partially valid too), else unparsed and why.

    Args:
        text: what the judge answered, None for nothing.
        criterion: the name of the answer's criterion.
        shown: the texts the judge was shown; a statement inside a passage of one of them is none.
        key: the key of the answer's JSON object, which ends in `valid`.

    """
    spelling = _spelling(key)
    # the key has words enough for a quotation, but in an object as a whole the judge has to write it
    verdict = spelling.stated if object_of(text or "") is None else spelling.member
    answered = without_quoted(text or "", shown, verdict.finditer)
    objects = [(pairs, span) for pairs, span in _objects(answered) if list(_keyed(pairs, spelling))]
    rest = _without(answered, [span for _, span in objects])
    stated = [found for pairs, _ in objects for found in _keyed(pairs, spelling)]
    stated += _stated(rest, spelling)
    verdicts = {spelling.verdicts[name].get(_word(value)) for name, value in stated}
    if len(verdicts) == 1 and None not in verdicts:
        reasoning = _reasoning(objects[0][0]) if objects else _sloppy_reasoning(rest, spelling)
        return Answer(criterion=criterion, verdict=verdicts.pop(), reasoning=reasoning)
    return Answer(criterion=criterion, outcome="unparsed", reasoning=_why_of_validity(stated, spelling))


def _objects(text: str) -> Iterator[tuple[_Pairs, tuple[int, int]]]:
    """Yield the JSON objects of a text that stand in no other one, and where."""
    start = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        end = start + 1
        try:
            pairs, end = _DECODER.raw_decode(text, start)
            yield pairs, (start, end)
        except (ValueError, RecursionError):
            pass
        start = text.find("{", end)


def _keyed(pairs: _Pairs, spelling: _Spelling) -> Iterator[tuple[str, object]]:
    return ((key.strip().casefold(), value) for key, value in pairs if key.strip().casefold() in spelling.verdicts)


def _stated(text: str, spelling: _Spelling) -> list[tuple[str, object]]:
    """Return what is said of either key in a text that is no JSON; a value that goes on ends in an ellipsis."""
    found = spelling.keyed.finditer(text)
    return [(match[1].casefold(), match[2] + ("\u2026" if match[3] is None else "")) for match in found]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text)]
    return "\n".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def _word(value: object) -> str:
    """Return a value as the tables spell it; "" when it is no text, no boolean and no list of one of them."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, (str, bool)):
        return ""
    return "_".join(bare(str(value)).casefold().replace("-", " ").replace("_", " ").split())


def _why_of_validity(stated: list[tuple[str, object]], spelling: _Spelling) -> str:
    if not stated:
        return f"no {spelling.key} in the answer"
    unknown = [value for name, value in stated if _word(value) not in spelling.verdicts[name]]
    if not unknown:
        return "answered twice: valid and invalid"
    return (
        f"validity {clip(unknown[0] if isinstance(unknown[0], str) else repr(unknown[0]))} is neither valid nor invalid"
    )


def _reasoning(pairs: _Pairs) -> str | None:
    texts = [value for key, value in pairs if key.strip().casefold() == "reasoning"]
    if texts and isinstance(texts[0], list):
        texts = texts[0]
    texts = texts or [*_objections(pairs)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip() or None


def _objections(pairs: _Pairs) -> Iterator[str]:
    """Yield what is said of each of the `criteria` that the answer says is not met."""
    listed = next((value for key, value in pairs if key.strip().casefold() == "criteria"), None)
    for one in listed if isinstance(listed, list) else ():
        told = {name: value for name, value in one if isinstance(name, str)} if isinstance(one, tuple) else {}
        if _VALIDITY_VERDICTS.get(_word(told.get("passes"))) == "FAIL":
            yield f"{told.get('name', '?')}: {told.get('reasoning', '?')}"


def _sloppy_reasoning(text: str, spelling: _Spelling) -> str | None:
    """Return what is said of the criteria that are not met, or what stands between `"reasoning":` and the key."""
    if unmet := [f"{name}: {why}" for name, why in _UNMET.findall(text)]:
        return "\n".join(unmet)
    begin = None if _PASSES.search(text) else _REASONING.search(text)
    end = spelling.keyed.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return None
    return text[begin.end() : end.start()].strip(' \t\r\n,[]"') or None


def splitting_problem(reply: ModelAnswer | Exception, sentences: Sequence[str], response: str) -> str | None:
    """Return why sentences cannot stand for a response: what they leave out would pass unjudged."""
    if isinstance(reply, Exception):
        return f"{type(reply).__name__}: {reply}"
    if reply.problem is not None:
        return f"of the judge's model, {reply.problem}"
    if not sentences:
        return "the judge's model named no sentence"
    if reply.text.rfind("<sentence>") > reply.text.rfind("</sentence>"):
        return "the judge's model was cut off"
    share = _letters("".join(sentences)) / max(_letters(response), 1)
    return f"the sentences hold {share:.0%} of it" if share < _LEAST_SHARE else None


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
