"""The file of labels: lines that outlive a crash."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from filelock import FileLock, Timeout

from judgeharness_integrations._documents import owner_only
from judgeharness_integrations._errors import CaseError, LogFormatError, LogStorageError, RunBusyError, UsageError
from judgeharness_integrations.analysis.agreement.panel import is_log
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION
from judgeharness_integrations.analysis.certifying.measuring import Labels
from judgeharness_integrations.analysis.statistics.agreement import Kappa, cohen_kappa
from judgeharness_integrations.judging.calibrating import CalibrationSet
from judgeharness_integrations.judging.candidates import gold_about, read_gold
from judgeharness_integrations.judging.casefiles import case_record, write_records
from judgeharness_integrations.judging.cases import AnswerCase, Case, case_id_of
from judgeharness_integrations.verdictlog.decoding import decode
from judgeharness_integrations.verdictlog.encoding import LABEL_COUNT, LONE_SURROGATES, to_record
from judgeharness_integrations.verdictlog.files import read_log, read_records
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text, verdict_to_json

from .questions import kind_of

if TYPE_CHECKING:
    from os import PathLike

    from judgeharness_integrations.analysis.probability.forecasts import AnnotatorShares

_WAIT_S = 20.0


def append_durably(path: Path, text: bytes) -> None:
    """Write at the end of a file, which may not exist yet; it is on the disk then, a new file's name too.

    Raises:
        OSError: nothing of the text is in the file, also where it was whole and the disk did not take it.
        LogStorageError: it could not be written, nor taken off again: nobody knows what of it is there.

    """
    is_new = not path.exists()
    with open(path, "ab", buffering=0, opener=owner_only) as file:
        held = file.seek(0, os.SEEK_END)
        try:
            while text:
                text = text[file.write(text) :]
            os.fsync(file.fileno())
            if is_new:
                _sync_folder(path.parent)
        except OSError as error:
            try:
                file.truncate(held)  # half a line would spoil the next one, a whole one would not be what is told
            except OSError:
                reason = error.strerror or error
                raise LogStorageError(
                    f"whether the label is kept cannot be told: writing {path} failed ({reason}), and so did taking "
                    "the line off; make room, then look at the label again."
                ) from error
            raise


def _sync_folder(folder: Path) -> None:
    """Keep the entry of a new file through a power cut, where the system lets folders be opened."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file beside one that is there, with its permissions, and let it take its place; a kill leaves one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # before it takes the place of the other: a power cut leaves one of them whole
        shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class LabelFile:
    """JSON lines that any number of threads and processes may change, under a lock beside the file."""

    def __init__(self, path: Path, *, start: bytes) -> None:
        """Use a file that may not exist yet; each of our lines begins with `start`."""
        self.shown, self.path = path, path.resolve()  # a link stays one when the file behind it is replaced
        self._start = start
        self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody else change the file meanwhile; within it one's own changes are made.

        Raises:
            RunBusyError: another process does not let go of it.

        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=_WAIT_S)
        except Timeout:
            raise RunBusyError(f"{self.shown} is held by another process: end it, or wait and label again.") from None
        try:
            yield
        finally:
            self._lock.release()

    def lines(self) -> list[bytes]:
        """Return every line with its end; what a killed process left half written at the end of the file is none."""
        held = self.path.read_bytes() if self.path.is_file() else b""
        return held[: self._whole(held)].splitlines(keepends=True)

    def mend(self) -> None:
        """Take half a line of ours off the end; while the file is not held, it may be one that is being written."""
        if not self.ends_within_a_line():
            return
        held = self.path.read_bytes()
        if (whole := self._whole(held)) < len(held):
            os.truncate(self.path, whole)
        elif held.rpartition(b"\n")[2].startswith(self._start):
            append_durably(self.path, b"\n")

    def ends_within_a_line(self) -> bool:
        """Return whether the last line has no end."""
        if not self.path.is_file() or not self.path.stat().st_size:
            return False
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    def _whole(self, held: bytes) -> int:
        """Return how many bytes are lines: all, unless half of one of ours stands at the end."""
        start = held.rfind(b"\n") + 1
        last = held[start:]
        if not last or not (last.startswith(self._start) or self._start.startswith(last)):
            return len(held)
        try:
            json.loads(last)
        except ValueError:
            return start
        return len(held)


