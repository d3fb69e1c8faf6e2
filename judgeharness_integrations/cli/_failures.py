"""Why samples failed: the most frequent kinds of failure, and errors told as the command can tell them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from judgeharness_integrations._errors import JudgeHarnessError
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.verdictlog.plain import counted, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

_MOST_KEPT, _MOST_SHOWN = 10, 3
_LONGEST_ERROR = 200
_MOST_KINDS = 1000  # told apart; each error a text of its own must not fill the memory
_OTHERS = "of other kinds"
_VARIES = re.compile(r"\b(?=\w*\d)\w{8,}\b|\b\d+\.\d+|\b\d+(?=m?s\b)")  # request ids, waiting times
_REPLAY_ALONE = re.compile(r",? or (?:--labels|read (?:a log )?with labels=True(?: \(--labels\))?)")


class FailureKinds:
    """Counts kinds of failed samples, in memory that does not grow with their number.

    Errors that differ in ids and waiting times alone are one kind, shown by its first. A call about several criteria
    is one sample.
    """

    def __init__(self) -> None:
        """Start without failures."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: dict[tuple[str, str], str] = {}

    def add(self, rows: Iterable[VerdictRow]) -> None:
        """Take in rows; those of one call must come together."""
        counted: set[tuple[object, ...]] = set()
        for row in rows:
            if row.ok:
                continue
            kind = self._kind(row)
            call = (*kind, row.key if row.call_id is None else row.call_id)
            if call not in counted:
                counted.add(call)
                self._counts[kind] += 1
                self._first.setdefault(kind, _OTHERS if kind[1] == _OTHERS else row.error or "")

    def _kind(self, row: VerdictRow) -> tuple[str, str]:
        kind = (row.outcome, _VARIES.sub("#", row.error or ""))
        return kind if kind in self._counts or len(self._counts) < _MOST_KINDS else (row.outcome, _OTHERS)

    def to_list(self, settings: Any) -> list[dict[str, Any]]:
        """Return the kinds, most frequent first, as `{outcome, error, count}`.

        `settings` are what the judge was built from; no secret of theirs is in a text.
        """
        return [
            {
                "outcome": kind[0],
                "error": safe_text(without_secrets(self._first[kind], settings), _LONGEST_ERROR) or None,
                "count": count,
            }
            for kind, count in self._counts.most_common(_MOST_KEPT)
        ]


def failures(rows: Iterable[VerdictRow], settings: Any) -> list[dict[str, Any]]:
    """Return the kinds of failed samples among rows; see `FailureKinds`."""
    kinds = FailureKinds()
    kinds.add(rows)
    return kinds.to_list(settings)


def told(judge: str, kinds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield `gpt-4o: 12 samples: error, RateLimitError: ...` for the most frequent kinds of failure."""
    for kind in kinds[:_MOST_SHOWN]:
        samples = counted(kind["count"], "sample")
        reason = f", {kind['error']}" if kind["error"] else ""
        yield f"{safe_text(judge, 60)}: {samples}: {kind['outcome']}{reason}"
    if len(kinds) > _MOST_SHOWN:
        yield f"{safe_text(judge, 60)}: {sum(kind['count'] for kind in kinds[_MOST_SHOWN:])} failed in other ways"


@contextmanager
def without_replay_advice() -> Iterator[None]:
    """Take the advice to read numbers as labels out of errors of the core: only `replay` has that option."""
    try:
        yield
    except JudgeHarnessError as error:
        error.args = (_REPLAY_ALONE.sub("", str(error)),)
        raise
