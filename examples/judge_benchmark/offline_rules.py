"""How the offline verifier and judges find flaws: by rules, out of what they read, without the declared labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from offline_reading import Said, plain, sentences
from offline_wording import ASIDE

ABSENCE = "say nothing about"
_REPEATED = 3
_MUDDLED = 2
_HEDGED = 2
_SHOWN = 80  # characters of a flawed answer are enough to find it
_LONG = 5  # letters; shorter words are not what a question is about
_DIRECTIVE = re.compile(r'begin every answer with the words "([^"]+)"')
_HEDGES = ("depends", "usually", "circumstances", "in general", "case to case", "various aspects")
_MUDDLE = ("several sides", "beside the point", "where was i", "one way or another")


@dataclass(frozen=True)
class Flaw:
    """A flaw that was found: in which round, of which type, and the words that show it."""

    round: int
    type: str
    what: str


Rule = Callable[[Said, Sequence[Said], str], bool]


def flaws(said: Sequence[Said], documents: str) -> list[Flaw]:
    """Return the flaws of a conversation, at most one a round; `documents` as one plain text, empty if not shown."""
    found = []
    for place, turn in enumerate(said):
        for name, rule in _RULES.items():
            if rule(turn, said[:place], documents):
                found.append(Flaw(round=turn.round, type=name, what=turn.assistant[:_SHOWN]))
                break
    return found


def _refuses(turn: Said, _: Sequence[Said], __: str) -> bool:
    return "cannot help" in turn.assistant


def _forgets(turn: Said, before: Sequence[Said], _: str) -> bool:
    asked = [found[1] for one in (*before, turn) if (found := _DIRECTIVE.search(one.user))]
    return any(not turn.assistant.startswith(words) for words in asked)


def _does_not_ask_back(turn: Said, _: Sequence[Said], __: str) -> bool:
    return "that one?" in turn.user and "?" not in turn.assistant


def _invents(turn: Said, _: Sequence[Said], documents: str) -> bool:
    if not documents or ABSENCE in turn.assistant:
        return False
    asked = {word for word in re.findall(r"[a-z]+", turn.user.lower()) if len(word) >= _LONG}
    return any(word not in documents for word in asked - ASIDE)


def _contradicts(turn: Said, before: Sequence[Said], documents: str) -> bool:
    told = [sentence for one in before for sentence in sentences(one.assistant)]
    return any(
        _one_word_apart(sentence, earlier) and not (documents and plain(sentence) in documents)
        for sentence in sentences(turn.assistant)
        for earlier in told
    )


def _one_word_apart(one: str, other: str) -> bool:
    """Whether two sentences are the same but for one word that is a figure in one of them, or ends them."""
    words, others = plain(one).rstrip(".").split(), plain(other).rstrip(".").split()
    if len(words) != len(others):
        return False
    apart = [place for place, pair in enumerate(zip(words, others, strict=True)) if pair[0] != pair[1]]
    if len(apart) != 1:
        return False
    [place] = apart
    return words[place][0].isdigit() or words[place] == "otherwise"


def _muddles(turn: Said, _: Sequence[Said], __: str) -> bool:
    return sum(words in turn.assistant.lower() for words in _MUDDLE) >= _MUDDLED


def _repeats(turn: Said, _: Sequence[Said], __: str) -> bool:
    told = sentences(turn.assistant)
    return any(told.count(sentence) >= _REPEATED for sentence in told)


def _evades(turn: Said, _: Sequence[Said], __: str) -> bool:
    text = turn.assistant.lower()
    return sum(words in text for words in _HEDGES) >= _HEDGED and not any(letter.isdigit() for letter in text)


_RULES: dict[str, Rule] = {
    "unnecessary_refusal": _refuses,
    "evasion": _evades,
    "instruction_forgetting": _forgets,
    "no_clarification": _does_not_ask_back,
    "fabricated_answer": _invents,
    "self_contradiction": _contradicts,
    "disorganized": _muddles,
    "needless_repetition": _repeats,
}
TYPES = tuple(_RULES)
