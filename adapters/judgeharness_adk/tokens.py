"""What the judge read and wrote, in ADK's own fields for tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from judgeharness_adk import _seams
from judgeharness_adk.measuring import Judged
from judgeharness_integrations.usage import known_sum, tokens_of

if TYPE_CHECKING:
    from google.adk.evaluation.eval_metrics import TokenUsageDetails

__all__ = ["average_of", "details_of"]

_KIND = _seams.token_usage_details()

# ADK's name of a count -> ours; a judge has no tools, and what of its output was thought is not told apart
_COUNTS: Mapping[str, str] = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "cached_tokens": "cached_input_tokens",
    "output_tokens": "output_tokens",
}


def details_of(judged: Judged) -> TokenUsageDetails | None:
    """Return the tokens of an invocation, those of its preparation included; None where no answer told any."""
    samples, before = tokens_of(result.usage for result in judged.results), judged.preparation
    counts = {adks: known_sum((samples[ours], before[ours])) for adks, ours in _COUNTS.items()}
    total = known_sum((counts["input_tokens"], counts["output_tokens"]))
    return None if total is None or _KIND is None else _KIND(total_tokens=total, **counts)


def average_of(every: Sequence[TokenUsageDetails | None]) -> TokenUsageDetails | None:
    """Return the average over the invocations as ADK forms it: one that tells nothing counts as none."""
    told = [details.model_dump() for details in every if details is not None]
    if not told or _KIND is None:
        return None
    sums = {name: known_sum(details[name] for details in told) for name in _KIND.model_fields}
    return _KIND(**{name: None if sum_ is None else sum_ / len(every) for name, sum_ in sums.items()})
