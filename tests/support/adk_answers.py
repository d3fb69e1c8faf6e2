"""What a scripted judge answers to ADK's own prompts: it reads the prompt, so one script serves every metric.

    script = in_turn("yes", "yes", {"polite": "no", "short": "yes"}, JudgeDown(), Raw("I would rather not say."))

A verdict is a word for all rubrics asked about, words by rubric id (ids left out are not answered), `Raw` text to be
sent as it is, or an exception to raise. For `final_response_match_v2` "yes" becomes `valid` and "no" `invalid`; for
`hallucinations_v1` they become `supported` and `unsupported`; any other word is sent as it is.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "CITIES",
    "Answers",
    "JudgeDown",
    "JudgePrompt",
    "Raw",
    "Verdict",
    "always",
    "answer",
    "by_city",
    "in_turn",
    "per_rubric",
]

CITIES = ("Oslo", "Rome", "Lima", "Cairo", "Delhi", "Perth", "Quito", "Tunis", "Hanoi", "Turin", "Malmo", "Natal")
"""What the bench's conversations are about; a prompt is told from another by the cities it names."""

Kind = Literal["final_response", "tool_use", "multi_turn", "match", "segmenter", "validator", "unknown"]

_KINDS: tuple[tuple[str, Kind], ...] = (
    ("Sentence Segmentation Output", "segmenter"),
    ("**Sentences Begin**", "validator"),
    ('"is_the_agent_response_valid"', "match"),
    ("<conversation_history>", "multi_turn"),
    ("<final_answer>", "final_response"),
    ("# Available tools, user input, response and properties", "tool_use"),
)
_RUBRIC = re.compile(r"^\*\s+\[id: (.+?)\] (.*)$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Raw(str):
    """An answer sent to the letter."""

    __slots__ = ()


class JudgeDown(RuntimeError):  # noqa: N818 - it reads as what happened
    """The judge cannot be reached."""


Verdict = str | Mapping[str, str] | Exception
Answers = Callable[["JudgePrompt"], str]


@dataclass(frozen=True, slots=True)
class JudgePrompt:
    """One prompt as a judge model got it."""

    text: str

    @property
    def kind(self) -> Kind:
        """The metric asking, by words only its prompt has."""
        return next((kind for words, kind in _KINDS if words in self.text), "unknown")

    @property
    def rubrics(self) -> dict[str, str]:
        """The text of each rubric asked about, by id, in the order shown; the prompt's own example is not counted."""
        asked = self.text.rpartition("<properties>")[2].partition("</properties>")[0].strip()
        if asked.startswith("["):
            return {rubric["id"]: rubric["property"] for rubric in json.loads(asked)}
        return dict(_RUBRIC.findall(asked))

    @property
    def cities(self) -> tuple[str, ...]:
        """The cities named, in the order of `CITIES`."""
        return tuple(city for city in CITIES if city in self.text)

    @property
    def sentences(self) -> list[str]:
        """The sentences to segment or to validate."""
        if self.kind == "segmenter":
            response = _last_between(self.text, "**Response Begin**", "**Response End**")
            return _SENTENCE_END.split(response.strip())
        return re.findall(
            r"(?s)<sentence>(.*?)</sentence>", _last_between(self.text, "**Sentences Begin**", "**Sentences")
        )


def answer(prompt: JudgePrompt, verdict: Verdict) -> str:
    """The text a judge of this verdict sends, in the format the prompt asks for.

    Raises:
        Exception: The verdict is one.
        ValueError: The prompt is none of ADK's.
    """
    if isinstance(verdict, Exception):
        raise verdict
    if isinstance(verdict, Raw):
        return str(verdict)
    if prompt.kind == "segmenter":
        return "\n".join(f"<sentence>{sentence}</sentence>" for sentence in prompt.sentences)
    if prompt.kind == "validator":
        return _validated(prompt, verdict)
    if prompt.kind == "match":
        return _matched(_word(verdict))
    if prompt.rubrics:
        return _by_rubric(prompt, verdict)
    raise ValueError(f"no prompt of ADK's rubric, match or hallucination judges: {prompt.text[:200]!r}")


def always(verdict: Verdict) -> Answers:
    """The same verdict every time."""
    return lambda prompt: answer(prompt, verdict)


def in_turn(*verdicts: Verdict) -> Answers:
    """The verdicts one after the other, over and over, counted apart for each metric and conversation.

    Two invocations judged at the same time so get the same verdicts whatever the order of their calls. Sentences are
    always segmented right: that call takes no verdict.
    """
    seen: Counter[tuple[Kind, tuple[str, ...]]] = Counter()
    lock = threading.Lock()

    def script(prompt: JudgePrompt) -> str:
        if prompt.kind == "segmenter":
            return answer(prompt, "yes")
        place = (prompt.kind, prompt.cities)
        with lock:
            number = seen[place]
            seen[place] += 1
        return answer(prompt, verdicts[number % len(verdicts)])

    return script


def per_rubric(verdicts: Mapping[str, Sequence[str]]) -> Answers:
    """`in_turn` written by rubric: `{"polite": ["yes", "no"], "short": ["yes", "yes"]}` is two samples.

    Raises:
        ValueError: Rubrics have different numbers of samples.
    """
    samples = zip(*verdicts.values(), strict=True)
    return in_turn(*(dict(zip(verdicts, words, strict=True)) for words in samples))


def by_city(scripts: Mapping[str, Answers]) -> Answers:
    """Another script for each conversation: the first city named in the prompt decides.

    Raises:
        KeyError: The prompt names none of them.
    """

    def script(prompt: JudgePrompt) -> str:
        city = next((city for city in scripts if city in prompt.text), None)
        if city is None:
            raise KeyError(f"the prompt names none of {list(scripts)}")
        return scripts[city](prompt)

    return script


def _by_rubric(prompt: JudgePrompt, verdict: str | Mapping[str, str]) -> str:
    words = dict.fromkeys(prompt.rubrics, verdict) if isinstance(verdict, str) else verdict
    return "\n\n".join(
        f"ID: {rubric_id}\nProperty: {text}\nEvidence: What the tool said.\n"
        f"Rationale: I say {words[rubric_id]} to {rubric_id}.\nVerdict: {words[rubric_id]}"
        for rubric_id, text in prompt.rubrics.items()
        if rubric_id in words
    )


def _matched(word: str) -> str:
    label = {"yes": "valid", "no": "invalid"}.get(word, word)
    return json.dumps({"reasoning": f"I say {word}.", "is_the_agent_response_valid": label}, indent=2)


def _validated(prompt: JudgePrompt, verdict: str | Mapping[str, str]) -> str:
    """A block for each sentence; a mapping gives words by sentence."""
    words = dict.fromkeys(prompt.sentences, verdict) if isinstance(verdict, str) else verdict
    labels = {sentence: {"yes": "supported", "no": "unsupported"}.get(word, word) for sentence, word in words.items()}
    return "\n\n".join(
        f"sentence: {sentence}\nlabel: {labels[sentence]}\nrationale: I say {labels[sentence]}.\n"
        f"supporting_excerpt: null\ncontradicting_excerpt: null"
        for sentence in prompt.sentences
        if sentence in labels
    )


def _word(verdict: str | Mapping[str, str]) -> str:
    return verdict if isinstance(verdict, str) else next(iter(verdict.values()))


def _last_between(text: str, start: str, end: str) -> str:
    return text.rpartition(start)[2].partition(end)[0]
