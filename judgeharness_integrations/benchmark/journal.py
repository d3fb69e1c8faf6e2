"""Every answer a model gave, kept before anything is made of it: what a killed command goes on from."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

from judgeharness_integrations._errors import LogStorageError, UsageError
from judgeharness_integrations.analysis.usage import Spent, known_sum
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, Prompt

_TABLE = """
CREATE TABLE IF NOT EXISTS answers (
    item TEXT NOT NULL, step TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, attempt INTEGER NOT NULL,
    answer TEXT NOT NULL, input_tokens INTEGER, output_tokens INTEGER, tries INTEGER NOT NULL, cached INTEGER NOT NULL,
    PRIMARY KEY (item, step, model, prompt, attempt)
)
"""
_EMPTIES = """
CREATE TABLE IF NOT EXISTS empties (
    item TEXT NOT NULL, step TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL, attempt INTEGER NOT NULL,
    spent TEXT NOT NULL
)
"""
_USAGE = """
SELECT step, model, tries, cached, answer FROM answers
UNION ALL SELECT step, model, NULL, 0, spent FROM empties ORDER BY step, model
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
    """What a step took of a model: answers, attempts at them (retries included), tokens; None: not all are known.

    Tokens are also those of replies that held no answer, of requests that were never answered, too.
    `spent` are the tokens by the tier that served, those of the provider's prompt cache among them; all are of one tier
    where it is empty.
    """

    step: str
    model: str
    answers: int
    tries: int
    input_tokens: int | None
    output_tokens: int | None
    spent: tuple[Spent, ...] = ()


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
            self._connection.execute(_EMPTIES)
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

    def book(self, asked: Asked, reply: ModelAnswer) -> None:
        """Keep what a reply to a request took that held no answer."""
        spent = json.dumps({**reply.usage, "service_tier": reply.service_tier})
        self._run("INSERT INTO empties VALUES (?, ?, ?, ?, ?, ?)", (*asked.key, spent))

    def models(self, steps: Collection[str]) -> list[tuple[str, Mapping[str, Any]]]:
        """Return name and parameters of every model that answered one of some steps, sorted."""
        sql = "SELECT DISTINCT step, model FROM answers ORDER BY model"
        told = dict.fromkeys(model for step, model in self._run(sql, ()) if step in steps)
        return [(name, parameters) for name, parameters in map(json.loads, told)]

    def usage(self) -> list[StepUsage]:
        """Return what each step took of each model, sorted; answers from a cache took nothing."""
        groups: dict[tuple[str, str], list[tuple[int | None, Spent]]] = {}
        for step, model, tries, cached, answer in self._run(_USAGE, ()):
            name = str(json.loads(model)[0])
            spent = Spent(0, 0, name) if cached else _spent(name, json.loads(answer))
            groups.setdefault((step, model), []).append((tries, spent))
        return [_usage(step, replies) for (step, _), replies in groups.items()]

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


@dataclass(frozen=True, kw_only=True)
class KnownModel:
    """The name and parameters of a model that answered before; it is not there to be asked anything new."""

    name: str
    parameters: Mapping[str, Any]

    async def complete(self, prompt: Prompt) -> Completion:
        """Refuse.

        Raises:
            UsageError: always.

        """
        raise UsageError(f"no answer of {self.name} to {prompt.step} is kept: name the model.")


def known_model(journal: Journal, name: str, *, steps: Collection[str]) -> KnownModel | None:
    """Return the model of a name that answered some steps; None where none did, or several with other parameters."""
    found = [parameters for known, parameters in journal.models(steps) if known == name]
    return KnownModel(name=name, parameters=found[0]) if len(found) == 1 else None


def _spent(model: str, answer: Mapping[str, Any]) -> Spent:
    """Return what a kept answer took; one that an older version kept names no tokens of the provider's cache."""
    kept: dict[str, Any] = {name: answer.get(name) for name in Spent._fields}
    kept["model"] = model
    return Spent(**kept)


def _usage(step: str, replies: Sequence[tuple[int | None, Spent]]) -> StepUsage:
    """Return what the replies of a step and model took together; those without tries held no answer."""
    tiers: dict[str | None, list[Spent]] = {}
    for _, spent in replies:
        tiers.setdefault(spent.service_tier, []).append(spent)
    sums = tuple(_sum(listed) for listed in tiers.values())
    whole = _sum(sums)
    return StepUsage(
        step=step,
        model=str(whole.model),
        answers=sum(tries is not None for tries, _ in replies),
        tries=sum(tries or 0 for tries, _ in replies),
        input_tokens=whole.input_tokens,
        output_tokens=whole.output_tokens,
        spent=sums,
    )


def _sum(listed: Sequence[Spent]) -> Spent:
    """Return the sum of what was spent in one tier; None where an answer does not tell what it read or wrote."""
    read, written = [one.input_tokens for one in listed], [one.output_tokens for one in listed]
    return Spent(
        None if None in read else known_sum(read),
        None if None in written else known_sum(written),
        listed[0].model,
        known_sum(one.cached_input_tokens for one in listed),
        known_sum(one.cache_write_tokens for one in listed),
        listed[0].service_tier,
    )


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
