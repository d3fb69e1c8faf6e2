"""Judged systems whose answers never vary: one string can win a comparison against every prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["Answered", "unvaried_systems"]

_FEWEST = 3  # different inputs that got the same answer
_SIDES = (("author", "output"), ("author_b", "output_b"))


class Answered(Protocol):
    """A case and rows about it: a result, or a case of a log."""

    @property
    def case_id(self) -> str:
        """The case."""
        ...

    @property
    def rows(self) -> Sequence[VerdictRow]:
        """Its rows."""
        ...


def unvaried_systems(cases: Iterable[Answered], texts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield a sentence for every judged system with the same answer to all of three or more different inputs.

    Answers that differ in white space or capitals alone are the same.

    A system is who wrote an answer (the columns `author` and `author_b`), else the place of its answers, `output` or
    `output_b`. A case whose texts are not known says nothing.

    Args:
        cases: with their rows.
        texts: case -> field -> text of what was judged.

    """
    given: dict[str, tuple[set[str], set[str]]] = {}
    for case in cases:
        known, columns = texts.get(case.case_id, {}), case.rows[0].attributes if case.rows else {}
        for author, place in _SIDES:
            if known.get(place) is not None and known.get("input") is not None:
                inputs, answers = given.setdefault(str(columns.get(author) or place), (set(), set()))
                inputs.add(known["input"])
                answers.add(" ".join(known[place].split()).casefold())
    for name, (inputs, answers) in given.items():
        if len(inputs) >= _FEWEST and len(answers) == 1:
            yield (
                f"the answers of {name} do not vary: it gives one and the same text to all {len(inputs)} inputs, so "
                "that no result of it is one of reading them"
            )