_START = b'{"case_id"'  # how each of our lines begins


class LabelLog:
    """A JSONL file of labels, of one annotator or several. It holds one answer an annotator, case and criterion.

    Any number of threads and processes may use one file: each change is made under a lock, beside the file.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Use a file that may exist; what a killed process left half written at its end is taken off.

        Raises:
            LogFormatError: it is no `.jsonl`.
            RunBusyError: another process does not let go of the file.

        """
        given = Path(path)
        if given.suffix.lower() != ".jsonl":
            raise LogFormatError(f"{given}: a log of labels is .jsonl.")
        self.path = given
        self._file = LabelFile(given, start=_START)
        self.held = self._file.held
        if self._file.ends_within_a_line():
            with self.held():
                self._file.mend()

    def rows(self, annotator: str | None = None) -> list[VerdictRow]:
        """Return the rows of an annotator, or all, in the order they were written.

        Raises:
            LogFormatError: the file cannot be read.
            RunBusyError: another process does not let go of it.

        """
        path = self._file.path
        if not path.is_file():
            return []
        with ExitStack() as stack:
            with suppress(OSError):  # where no lock can be made, nobody writes
                stack.enter_context(self.held())
            if not path.stat().st_size:
                return []
            return [row for row in read_log(path) if annotator in (None, row.judge)]

    def append(self, rows: Iterable[VerdictRow]) -> None:
        """Write rows at the end of the file, all at once; they are on the disk then, and where it is full none is.

        Raises:
            OSError: nothing of them is in the file.
            LogStorageError: nobody knows what of them is there.
            RunBusyError: another process does not let go of the file.

        """
        text = b"".join(map(_line, rows))
        with self.held():
            self._file.mend()
            append_durably(self._file.path, text)

    def withdraw(self, row: VerdictRow) -> None:
        """Take an answer out: the file is replaced by one without it, at once."""
        with self.held():
            self._rewrite(row, ())

    def replace(self, row: VerdictRow) -> None:
        """Put an answer in the place of the annotator's earlier one about the same, or at the end where none is.

        A kill leaves one of them.
        """
        with self.held():
            if any(_key(line) == _answered(row) for line in self._file.lines()):
                self._rewrite(row, [_line(row)])
            else:
                self.append([row])

    def _rewrite(self, row: VerdictRow, lines: Iterable[bytes]) -> None:
        """Replace the file by one without the answer to what a row answers, with further lines at its end."""
        self._file.mend()
        kept = [line for line in self._file.lines() if _key(line) != _answered(row)]
        replace_durably(self._file.path, b"".join([*kept, *lines]))


def _line(row: VerdictRow) -> bytes:
    return (json.dumps(to_record(row), ensure_ascii=False) + "\n").encode("utf-8", LONE_SURROGATES)


def _answered(row: VerdictRow) -> tuple[str, str, str]:
    return row.judge, row.case_id, row.criterion


def _key(line: bytes) -> tuple[str, str, str] | None:
    """Return (annotator, case, criterion) of a line, None for one that is no row of ours."""
    try:
        record = json.loads(line)
        return record["judge"], record["case_id"], record["criterion"]
    except (ValueError, KeyError, TypeError):
        return None


_DEFAULT = "verdict"

Votes = Mapping[str, Mapping[str, Mapping[str, Verdict]]]


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """Two annotators about one criterion: `agreed` of `items` that both labelled, and Cohen's kappa where defined."""

    criterion: str
    annotators: tuple[str, str]
    items: int
    agreed: int
    kappa: Kappa | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        kappa = None if self.kappa is None else {"value": self.kappa.value, "se": self.kappa.se}
        facts = {"criterion": self.criterion, "annotators": list(self.annotators)}
        return {**facts, "items": self.items, "agreed": self.agreed, "kappa": kappa}


