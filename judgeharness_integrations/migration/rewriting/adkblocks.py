"""The `judge_harness` block of each ADK metric at a level, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judgeharness_integrations.migration.recognising.adk import option
from judgeharness_integrations.migration.rewriting.outcome import Level

__all__ = ["METRICS", "AdkMetric", "at_temperature_zero", "block_for", "calls", "is_neutral"]

_NEUTRAL_RULE, _MEASURED_RULE = "majority", "supermajority(2/3)"
_SAMPLES = 5  # ADK's default of num_samples
_FEWEST = 2  # rubrics that can stand in another order


@dataclass(frozen=True, kw_only=True)
class AdkMetric:
    """What of a metric's prompt can be varied, and how often ADK itself asks.

    `other_order` is the perturbation that puts its parts in another order; `reformat` stands in for it where there is
    one rubric alone, or no order at all. `segments` is whether a question is asked first that finds the sentences, and
    `once` whether ADK ignores `num_samples`.
    """

    other_order: str | None
    reformat: str | None = None
    rubrics: bool = True
    segments: bool = False

    @property
    def once(self) -> bool:
        """Whether ADK asks for each verdict once, whatever `num_samples` says."""
        return self.segments


METRICS: Mapping[str, AdkMetric] = {
    "rubric_based_final_response_quality_v1": AdkMetric(other_order="rubric_order", reformat="format_change"),
    "rubric_based_tool_use_quality_v1": AdkMetric(other_order="rubric_order"),
    "rubric_based_multi_turn_trajectory_quality_v1": AdkMetric(other_order="rubric_order", reformat="format_change"),
    "final_response_match_v2": AdkMetric(other_order="position_swap", rubrics=False),
    "hallucinations_v1": AdkMetric(other_order="rubric_order", rubrics=False, segments=True),
    # no rubrics and no second text: the other wording of a turn is its format; the first turn and the end have none
    "per_turn_user_simulator_quality_v1": AdkMetric(other_order=None, reformat="format_change", rubrics=False),
}


def block_for(metric: str, level: Level, criterion: Any) -> dict[str, Any]:
    """Return the block: at `single` what ADK asked and folded, at `measured` two orders of what the judge reads.

    A judge at temperature 0 is measured once in each order.

    Args:
        metric: one of `METRICS`.
        level: how much is to be measured.
        criterion: the metric's criterion in the configuration, a mapping or a threshold.

    """
    facts = METRICS[metric]
    if level == "single":
        repetitions = {"repetitions": 1} if facts.once else {}
        return {"perturbations": ["none"], "aggregation_rule": _NEUTRAL_RULE} | repetitions
    if facts.other_order is not None and (not facts.rubrics or _rubrics(criterion) >= _FEWEST):
        names = ["none", facts.other_order]
    else:
        names = ["none", *([facts.reformat] if facts.reformat else [])]
    # one sentence has no other order, and an empty response no other format: neither is to fail the metric
    unfit = {"on_unfit": "skip"} if facts.segments or facts.reformat in names else {}
    once = {"repetitions": 1} if at_temperature_zero(criterion) else {}
    return {"perturbations": names, "aggregation_rule": _MEASURED_RULE} | once | unfit


def at_temperature_zero(criterion: Any) -> bool:
    """Whether a criterion asks its judge at temperature 0, where repetitions are copies of one answer."""
    config = option(option(criterion, "judge_model_options"), "judge_model_config")
    value = config.get("temperature") if isinstance(config, Mapping) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def is_neutral(metric: str, block: Any) -> bool:
    """Whether a block is what the level `single` writes, or its preset."""
    return bool(block == {"preset": "single"} or block == block_for(metric, "single", {}))


def calls(metric: str, criterion: Any, block: Mapping[str, Any] | None) -> int:
    """Return the judge calls of one invocation, ADK's own where there is no block.

    They are the most there can be: of a block that skips what does not fit, some may fall away.
    """
    facts = METRICS[metric]
    if block is None:
        return 2 if facts.once else _samples(criterion)
    repetitions = block.get("repetitions") or _samples(criterion)
    perturbations: Sequence[str] = block.get("perturbations") or ("none",)
    return int(facts.segments) + len(perturbations) * repetitions


def _rubrics(criterion: Any) -> int:
    rubrics = criterion.get("rubrics") if isinstance(criterion, Mapping) else None
    return len(rubrics) if isinstance(rubrics, list) else 0


def _samples(criterion: Any) -> int:
    samples = option(option(criterion, "judge_model_options"), "num_samples")
    return samples if isinstance(samples, int) and not isinstance(samples, bool) and samples > 0 else _SAMPLES
