"""JH009: the model grades its own work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from judgeharness_integrations.migration.finding import Finding
from judgeharness_integrations.migration.flow import Flow
from judgeharness_integrations.migration.inspection import ConfigInspection, Inspection, described
from judgeharness_integrations.migration.model_facts import model_name
from judgeharness_integrations.migration.questions import questions
from judgeharness_integrations.migration.recognising.adk import JUDGES, agent_files, option
from judgeharness_integrations.migration.rules.rule import Rule
from judgeharness_integrations.migration.site import JudgeSite
from judgeharness_integrations.migration.sources import Source, SourceError

__all__ = ["SAME_MODEL"]

_CODE = "JH009"
_AGENTS = frozenset({"Agent", "LlmAgent"})


def _python(inspection: Inspection) -> Iterator[Finding]:
    judging = {ask for site in inspection.sites for ask in inspection.asks(site)}
    writing = [call for call in questions(inspection.view) if call not in judging]
    for site in inspection.judges if writing else ():
        name = _name(inspection, site)
        if name is not None and any(_writes(inspection, site, call, name) for call in writing):
            message = (
                f"{described(site)} and the text it judges are both of {name}: judge with a model of another family."
            )
            yield inspection.finding_at(_CODE, site, message)


def _name(inspection: Inspection, site: JudgeSite) -> str | None:
    calls = (*([site.node] if site.node is not None else []), *inspection.asks(site))
    return next((name for call in calls if (name := model_name(inspection.view, call)) is not None), None)


def _writes(inspection: Inspection, site: JudgeSite, call: cst.Call, name: str) -> bool:
    """Whether a call asks that model too, and its answer is what the judge is shown."""
    if model_name(inspection.view, call) != name:
        return False
    flow = Flow(inspection.view, [call], decisions=False)
    return any(flow.touches(arg.value) for ask in inspection.asks(site) for arg in ask.args)


def _config(inspection: ConfigInspection) -> Iterator[Finding]:
    agents = {model for path in agent_files(inspection.source.path) for model in _agent_models(path)}
    for site in inspection.judges if agents else ():
        options = option(inspection.source.criteria[site.kind], "judge_model_options")
        judge = option(options, "judge_model") if isinstance(options, Mapping) else None
        if site.kind in JUDGES and judge in agents:
            message = f"{site.kind} and the agent it judges are both of {judge}: judge with a model of another family."
            yield inspection.finding_at(_CODE, site, message)


def _agent_models(path: object) -> Iterator[str]:
    """The models of the agents that a file makes of literals; an agent with another one beside them is a mix."""
    try:
        view = Source.read(path).view  # type: ignore[arg-type]
    except SourceError:
        return
    for call in view.calls:
        if any(name.startswith("google.adk.") and name.rpartition(".")[2] in _AGENTS for name in view.names(call.func)):
            model = view.value(view.argument(call, "model"))
            if isinstance(model, str):
                yield model


SAME_MODEL = Rule(
    code=_CODE,
    name="same model judges and writes",
    explanation=(
        "The model that wrote the text judges it; models favour their own style, and their mistakes agree. Found only "
        "where the names are the same in the source and the written text demonstrably reaches the judge: in one "
        "module, or in an ADK config beside its agent. Judge with a model of another family, or measure the preference."
    ),
    python=_python,
    config=_config,
)
