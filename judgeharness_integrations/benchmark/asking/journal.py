"""Every answer a model gave, kept before anything is made of it: what a killed command goes on from."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

from judgeharness_integrations._errors import LogStorageError
from judgeharness_integrations.chatmodels import ChatModel, Completion, Prompt

__all__ = ["Asked", "Journal", "StepUsage"]

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    item TEXT NOT NULL, step TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, attempt INTEGER NOT NULL,
    answer TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER, tries INTEGER NOT NULL, cached INTEGER NOT NULL,
    PRIMARY KEY (item, step, model, prompt, attempt)
)
"""
_USAGE = """
SELECT step, model, COUNT(*), SUM(tries),
    CASE WHEN COUNT(read) = COUNT(*) THEN SUM(read) END, CASE WHEN COUNT(written) = COUNT(*) THEN SUM(written) END
FROM (
    SELECT step, model, tries, CASE WHEN cached THEN 0 ELSE input_tokens END AS read,
        CASE WHEN cached THEN 0 ELSE output_tokens END AS written
    FROM answers
)
GROUP BY step, model ORDER BY step, model
"""
_BUSY_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What identifies a request: whom, about which item, with which prompt, the how-manieth time (0-based).

    `model` holds name and parameters; `prompt` the digest of everything the model is told.
    """

    item: str
    step: str
    model: str
    prompt: str
    attempt: int

    @classmethod
    def of(cls, model: ChatModel, prompt: Prompt, *, item: str, attempt: int) -> Asked:
        """Return the key of a request."""
        told = json.dumps([model.name, dict(model.parameters)], sort_keys=True, default=_same_anywhere)
        return cls(item=item, step=prompt.step, model=told, prompt=prompt.digest, attempt=attempt)

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The columns of its row."""
        return (self.item, self.step, self.model, self.prompt, self.attempt)


@dataclass(frozen=True, kw_only=True)
class StepUsage:
    """What a step took of a model: answers, attempts at them (retries included), tokens; None: not all are known."""

    step: str
    model: str
    answers: int
    tries: int
    input_tokens: int | None
    output_tokens: int | None


class Journal:
    """A SQLite file of answers. Any thread may use it; what was added is there after a kill.

    Raises:
        LogStorageError: the file cannot be opened, read or written.

    """

    def __init__(self, path: Path) -> None:
        """Open it, making it where it is missing."""
        self.path = path
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, timeout=_BUSY_S, isolation_level=None)
        except sqlite3.Error as error:
            raise self._told(error) from error
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")  # survives a killed process, not a power cut
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._told(error) from error

    def find(self, asked: Asked) -> Completion | None:
        """Return the answer to a request that was made before."""
        sql = "SELECT answer FROM answers WHERE item = ? AND step = ? AND model = ? AND prompt = ? AND attempt = ?"
        rows = self._run(sql, asked.key)
        try:
            return Completion(**json.loads(rows[0][0])) if rows else None
        except (TypeError, ValueError) as error:
            raise self._told(error) from error

    def add(self, asked: Asked, answer: Completion, *, tries: int) -> Completion:
        """Keep an answer and return it as it is kept; `tries`: how many attempts it took.

        One that is there already stays, and is returned instead: what is made of a request is made of one answer.
        """
        kept = {name: getattr(answer, name) for name in answer.__dataclass_fields__}
        row = (json.dumps(kept, default=_plain), answer.input_tokens, answer.output_tokens, tries, answer.cached)
        self._run("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*asked.key, *row))
        return self.find(asked) or answer

    def models(self, steps: Collection[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return name and parameters of every model that answered one of some steps, sorted."""
        sql = "SELECT DISTINCT step, model FROM answers ORDER BY model"
        told = dict.fromkeys(model for step, model in self._run(sql, ()) if step in steps)
        return [(name, parameters) for name, parameters in map(json.loads, told)]

    def usage(self) -> list[StepUsage]:
        """Return what each step took of each model, sorted; answers from a cache took nothing."""
        found = self._run(_USAGE, ())
        return [
            StepUsage(
                step=step,
                model=str(json.loads(model)[0]),
                answers=answers,
                tries=tries,
                input_tokens=read,
                output_tokens=written,
            )
            for step, model, answers, tries, read, written in found
        ]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def _run(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            with self._lock, closing(self._connection.execute(sql, values)) as cursor:
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> LogStorageError:
        return LogStorageError(f"{self.path} cannot be used ({error}): make room, or give another folder.")


def _same_anywhere(value: object) -> object:
    """Return what JSON has no form for as what it is in every process: of objects it is their type alone."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return str(value) if isinstance(value, PurePath) else f"{type(value).__module__}.{type(value).__qualname__}"


def _plain(value: object) -> object:
    """Return what JSON has no form for as one it has: a mapping as an object, anything else as its text."""
    return dict(value) if isinstance(value, Mapping) else str(value)
