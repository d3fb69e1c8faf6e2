"""JH008: the repeats are asked at temperature 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection, described
from judgeharness_integrations.migration.model_facts import model_option
from judgeharness_integrations.migration.recognising.adk import JUDGES, option
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["TEMPERATURE_ZERO"]

_CODE = "JH008"


def _python(inspection: Inspection) -> Iterator[Finding]:
    for site in inspection.judges:
        calls = [*([site.node] if site.node is not None else []), *inspection.asks(site)]
        if site.samples != 1 and _repeats(inspection, calls) and _is_zero(inspection.view, calls):
            times = "several times" if site.samples is None else f"{site.samples} times"
            message = (
                f"{described(site)} is asked {times} at temperature 0, which repeats one answer: sample at a "
                "temperature above 0, or perturb what must not matter."
            )
            yield inspection.finding_at(_CODE, site, message)


def _repeats(inspection: Inspection, calls: list[cst.Call]) -> bool:
    """Asking in two orders is no repeat: the questions differ."""
    view = inspection.view
    questions = [tuple(view.module.code_for_node(arg.value) for arg in call.args) for call in calls[1:]]
    return not (len(questions) > 1 and len(set(questions)) == len(questions))


def _is_zero(view: ModuleView, calls: list[cst.Call]) -> bool:
    return any(_zero(model_option(view, call, "temperature")) for call in calls)


def _zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    for site in inspection.judges:
        options = option(inspection.source.criteria[site.kind], "judge_model_options")
        config = option(options, "judge_model_config")
        if (
            site.kind in JUDGES
            and site.samples != 1
            and isinstance(config, Mapping)
            and _zero(config.get("temperature"))
        ):
            message = (
                f"{site.kind} samples {site.samples} times at temperature 0, which repeats one answer: leave the "
                "temperature to the model, or perturb the rubrics."
            )
            yield inspection.finding_at(_CODE, site, message)


TEMPERATURE_ZERO = Rule(
    code=_CODE,
    name="temperature-0 repeats",
    explanation=(
        "The judge is asked several times about one case at temperature 0: the samples are copies of one answer, and "
        "their agreement says nothing about how firm it is. Found where the repeated question, the model it asks or "
        "its options set temperature 0. Raise the temperature, or keep it and ask under perturbations."
    ),
    python=_python,
    config=_config,
)
