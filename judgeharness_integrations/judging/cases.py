"""What is judged: one answer, or two answers to the same input, and the rubric they are judged by."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from judgeharness_integrations._errors import CaseError, LogFormatError
from judgeharness_integrations.verdictlog.files import iter_records
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict

if TYPE_CHECKING:
    from os import PathLike

__all__ = [
    "AnswerCase",
    "Case",
    "CaseFile",
    "CheckedCases",
    "Criterion",
    "PairwiseCase",
    "Presentation",
    "QuestionForm",
    "case_from_mapping",
    "case_id_of",
    "gold_of_cell",
    "map_texts",
    "output_texts",
    "read_cases",
]


CASE_COLUMNS = (
    "case_id",
    "input",
    "output",
    "output_b",
    "reference",
    "context",
    "names",
    "author",
    "author_b",
    "gold",
)
_TEXT_FIELDS = ("input", "output", "output_b", "reference", "context")


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """One question a judge answers about a case.

    `labels` declares the possible labels; `scale` the ends of a score. Either may stay undeclared.
    """

    name: str
    description: str = ""
    labels: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        """Refuse a name that the log could not tell from every criterion, or from none."""
        if self.name == EVERY_CRITERION or not self.name.strip():
            raise CaseError(f"a criterion cannot be named {self.name!r}: give it another name.")


@dataclass(frozen=True, kw_only=True)
class QuestionForm:
    """How a judge that asks typed questions should ask them otherwise.

    `turned` says by which rotation the options stand in another order, `renamed` that they carry other names,
    `negated` that the opposite is asked, `two_way` that yes or no is a choice of two, `alone` that every question is
    a request of its own. `sentence` stands in the state beside the case.
    """

    turned: int | None = None
    renamed: bool = False
    negated: bool = False
    two_way: bool = False
    alone: bool = False
    sentence: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Presentation:
    """How a judge that builds its own prompt should show a case.

    `slot_names` are the labels the two answers carry, `instructions` replaces the judge's own, `form` is that of typed
    questions.
    """

    slot_names: tuple[str, str] | None = None
    instructions: str | None = None
    form: QuestionForm | None = field(default=None, metadata={"left out": None})  # of digests, where it says nothing

    def __repr__(self) -> str:
        """Leave out the form where it says nothing, as digests do: it came later than cases that were digested."""
        form = "" if self.form is None else f", form={self.form!r}"
        return f"Presentation(slot_names={self.slot_names!r}, instructions={self.instructions!r}{form})"


@dataclass(frozen=True, kw_only=True)
class AnswerCase:
    """One answer to be graded. `names` may be exchanged by `name_swap`; `author` wrote the answer.

    `criteria` are questions about this case alone, besides those its judge always answers.
    """

    case_id: str
    output: str
    input: str | None = None
    reference: str | None = None
    context: str | None = None
    names: tuple[str, ...] = ()
    author: str | None = None
    gold: Verdict | Mapping[str, Verdict] | None = None
    attributes: Mapping[str, str | float] = field(default_factory=dict)
    presentation: Presentation = Presentation()
    criteria: tuple[Criterion, ...] = ()

    def texts(self) -> tuple[str, ...]:
        """Return the judged texts: the answers the judge is shown."""
        return (self.output,)

    def all_texts(self) -> tuple[str, ...]:
        """Return every text the judge is shown."""
        return tuple(self._fields().values())

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with `change` applied to every judged text."""
        return replace(self, output=change(self.output))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with `change` applied to every text the judge is shown."""
        changed: dict[str, Any] = {name: change(text) for name, text in self._fields().items()}
        return replace(self, **changed)

    def _fields(self) -> dict[str, str]:
        return {name: text for name in _TEXT_FIELDS if (text := getattr(self, name, None)) is not None}


@dataclass(frozen=True, kw_only=True)
class PairwiseCase(AnswerCase):
    """Two answers to one input; `output` is answer A, `output_b` answer B."""

    output_b: str
    author_b: str | None = None

    def texts(self) -> tuple[str, ...]:
        """Return both answers."""
        return (self.output, self.output_b)

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with `change` applied to both answers."""
        return replace(self, output=change(self.output), output_b=change(self.output_b))

    def swapped(self) -> Self:
        """Return the case with the two answers, and their authors, in the other order."""
        return replace(self, output=self.output_b, output_b=self.output, author=self.author_b, author_b=self.author)


