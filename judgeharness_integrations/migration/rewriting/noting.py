"""What the author of a rewritten file has to know of its numbers and of its tests, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from judgeharness_integrations.migration.inspection import Inspection, described
from judgeharness_integrations.migration.noqa import suppressions_of
from judgeharness_integrations.migration.rewriting.clientretries import retrying_clients
from judgeharness_integrations.migration.rewriting.outcome import Change
from judgeharness_integrations.migration.rules.undecided import UNDECIDED_PASSES

__all__ = ["ONCE", "line_notes_on", "notes_on", "notes_on_uses"]

ONCE = "has temperature 0, and repetitions would be copies of one answer: each question is asked once (repetitions=1)"
_SHOWN = 8


def notes_on(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the notes on the changes of a Python file."""
    frozen = [one.line for one in changes if one.once]
    if frozen:
        yield f"{_lines(frozen)}: the model {ONCE}."
    for one in changes:
        if one.judges > 1:
            several = "" if one.exact else "at least "
            yield f"line {one.line} makes {several}{one.judges} judges; the calls are those of all of them."
    unclear = [one.line for one in changes if not one.exact and one.judges == 1]
    if unclear:
        yield f"{_lines(unclear)}: how many judges a loop makes, only running it tells; at least one is counted."


def line_notes_on(inspection: Inspection) -> Iterator[str]:
    """Yield a note for each test that passes, or mean that comes out, where a judge decides nothing.

    Chat models that retry by themselves are named after them.
    """
    hidden = suppressions_of(inspection.source)
    found = [finding for finding in UNDECIDED_PASSES.python(inspection) if not hidden.hide(finding)]
    for one in sorted(found, key=lambda finding: finding.sort_key):
        yield f"line {one.line}: {one.code} {one.message}"
    for line, sentence in sorted(set(retrying_clients(inspection))):
        yield f"line {line}: {sentence}"


def notes_on_uses(inspection: Inspection) -> Iterator[str]:
    """Yield a note for each judge of another scanned file that is used here: it is changed there."""
    for site in inspection.sites:
        if site.definition is not None:
            path, line = site.definition
            yield f"line {site.line}: {described(site)} is used here; the place to change is {path}:{line}."


def _lines(lines: Iterable[int]) -> str:
    told = sorted(set(lines))
    shown = ", ".join(map(str, told[:_SHOWN])) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")
    return f"line {shown}" if len(told) == 1 else f"lines {shown}"
