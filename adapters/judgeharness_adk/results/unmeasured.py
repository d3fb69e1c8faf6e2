"""What an evaluation did not measure: what its measurements say of themselves, told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from judgeharness_adk.results.records import AdkResult
from judgeharness_integrations.reporting.boundary import boundary
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.result import CriterionResult, HarnessResult

__all__ = ["failed_samples", "unmeasured"]

_MOST = 20  # sentences; invocations with rubrics of their own may have one each


def failed_samples(criteria: Iterable[CriterionResult]) -> tuple[int, int]:
    """Return how many samples hold no verdict, and of how many that were planned."""
    counts = [(max(0, measured.planned - measured.valid), measured.planned) for measured in criteria]
    return sum(failed for failed, _ in counts), sum(planned for _, planned in counts)


def unmeasured(results: Sequence[AdkResult]) -> Iterator[str]:
    """Yield lines: the union of the measurements' boundaries, each with how many say so if not all do."""
    counts = Counter(sentence for one in results for sentence in _sentences(one))
    failed, planned = failed_samples(measured for one in results for measured in one.result.criteria.values())
    if not (counts or failed):
        return
    yield from ("", "not measured:")
    for sentence, count in list(counts.items())[:_MOST]:
        share = "" if count == len(results) else f" ({count} of {len(results)} measurements)"
        yield f"  - {safe_text(sentence)}{share}"
    if len(counts) > _MOST:
        yield f"  - {len(counts) - _MOST} more, which print(one.result) tells for every measurement"
    if failed:
        yield f"  - {failed} of {planned} samples hold no verdict"


def _sentences(one: AdkResult) -> Iterable[str]:
    return dict.fromkeys(sentence for view in _views(one) for sentence in boundary(view))


def _views(one: AdkResult) -> Iterator[HarnessResult]:
    """Yield the result a criterion at a time, under the name of what it is pooled in, without its failed samples.

    Failed samples are added up over the measurements instead: a sentence for each number of them would hide the rest.
    """
    for name, measured in one.result.criteria.items():
        criterion = one.pooled or name
        whole = replace(measured, criterion=criterion, planned=measured.valid)
        yield replace(one.result, criteria={criterion: whole})
