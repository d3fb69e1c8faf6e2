"""A benchmark's folder: its files, read and replaced as a whole, and the journal of every answer a model gave."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from filelock import FileLock, Timeout
from pydantic import Field

from judgeharness_integrations._errors import CaseError, LogStorageError, RunBusyError, UsageError
from judgeharness_integrations.analysis.usage import Spent, known_sum
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.chatmodels import ChatModel, Completion, Prompt
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES

from .pair import Document, Drawing, Pair, Record, Taxonomy

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog


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
            raise self._storage_error(error) from error
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")  # survives a killed process, not a power cut
            self._connection.execute(_TABLE)
            self._connection.execute(_EMPTIES)
        except sqlite3.Error as error:
            self._connection.close()
            raise self._storage_error(error) from error

    def find(self, asked: Asked) -> Completion | None:
        """Return the answer to a request that was made before."""
        sql = "SELECT answer FROM answers WHERE item = ? AND step = ? AND model = ? AND prompt = ? AND attempt = ?"
        rows = self._run(sql, asked.key)
        try:
            return Completion(**json.loads(rows[0][0])) if rows else None
        except (TypeError, ValueError) as error:
            raise self._storage_error(error) from error

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
            raise self._storage_error(error) from error

    def _storage_error(self, error: Exception) -> LogStorageError:
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


_Kept = TypeVar("_Kept", bound=Record)
SETTINGS: Final = "benchmark.json"
DOCUMENTS: Final = "documents.jsonl"
TAXONOMY: Final = "taxonomy.json"
PAIRS: Final = "pairs.jsonl"
ANSWERS: Final = "answers.sqlite"
VERDICTS: Final = "verdicts.sqlite"
AUDIT: Final = "audit"
LOCK: Final = "benchmark.lock"
_NUMBER: Final = re.compile(r"(?:pair-)?0*([0-9]{1,9})")  # how people shorten pair-00003
_WHILE_HELD: Final = tuple(f".{name}." for name in (SETTINGS, DOCUMENTS, TAXONOMY, PAIRS))
_OLD_S: Final = 3600.0


class Settings(Record):
    """One `benchmark.json`.

    `n`: pairs planned. `generator` and `verifier` are models; `imported_from`: the file a benchmark was converted from
    instead. `documents` and `taxonomy` are digests of what the folder holds of them.
    """

    schema_: Literal["judgeharness.benchmark/1"] = Field(default="judgeharness.benchmark/1", alias="schema")
    n: int = Field(ge=0)
    drawing: Drawing = Drawing()
    generator: str | None = None
    verifier: str | None = None
    min_grounded: float = Field(default=1.0, ge=0, le=1)
    documents: str
    taxonomy: str
    imported_from: str | None = None


class BenchmarkFolder:
    """The files of one benchmark. Files are replaced as a whole: a kill leaves the old or the new one."""

    def __init__(self, path: Path) -> None:
        """Use a folder, which may not exist yet."""
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether a benchmark stands here."""
        return (self.path / SETTINGS).is_file()

    @property
    def verdicts(self) -> Path:
        """The verdict log of the judges."""
        return self.path / VERDICTS

    @property
    def audit(self) -> Path:
        """The folder of people's labels."""
        return self.path / AUDIT

    def check(self) -> None:
        """Raise a UsageError where no benchmark stands."""
        if not self.exists:
            raise UsageError(
                f"{self.path} holds no benchmark: make one with judgeharness benchmark generate DOCS --out {self.path}."
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other commands that write out of the folder, which is made for it.

        Raises:
            RunBusyError: another process holds it.

        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise RunBusyError(
                f"{self.path} is being written by another process: wait for it, or give another folder."
            ) from None
        try:
            self._tidy()
            yield
        finally:
            lock.release()

    def settings(self) -> Settings:
        """Return what the benchmark was made with."""
        self.check()
        return self._one(SETTINGS, Settings)

    def documents(self) -> list[Document]:
        """Return the documents, in their order."""
        return list(self._lines(DOCUMENTS, Document))

    def taxonomy(self) -> Taxonomy:
        """Return the taxonomy."""
        return self._one(TAXONOMY, Taxonomy)

    def pairs(self) -> list[Pair]:
        """Return the pairs, in the order of their numbers; none where none was finished."""
        return list(self._lines(PAIRS, Pair)) if (self.path / PAIRS).is_file() else []

    def check_documents(self) -> None:
        """Raise a UsageError where the documents are not those the settings were written with."""
        if digest_of(self._lines(DOCUMENTS, Document)) != self.settings().documents:
            raise UsageError(
                f"{self.path / DOCUMENTS} is not what this benchmark was made with: restore it, or make the benchmark "
                "anew."
            )

    def pair(self, pair_id: str) -> Pair:
        """Return the pair of an id, or of its number alone: `3` and `pair-3` are `pair-00003`.

        Raises:
            UsageError: there is none; the nearest is offered, or which ids there are.

        """
        found = {pair.pair_id: pair for pair in self.pairs()}
        number = _NUMBER.fullmatch(pair_id)
        for name in (pair_id, f"pair-{int(number[1]):05d}" if number else pair_id):
            if name in found:
                return found[name]
        raise UsageError(f"unknown pair {pair_id!r:.80}: {_there_are(list(found), None if number else pair_id)}")

    def write_settings(self, settings: Settings) -> None:
        """Write what the benchmark is made with."""
        self._write(SETTINGS, [json.dumps(settings.to_dict(), indent=2, ensure_ascii=False) + "\n"])

    def write_taxonomy(self, taxonomy: Taxonomy) -> None:
        """Write the taxonomy."""
        self._write(TAXONOMY, [json.dumps(taxonomy.to_dict(), indent=2, ensure_ascii=False) + "\n"])

    def write_documents(self, documents: Iterable[Document]) -> None:
        """Write the documents, in their order."""
        self._write(DOCUMENTS, (document.to_line() for document in documents))

    def write_pairs(self, pairs: Iterable[Pair]) -> None:
        """Write the pairs, by their numbers."""
        ordered = sorted(pairs, key=lambda pair: pair.conditions.number)
        self._write(PAIRS, (pair.to_line() for pair in ordered))

    def write_records(self, name: str, records: Iterable[Record]) -> None:
        """Write another file of records, a line each, in the order given."""
        self._write(name, (record.to_line() for record in records))

    def journal(self) -> Journal:
        """Open the answers of models."""
        return Journal(self.path / ANSWERS)

    def log(self) -> SqlLog:
        """Open the verdict log, making it if need be."""
        from judgeharness_integrations.verdictlog import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        return SqlLog(self.verdicts)

    def _tidy(self) -> None:
        """Remove what killed writers left: of files that only whoever holds the folder writes, and whatever is old."""
        for part in self.path.glob(".*.part"):
            if part.name.startswith(_WHILE_HELD) or time.time() - part.stat().st_mtime > _OLD_S:
                part.unlink(missing_ok=True)

    def _one(self, name: str, kind: type[_Kept]) -> _Kept:
        path = self.path / name
        try:
            return kind.from_dict(json.loads(path.read_text(encoding="utf-8")), where=str(path))
        except ValueError as error:
            raise CaseError(f"{path} is no JSON ({error}): restore it, or make the benchmark anew.") from error

    def _lines(self, name: str, kind: type[_Kept]) -> Iterator[_Kept]:
        path = self.path / name
        with path.open(encoding="utf-8", errors=LONE_SURROGATES) as file:
            for number, line in enumerate(file, start=1):
                where = f"{path}, line {number}"
                try:
                    data = json.loads(line)
                except ValueError as error:
                    raise CaseError(f"{where} is no JSON ({error}): restore the file.") from error
                yield kind.from_dict(data, where=where)

    def _write(self, name: str, lines: Iterable[str]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / name, lines)


def write_whole(path: Path, lines: Iterable[str]) -> None:
    """Replace a file as a whole: a kill leaves the old or the new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")  # readable by whom the folder is shared with
    try:
        with part.open("w", encoding="utf-8", errors=LONE_SURROGATES, newline="\n") as file:
            file.writelines(lines)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def digest_of(records: Iterable[Record]) -> str:
    """Return 32 hexadecimal digits of the content of records, in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for record in records:
        digest.update(record.to_line().encode(errors=LONE_SURROGATES))
    return digest.hexdigest()


def check_fits(kept: Settings, wanted: Settings, *, where: str) -> None:
    """Refuse to go on with a benchmark in another way than it was made; more pairs, or a first verifier, are none.

    Args:
        kept: what it was made with.
        wanted: what it is to be gone on with.
        where: its folder, for the message.

    Raises:
        UsageError: something differs; all of it is named.

    """
    if kept.imported_from is not None:
        raise UsageError(
            f"{where} was converted from {kept.imported_from}: nothing can be generated into it, give another --out."
        )
    differences = list(_differences(kept, wanted))
    if differences:
        raise UsageError(
            f"{where} was made with {', '.join(differences)}: give what it was made with, or another --out."
        )


def _there_are(names: Sequence[str], wished: str | None) -> str:
    """Return which id may have been meant, or what the ids are like; a mistaken number is like any other."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes pay for the import

    near = [] if wished is None else get_close_matches(wished, names, n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]!r}?"
    if not names:
        return "no pair is written yet."
    return f"there are {len(names)}, {names[0]!r} to {names[-1]!r}."


def _differences(kept: Settings, wanted: Settings) -> Iterator[str]:
    if kept.documents != wanted.documents:
        yield "other documents (or another --domain)"
    if kept.taxonomy != wanted.taxonomy:
        yield "another taxonomy"
    before, now = kept.drawing, wanted.drawing
    for option, one, other in (
        ("--generator", kept.generator, wanted.generator),
        ("--seed", before.seed, now.seed),
        ("--rounds", "-".join(map(str, before.rounds)), "-".join(map(str, now.rounds))),
        ("--documents-per-pair", before.documents_per_pair, now.documents_per_pair),
    ):
        if one != other:
            yield f"{option} {one}, not {other}"
    if dict(before.weights) != dict(now.weights):
        yield "other --weights"
    if before.most_characters != now.most_characters:
        yield f"{before.most_characters} characters of documents a pair, not {now.most_characters}"
    if kept.verifier is not None and kept.verifier != wanted.verifier:
        yield f"--verifier {kept.verifier}, not {wanted.verifier or 'none'}"
    if kept.n > wanted.n:
        yield f"--n {kept.n}, which can only grow, not {wanted.n}"
