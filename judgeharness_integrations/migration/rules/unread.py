"""JH011: a judge_harness block that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.inspection import ConfigInspection
from judgeharness_integrations.migration.recognising.adk import agent_files, option, registers
from judgeharness_integrations.migration.rules.rule import Rule

__all__ = ["UNREAD_BLOCK"]

_CODE = "JH011"


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    agents = tuple(agent_files(inspection.source.path))
    custom = inspection.source.document.get("custom_metrics", inspection.source.document.get("customMetrics", {}))
    for site in inspection.sites if agents and not any(registers(path) for path in agents) else ():
        if option(inspection.source.criteria[site.kind], "judge_harness") is not None and site.kind not in (
            custom or {}
        ):
            message = (
                f"nobody reads the judge_harness block of {site.kind}, since {agents[0].name} does not register the "
                "harness: call judgeharness_adk.register() there."
            )
            yield inspection.finding_at(_CODE, site, message)


UNREAD_BLOCK = Rule(
    code=_CODE,
    name="unread judge_harness block",
    explanation=(
        "A criterion holds a judge_harness block, and ADK keeps keys it does not know: without "
        "judgeharness_adk.register() in the app's agent.py (or the metric among custom_metrics) the built-in judge "
        "runs and the block changes nothing. Found where the app of a config has an agent.py that does not register."
    ),
    config=_config,
)