# A harness also takes cases of the caller's own kind: they are passed to the judge untouched.
Case: TypeAlias = Any

_Shown = TypeVar("_Shown", bound=AnswerCase)


def case_id_of(case: Case) -> str:
    """Return the case's `case_id`, or a digest of its content when it carries none."""
    declared = case.get("case_id") if isinstance(case, Mapping) else getattr(case, "case_id", None)
    if declared is not None and str(declared).strip():
        return str(declared)
    return "case-" + hashlib.sha256(_content(case).encode(errors="surrogatepass")).hexdigest()[:12]


def _content(case: Case) -> str:
    if isinstance(case, str):
        return case
    try:
        return json.dumps(case, sort_keys=True, default=repr)
    except (TypeError, ValueError):  # keys that are no texts, or a case that contains itself
        return repr(case)


def output_texts(case: Case) -> tuple[str, ...] | None:
    """Return the judged texts of a case, or None for a case whose texts are not known."""
    if isinstance(case, str):
        return (case,)
    return case.texts() if isinstance(case, AnswerCase) else None


def map_texts(case: Case, change: Callable[[str], str]) -> Case:
    """Return the case with `change` applied to every judged text."""
    if isinstance(case, str):
        return change(case)
    if isinstance(case, AnswerCase):
        return case.with_texts(change)
    kind = type(case).__name__
    msg = f"the texts of a {kind} are not known: give an AnswerCase, a PairwiseCase or a string."
    raise CaseError(msg)


def presented(case: _Shown, **changes: Any) -> _Shown:
    """Return the case with changes to how it is presented."""
    return replace(case, presentation=replace(case.presentation, **changes))


def _names(value: object, where: str) -> tuple[str, ...]:
    if not value:
        return ()
    if isinstance(value, str):
        return tuple(name.strip() for name in value.replace(";", ",").split(",") if name.strip())
    if isinstance(value, (list, tuple)):
        return tuple(str(name) for name in value)
    msg = f"{where}: names must be a list or a comma-separated text, not {type(value).__name__}."
    raise CaseError(msg)


def case_from_mapping(row: Mapping[str, Any], *, where: str = "case") -> AnswerCase:
    """Build an `AnswerCase` or, when there is an `output_b`, a `PairwiseCase` from columns.

    Columns that are not of the case go to `attributes`.

    Raises:
        CaseError: `case_id` or `output` is missing; the message names `where`.

    """
    for column in ("case_id", "output"):
        if row.get(column) is None or (column == "case_id" and not str(row[column]).strip()):
            msg = f"{where}: column {column!r} is missing or empty."
            raise CaseError(msg)
    known = {name: str(row[name]) for name in ("input", "reference", "context", "author") if row.get(name) is not None}
    attributes = {
        str(name): value if isinstance(value, (str, int, float)) else json.dumps(value, default=str)
        for name, value in row.items()
        if name not in CASE_COLUMNS and value is not None
    }
    common: dict[str, Any] = {
        "case_id": str(row["case_id"]),
        "output": str(row["output"]),
        "names": _names(row.get("names"), where),
        "gold": row.get("gold"),
        "attributes": attributes,
        **known,
    }
    if row.get("output_b") is None:
        return AnswerCase(**common)
    author_b = row.get("author_b")
    return PairwiseCase(output_b=str(row["output_b"]), author_b=None if author_b is None else str(author_b), **common)


def describe_kind(case: Case) -> str:
    """Return a short name of what kind of case this is, for error messages."""
    return type(case).__name__ if is_dataclass(case) else f"case of type {type(case).__name__}"


@dataclass(frozen=True, kw_only=True)
class CheckedCases:
    """What is known of a case file that was read as a whole.

    `digest` (32 hex digits) is of the cases' content in their order: the same cases as CSV or JSONL, or with columns
    in another order, have the same.
    """

    count: int
    digest: str


