"""What is judged: one answer, or two answers to the same input, and the rubric they are judged by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.verdictlog.row import EVERY_CRITERION, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "AnswerCase",
    "Case",
    "Criterion",
    "PairwiseCase",
    "Presentation",
    "case_from_mapping",
    "case_id_of",
    "map_texts",
    "output_texts",
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
class Presentation:
    """How a judge that builds its own prompt should show a case.

    `slot_names` are the labels the two answers carry, `instructions` replaces the judge's own.
    """

    slot_names: tuple[str, str] | None = None
    instructions: str | None = None


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