def votes_of(rows: Iterable[VerdictRow]) -> Votes:
    """Return case id -> criterion -> annotator -> label; failed rows are no labels.

    Raises:
        CaseError: an annotator gave two labels, or a criterion holds labels of different kinds.

    """
    votes: dict[str, dict[str, dict[str, Verdict]]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.verdict is None:
            continue
        said = votes.setdefault(row.case_id, {}).setdefault(row.criterion, {})
        if said.setdefault(row.judge, row.verdict) != row.verdict:
            raise CaseError(
                f"{row.judge!r} labels {row.criterion!r} of case {row.case_id!r} as {verdict_text(said[row.judge])} "
                f"and as {verdict_text(row.verdict)}: keep one."
            )
        kind = kind_of(row.verdict)
        first, who = kinds.setdefault(row.criterion, (kind, row.judge))
        if first != kind:
            raise CaseError(
                f"criterion {row.criterion!r} holds {first} of {who!r} and {kind} of {row.judge!r}: use one kind."
            )
    return votes


def models_among(rows: Iterable[VerdictRow]) -> list[str]:
    """Return the annotators whose rows are answers of a model, as such rows say, in the order they come."""
    return list(dict.fromkeys(row.judge for row in rows if row.model or row.probabilities or row.probe_hash))


def calibration_set_from_logs(
    rows: Iterable[VerdictRow], cases: Iterable[Case], *, name: str, **options: Any
) -> CalibrationSet:
    """Return the cases with every annotator's labels, which the set's own consensus rule folds.

    Args:
        rows: of one annotator's log or of several.
        cases: the cases that were labelled; those without a label are left out.
        name: what reports call the set.
        options: `source`, `consensus`, `positive`.

    Raises:
        CaseError: an annotator gave two labels, kinds are mixed, or no label is of a case given.

    """
    votes = votes_of(rows)
    plain = {criterion for said in votes.values() for criterion in said} <= {_DEFAULT}
    examples = [(case, _label(votes[case_id], plain=plain)) for case in cases if (case_id := case_id_of(case)) in votes]
    if not examples:
        raise CaseError(f"none of {len(votes)} labelled cases is a case given: give the cases that were labelled.")
    return CalibrationSet(name, tuple(examples), **options)


def _label(said: Mapping[str, Mapping[str, Verdict]], *, plain: bool) -> dict[str, list[Verdict]]:
    """Return criterion -> labels; the one criterion that nobody named is the judge's only one, whatever its name."""
    return {ONLY_CRITERION if plain else criterion: list(votes.values()) for criterion, votes in said.items()}


def label_agreement(rows: Iterable[VerdictRow]) -> list[LabelAgreement]:
    """Return every pair of annotators that labelled an item in common, by criterion, in order of names.

    Raises:
        CaseError: an annotator gave two labels, or kinds are mixed.

    """
    pairs: dict[tuple[str, str, str], Counter[tuple[str, str]]] = {}
    for said in votes_of(rows).values():
        for criterion, votes in said.items():
            for one, other in combinations(sorted(votes), 2):
                cell = (verdict_text(votes[one]), verdict_text(votes[other]))
                pairs.setdefault((criterion, one, other), Counter())[cell] += 1
    return [
        LabelAgreement(
            criterion=criterion,
            annotators=(one, other),
            items=table.total(),
            agreed=sum(count for cell, count in table.items() if cell[0] == cell[1]),
            kappa=cohen_kappa(_nested(table)),
        )
        for (criterion, one, other), table in sorted(pairs.items())
    ]


def _nested(table: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (row, column), count in table.items():
        nested.setdefault(row, {})[column] = count
    return nested


_AMBIGUOUS = frozenset("[{+-.0123456789")  # a text beginning so may read back as JSON


def write_gold_file(cases: Iterable[AnswerCase], labelled: CalibrationSet, path: str | PathLike[str]) -> Path:
    """Write the labelled cases with their consensus as `gold` and their `label_count`, as CSV or JSONL.

    The gold of an evenly split item is empty: `CalibrationSet.from_file` counts those. A text that a reader of case
    files could take for a number or for JSON stands in a list of one label.

    Raises:
        UsageError: the file's ending is another, or no case has a consensus.

    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise UsageError(f"{path}: a case file is .csv or .jsonl.")
    golds, _ = labelled.golds()
    if not golds:
        raise UsageError("no case has a consensus of its annotators, so there is no gold to write.")
    asked = {case_id_of(case): label for case, label in labelled.labeled_examples}
    lines = [
        _line_of_goldfile(case, asked[case.case_id], golds.get(case.case_id, {}))
        for case in cases
        if case.case_id in asked
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        made = Path(folder) / path.name
        write_records(made, lines)
        made.replace(path)  # at once: half a label file looks like a whole one
    return path


def _line_of_goldfile(
    case: AnswerCase, said: Mapping[str, Sequence[Verdict]], golds: Mapping[str, Verdict]
) -> dict[str, Any]:
    kept = {name: _gold(golds.get(name)) for name in said}
    gold = kept.get(ONLY_CRITERION, kept)
    count = max(map(len, said.values()))
    return {**case_record(case), "gold": gold, **case.attributes, LABEL_COUNT: count}


def _gold(verdict: Verdict | None) -> Any:
    """Return a label as a case file keeps it: a set, or a text like JSON, in the list of annotators' labels."""
    kept = None if verdict is None else verdict_to_json(verdict)
    return [kept] if isinstance(kept, list) or (isinstance(kept, str) and kept[:1] in _AMBIGUOUS) else kept


def annotators_beside(rows: Sequence[VerdictRow]) -> Callable[..., CalibrationSet]:
    """Return what reads the labels of annotators other than the judges of these rows."""
    return partial(read_annotators, judges={row.judge for row in rows})


def read_annotators(path: Path, *, name: str | None, source: str, judges: Collection[str] = ()) -> CalibrationSet:
    """Read the labels of several annotators: a row each, as `label` writes them, or what `read_gold` reads.

    Raises:
        CaseError: rows are answers of one of `judges`, or of a model where labels are to come from people.

    """
    records = read_records(path)
    if not records or not is_log(records[0][1]) or any(columns.get("gold") for _, columns in records):
        return read_gold(path, name=name, source=source)
    rows = decode(records, source=str(path))
    _refuse_answers(rows, path, source=source, judges=judges)
    cases: list[Case] = [{"case_id": case_id} for case_id in dict.fromkeys(row.case_id for row in rows)]
    return calibration_set_from_logs(rows, cases, name=name or path.name.split(".")[0], source=source)


def _refuse_answers(rows: Sequence[VerdictRow], path: Path, *, source: str, judges: Collection[str]) -> None:
    """Refuse what a judge answered in place of labels: a judge always agrees with itself."""
    for row in rows:
        if row.judge in judges:
            raise CaseError(f"{path} holds answers of the judge {row.judge!r:.80} itself: give the labels of others.")
    if source == "human" and (models := models_among(rows)):
        raise CaseError(
            f"{path} holds answers of a model ({models[0]!r:.80}), and not labels of people: give those, or say "
            "--source model:NAME."
        )


@dataclass(frozen=True, kw_only=True)
class Annotators:
    """Where labels come from and the shares of their annotators, which are empty where no case has several."""

    labels: Labels
    shares: AnnotatorShares
    drawn: CalibrationSet | None

    @classmethod
    def of(cls, labelled: CalibrationSet) -> Self:
        """Read a set of labels; evenly split ones are shares, too."""
        shares, told = labelled.shares()
        single = Labels(
            name=labelled.name, source=labelled.source, consensus=labelled.consensus, ties=labelled.golds()[1]
        )
        if not told:
            return cls(labels=single, shares={}, drawn=None)
        labels = replace(single, consensus=told, ties=len(labelled.ties))
        return cls(labels=labels, shares=shares, drawn=labelled.drawn())

    def draw(self, rows: Sequence[VerdictRow]) -> Sequence[VerdictRow]:
        """Return rows with the label of one annotator, drawn at random, in place of the majority's."""
        if self.drawn is None:
            return rows
        golds, _ = self.drawn.golds()
        return [replace(row, gold=gold_about(golds.get(row.case_id, {}), row.criterion)) for row in rows]
