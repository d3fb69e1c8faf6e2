"""What a line an annotator typed means: an answer, or one of a few commands."""

from __future__ import annotations

from typing import Literal, TypeAlias

from judgeharness_integrations.calibration.answers import Answers
from judgeharness_integrations.verdictlog.row import Verdict

__all__ = ["Command", "command_keys", "command_of", "verdict_of"]

Command: TypeAlias = Literal["show", "skip", "back", "comment", "quit"]

_COMMANDS: dict[str, Command] = {"?": "show", "s": "skip", "b": "back", "c": "comment", "q": "quit"}


def command_keys(answers: Answers) -> dict[str, Command]:
    """Return key -> command; a letter that could be an answer needs a slash before it, as `/b` beside A and B."""
    return {_key(letter, answers): command for letter, command in _COMMANDS.items()}


def _key(letter: str, answers: Answers) -> str:
    plain = letter == "?" or answers.kind == "number"
    plain = plain or (bool(answers.words) and not any(word.casefold().startswith(letter) for word in answers.words))
    return letter if plain else f"/{letter}"


def command_of(line: str, answers: Answers) -> Command | None:
    """Return the command a line is, None for one that is not; with a slash each is one everywhere."""
    typed = line.strip().casefold()
    return command_keys(answers).get(typed) or (_COMMANDS.get(typed[1:]) if typed.startswith("/") else None)


def verdict_of(line: str, answers: Answers) -> Verdict | None:
    """Return what a line answers, None when it is not allowed; of words a unique beginning is enough."""
    said = line.strip()
    if not said:
        return None
    if (verdict := answers.read(said)) is not None or not answers.words:
        return verdict
    if answers.kind == "words":
        return _begun(said, answers)
    labels = [_begun(part.strip(), answers) for part in said.split(";") if part.strip()]
    return None if None in labels else frozenset(label for label in labels if label is not None)


def _begun(said: str, answers: Answers) -> str | None:
    """Return the word that is said, or the only one that begins so."""
    exact = [word for word in answers.words if word.casefold() == said.casefold()]
    begun = exact or [word for word in answers.words if word.casefold().startswith(said.casefold())]
    return begun[0] if len(begun) == 1 else None