class CaseFile:
    """The cases of a `.csv` or `.jsonl` file (`.gz` too): every iteration reads the file again, one case at a time.

    `check` reads it once as a whole: 8 bytes a case are kept meanwhile, nothing after it.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Remember the path; nothing is read yet."""
        self.path = Path(path)
        self._checked: CheckedCases | None = None
        self._state: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[AnswerCase]:
        """Yield the cases in the order of the file.

        Raises:
            CaseError: the file cannot be read, is empty, lacks a column, or is not the one that was checked, which is
                looked for before each case and at the end.

        """
        self._check_unchanged()
        return self._cases()

    def _cases(self) -> Iterator[AnswerCase]:
        try:
            for _, case in _numbered_cases(self.path):
                self._check_unchanged()
                yield case
        except CaseError:
            self._check_unchanged()  # else it is told that a line cannot be read
            raise
        self._check_unchanged()

    def __len__(self) -> int:
        """Return the number of cases; the file is checked when it was not yet."""
        return self.check().count

    def check(self) -> CheckedCases:
        """Read the whole file and return what is known of it; a second call does not read again.

        Raises:
            CaseError: the file cannot be read, is empty, lacks a column, or repeats a case id; file and line are named.

        """
        self._check_unchanged()
        if self._checked is None:
            state = _state(self.path)
            self._checked = _checked(self.path)
            self._state = state
        return self._checked

    def _check_unchanged(self) -> None:
        if self._checked is not None and _state(self.path) != self._state:
            raise CaseError(f"{self.path}: changed while it was in use: start again.")


def _state(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _checked(path: Path) -> CheckedCases:
    digest, hashes = hashlib.blake2b(digest_size=16), _Hashes()
    for _, case in _numbered_cases(path):
        digest.update(_canonical(case))
        hashes.add(hash(case.case_id))
    if repeated := hashes.repeated():
        _refuse_repeated(path, repeated)
    return CheckedCases(count=len(hashes), digest=digest.hexdigest())


class _Hashes:
    """64-bit numbers, 8 bytes each, in so many parts that looking for equal ones takes little more."""

    def __init__(self) -> None:
        self._parts = [array("q") for _ in range(256)]

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def add(self, number: int) -> None:
        self._parts[number & 255].append(number)

    def repeated(self) -> frozenset[int]:
        """Return the numbers that stand there more than once."""
        found: set[int] = set()
        for part in self._parts:
            seen: set[int] = set()
            for number in part:
                (found if number in seen else seen).add(number)
        return frozenset(found)


def _refuse_repeated(path: Path, suspects: frozenset[int]) -> None:
    """Read the file again and compare the ids behind equal hashes; different ids may share one."""
    seen: dict[str, int] = {}
    for line, case in _numbered_cases(path):
        if hash(case.case_id) in suspects and (earlier := seen.setdefault(case.case_id, line)) != line:
            raise _repeats(path, line, case.case_id, earlier)


def _canonical(case: AnswerCase) -> bytes:
    """Return a case's content as bytes that another order of its attributes does not change."""
    content = {field.name: getattr(case, field.name) for field in fields(case)}
    text = json.dumps([type(case).__name__, content], sort_keys=True, default=repr)
    return text.encode(errors="surrogatepass") + b"\n"


def gold_of_cell(value: Any) -> Any:
    """Return a gold label of a text cell: a decimal becomes a number, JSON a list or an object."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text:
        return None
    if text[0] in "[{" or text[0] in "+-.0123456789":
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return parsed if isinstance(parsed, (int, float, list, dict)) else text
    return text


def read_cases(path: str | PathLike[str]) -> list[AnswerCase]:
    """Read cases from a `.csv` or `.jsonl` file (`.gz` too); unknown columns become attributes.

    Raises:
        CaseError: the file cannot be read, is empty, lacks a column, or repeats a case id; file and line are named.

    """
    numbered = list(_numbered_cases(Path(path)))
    seen: dict[str, int] = {}
    for line, case in numbered:
        if (earlier := seen.setdefault(case.case_id, line)) != line:
            raise _repeats(Path(path), line, case.case_id, earlier)
    return [case for _, case in numbered]


def _repeats(path: Path, line: int, case_id: str, earlier: int) -> CaseError:
    return CaseError(f"{path}, line {line}: repeats the case_id {case_id!r} of line {earlier}.")


def _numbered_cases(path: Path) -> Iterator[tuple[int, AnswerCase]]:
    """Yield (line, case) of a file that must hold some."""
    line = 0
    try:
        for line, columns in iter_records(path):
            yield line, _case(columns, f"{path}, line {line}")
    except LogFormatError as error:
        raise CaseError(str(error).replace("a verdict log is", "a case file is")) from error
    if not line:
        raise CaseError(f"{path}: holds no cases.")


def _case(columns: Mapping[str, Any], where: str) -> AnswerCase:
    cleaned = {
        name: value for name, value in columns.items() if value is not None and (value != "" or name == "output")
    }
    return case_from_mapping({**cleaned, "gold": gold_of_cell(cleaned.get("gold"))}, where=where)
