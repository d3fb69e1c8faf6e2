"""The `judge_harness` block of a criterion, and what an agent registers for it: rules and models by name.

A criterion may come from `test_config.json` or in a request to ADK's server; an evaluator cannot tell. So a block is
data either way: it names what is built in or registered here, and nothing it names is imported or created.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, JudgeModelOptions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import RULE_NAMES, Rule, RuleLike, rule
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.design import PresetCount
from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.judging.adapters import JudgeSpec, installed_version
from judgeharness_integrations.judging.config.schema import first_problem
from judgeharness_integrations.judging.execution.observing import Observer
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.functionsource import import_object
from judgeharness_integrations.judging.harness import preset
from judgeharness_integrations.judging.perturbations import Rewriter, perturbation

from . import _seams
from .judges import JUDGES, MetricJudge
from .judges.base import RubricDecider
from .judges.metrics import RubricJudge
from .models import config_of, model_rewriter
from .perturbations import PERTURBATIONS

if TYPE_CHECKING:
    from os import PathLike


S = TypeVar("S", CalibrationReport, Passport)
DEFAULT_SIDECAR = ".adk/judgeharness"
_LOGGER = logging.getLogger("judgeharness_adk")
_BLOCK = "judge_harness"
# no part begins with a dot: neither a way out nor a hidden file. Drives, addresses and streams of Windows need a colon
_PART = r"[^./\\:\0][^/\\:\0]*"
_BELOW = re.compile(rf"{_PART}(?:/{_PART})*")
_NO_RULE = "{where}: {spec!r} is not imported: name a built-in rule, or one that register(rules=...) in agent.py names."
_NO_DECISIONS = (
    "{where}: {name!r} is no decision model: write openai:MODEL, or one that register(decisions=...) in agent.py names."
)
_NO_FILE = (
    "{where}: {name!r} is no {what} below the folder of this agent: put one there (it is that of agent.py, or of "
    "register(folder=...) in it), and write the path from there, as in {example}."
)


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What the blocks of one agent may name besides what is built in.

    `module` holds the names of the module that called `register`, by which its agent is known.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    models: Mapping[str, BaseLlm] = field(default_factory=dict, repr=False)
    decisions: Mapping[str, RubricDecider] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    module: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def rule(self, spec: str) -> Rule:
        """Return a rule by its name.

        Raises:
            UsageError: it is neither built in nor registered; whether anything of that name exists makes no difference.

        """
        if spec in self.rules:
            return self.rules[spec]
        if ":" in spec:
            raise ConfigError(_NO_RULE.format(where=f"{_BLOCK}.aggregation_rule", spec=spec))
        try:
            return rule(spec)
        except UnknownNameError:
            if not self.rules:
                raise
            raise UnknownNameError("rule", spec.partition("(")[0].strip(), (*RULE_NAMES, *self.rules)) from None

    def calibration(self, name: str) -> CalibrationReport:
        """Return a saved calibration from below the folder.

        Raises:
            ConfigError: there is none; the same sentence wherever the path leads, and whether or not a file is there.

        """
        return self._saved(CalibrationReport, "calibration", name)

    def passport(self, name: str) -> Passport:
        """Return a saved passport from below the folder; it is refused as a calibration is."""
        return self._saved(Passport, "passport", name)

    def decider(self, name: str) -> RubricDecider:
        """Return a decision model by its name: a registered one, or one of OpenAI's.

        Raises:
            ConfigError: it is neither.

        """
        if name in self.decisions:
            return self.decisions[name]
        if not name.startswith("openai:"):
            raise ConfigError(_NO_DECISIONS.format(where=f"{_BLOCK}.decisions", name=name))
        return RubricDecider(name)

    def _saved(self, kind: type[S], key: str, name: str) -> S:
        refused = self._refusal(key, name, key, f"weather.{key}.json")
        path = self._below(name)
        if path is None or not path.is_file():
            raise refused
        try:
            return kind.load(path)
        except UsageError as error:
            _LOGGER.warning("%s", error)  # what a file holds is told to whoever runs the server alone
            raise refused from None

    def directory(self, name: str) -> Path:
        """Return the directory of measurements a block names: the default, or one that exists below the folder.

        Raises:
            ConfigError: it is neither; the same sentence wherever the path leads, and whether or not it exists.

        """
        if name == DEFAULT_SIDECAR:
            return Path(DEFAULT_SIDECAR)
        path = self._below(name)
        if path is None or not path.is_dir():
            raise self._refusal("sidecar", name, "directory", "measurements")
        return path

    def _below(self, name: str) -> Path | None:
        """Return where a relative path leads, None if that is not below the folder; elsewhere nothing is looked at."""
        if self.folder is None or not _BELOW.fullmatch(name):
            return None
        try:
            top = self.folder.resolve(strict=True)
            path = (top / name).resolve(strict=True)  # links are followed
        except (OSError, ValueError, RuntimeError):  # missing, no path at all, links in a circle
            return None
        return path if top in path.parents else None

    @staticmethod
    def _refusal(key: str, name: str, what: str, example: str) -> ConfigError:
        return ConfigError(_NO_FILE.format(where=f"{_BLOCK}.{key}", name=name, what=what, example=example))


NOTHING = Registered()

# the module that called register() -> what it registered in ADK's default registry, which all agents of a process share
_agents: dict[str, Registered] = {}


def registered_by(
    module: Mapping[str, Any],
    rules: Mapping[str, RuleLike] | None,
    folder: str | PathLike[str] | None,
    models: Mapping[str, BaseLlm] | None = None,
    decisions: Mapping[str, Mapping[str, Any]] | None = None,
) -> Registered:
    """Return what the caller of `register` registers; a relative folder starts at that of its file.

    Raises:
        ConfigError: a rule's name is taken by a built-in one or it cannot be called, a model is none of ADK's, a
            decision model has no name, or the folder does not exist.

    """
    file = module.get("__file__")
    home = Path(file).absolute().parent if file else Path.cwd()  # a notebook has no file
    place = home / (folder or "")
    if not place.is_dir():
        raise ConfigError(f"register(folder={str(folder)!r}): {place} is no directory.")
    return Registered(
        rules=MappingProxyType({name: _own_rule(name, given) for name, given in (rules or {}).items()}),
        models=MappingProxyType({name: _own_model(name, given) for name, given in (models or {}).items()}),
        decisions=MappingProxyType({name: _own_decider(name, given) for name, given in (decisions or {}).items()}),
        folder=place,
        module=module,
    )


def _own_rule(name: str, given: RuleLike) -> Rule:
    if not (isinstance(name, str) and name.strip()):
        raise ConfigError(f"register(rules=...): {name!r} is no name of a rule.")
    if _built_in(name):
        raise ConfigError(f"register(rules=...): {name!r} is a built-in rule: give yours another name.")
    if isinstance(given, Rule):
        return replace(given, name=name)
    if not callable(given):
        raise ConfigError(f"register(rules=...): {name!r} must be a function of rows or a Rule, not {given!r}.")
    return Rule(name, given)


def _own_model(name: str, given: BaseLlm) -> BaseLlm:

    if not (isinstance(name, str) and name.strip()):
        raise ConfigError(f"register(models=...): {name!r} is no name of a model.")
    if not isinstance(given, BaseLlm):
        raise ConfigError(f"register(models=...): {name!r} must be a model of ADK's, a BaseLlm, not {given!r}.")
    return given


def _own_decider(name: str, given: Mapping[str, Any]) -> RubricDecider:

    model = given.get("model") if isinstance(given, Mapping) else None
    if not isinstance(model, str):
        example = '{"model": "openai:gpt-6-luna", "base_url": ...}'
        raise ConfigError(f"register(decisions=...): {name!r} must be a mapping with a model, as {example}.")
    return RubricDecider(model, {option: value for option, value in given.items() if option != "model"})


def _built_in(name: str) -> bool:
    try:
        rule(name)
    except UsageError:
        return name.partition("(")[0].strip() in RULE_NAMES
    return True


def share(registered: Registered) -> None:
    """Keep what an agent of this process registered; the same module's earlier call is replaced."""
    _agents[str(registered.module.get("__file__") or registered.module.get("__name__"))] = registered


def registered_for_this_agent() -> Registered:
    """Return what the agent under evaluation registered; nothing where that cannot be told."""
    for agent in _with_parents(_seams.evaluated_agent()):
        for registered in _agents.values():
            if _defines(registered.module, agent):
                return registered
        if any(_holds(module, agent) for module in _loaded()):
            return NOTHING  # an agent of its own that registered nothing, whoever else has it as a sub-agent
    return NOTHING


def _with_parents(agent: object | None) -> Iterator[object]:
    """Yield an agent and those it is a sub-agent of, one of which `AgentEvaluator` can be told to evaluate."""
    while agent is not None:
        yield agent
        agent = getattr(agent, "parent_agent", None)


def _defines(module: Mapping[str, Any], agent: object) -> bool:
    """Whether a module, or the module `agent` of its package, holds an agent where ADK looks for it."""
    inner = module.get("agent")
    own = isinstance(inner, ModuleType) and inner.__name__ == f"{module.get('__name__')}.agent"
    return _holds(module, agent) or (own and _holds(vars(inner), agent))


def _holds(module: Mapping[str, Any], agent: object) -> bool:
    from google.adk.apps.app import App  # noqa: PLC0415 - who evaluates has it loaded

    app: Any = module.get("app")  # of any framework
    return module.get("root_agent") is agent or (issubclass(type(app), App) and app.root_agent is agent)


def _loaded() -> Iterator[Mapping[str, Any]]:
    """Yield the names of every module there is."""
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield object.__getattribute__(module, "__dict__")  # a lazy one is not loaded by that


OnAbstain: TypeAlias = Literal["fail", "not_evaluated", "informational"]
KEY, _CAMEL = "judge_harness", "judgeHarness"
_PLAIN = ("judgeharness", "harness")
_CONCURRENCY = 16
DEFAULT_RULE = "supermajority(2/3)"
_MOST_CALLS = 10_000  # of a metric and eval case: a request asks for repetitions, the owner of the key pays for them


class HarnessBlock(BaseModel):
    """The keys of the block; what is left out takes the defaults of `JudgeHarness`.

    `repetitions` defaults to ADK's `num_samples`, `max_concurrency` to its `parallelism_limit` where that is above 1.
    A block may have come in a request: `aggregation_rule`, `calibration`, `decisions`, `passport` and `sidecar` name
    what is built in or what the agent registered. `decisions` is a decision model that answers the rubrics in the place
    of ADK's judge model, and `passport` decides from its probabilities. `on_abstain` says what a rubric without a
    decision does to the metric: `fail` (it counts as not fulfilled), `not_evaluated` or `informational`, where the
    decided rubrics leave it open. `sidecar` is the directory of the measurements, False for none. `extra_rows` adds
    rows with each rubric's consistency and share of valid samples.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    preset: Literal["single", "quick", "cheap", "standard", "thorough"] | None = None
    perturbations: list[str] | None = None
    repetitions: int | None = Field(default=None, ge=1)
    aggregation_rule: str | None = None
    min_valid: int | None = None
    on_unfit: Literal["error", "skip"] | None = None
    seed: int | None = None
    names: list[str] = Field(default_factory=list)
    curtail: bool | None = None
    rewriter: str | None = None
    max_concurrency: int | None = Field(default=None, ge=1)
    timeout_s: float | None = None
    max_attempts: int | None = None
    max_calls: int = Field(default=_MOST_CALLS, le=_MOST_CALLS)
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    keep: Literal["text", "hash", "none"] | None = None
    calibration: str | None = None
    decisions: str | None = None
    passport: str | None = None
    on_abstain: OnAbstain = "fail"
    sidecar: str | Literal[False] = DEFAULT_SIDECAR
    extra_rows: bool = False


class _Criterion(BaseModel):
    judge_harness: HarnessBlock = HarnessBlock()


def block_of(criterion: BaseCriterion, *, metric: str) -> HarnessBlock:
    """Return the block of a criterion.

    Raises:
        UnknownNameError: it has a key nobody knows; the nearest is offered.
        ConfigError: a key holds a wrong value, or one that the installed ADK does not know.

    """
    given = criterion.model_extra or {}
    _check_place(given, metric)
    block = given.get(KEY, given.get(_CAMEL, {}))
    try:
        made = _Criterion.model_validate({KEY: block}).judge_harness
    except ValidationError as error:
        raise first_problem(error.errors(include_url=False), f"metric {metric!r}", _Criterion) from None
    if made.passport is not None:
        if made.decisions is None:
            raise ConfigError(
                f"metric {metric!r}: a passport decides from probabilities: name a decision model, decisions."
            )
        if made.aggregation_rule is not None or made.calibration is not None:
            raise ConfigError(f"metric {metric!r}: the passport decides: leave out aggregation_rule and calibration.")
    if made.on_abstain == "informational" and not _seams.knows_informational():
        raise ConfigError(
            f"metric {metric!r}: on_abstain 'informational' needs google-adk 2.10 or later, and "
            f"{installed_version('google-adk')} is installed: take 'not_evaluated', or a later version."
        )
    return made


def _check_place(given: Mapping[str, Any], metric: str) -> None:
    """Refuse what looks like a block, or one of its keys, in a place where nobody reads it."""
    if KEY in given and _CAMEL in given:
        raise ConfigError(f"metric {metric!r}: {KEY} stands twice, once as {_CAMEL}: keep one.")
    for name in given.keys() - {KEY, _CAMEL}:
        plain = "".join(filter(str.isalnum, name)).lower()  # JUDGE_HARNESS, judge-harness
        if get_close_matches(plain, _PLAIN, n=1, cutoff=0.8):
            raise UnknownNameError("key", name, (KEY,))
        if name in HarnessBlock.model_fields:
            raise ConfigError(f"metric {metric!r}: key {name!r} belongs into {KEY}, where it is read.")


def concurrency_of(block: HarnessBlock, judged_by: JudgeModelOptions) -> int:
    """Return how many calls may be in flight: as said, else ADK's limit where it is above 1."""
    limit = judged_by.parallelism_limit
    return block.max_concurrency or (limit if limit > 1 else _CONCURRENCY)


def harness_of(
    block: HarnessBlock, judged_by: JudgeModelOptions, *, own: Registered, observers: tuple[Observer, ...] | None = None
) -> JudgeHarness:
    """Return the harness a block stands for.

    Args:
        block: the block.
        judged_by: ADK's options of the judge's model.
        own: what the agent registered for its blocks to name.
        observers: who watches.

    Raises:
        UsageError: its keys cannot be used together; nothing was asked.

    """
    options: dict[str, Any] = {
        "perturbations": ("none",),
        "repetitions": judged_by.num_samples,
        "aggregation_rule": DEFAULT_RULE,
    }
    # what a preset brings need not fit every metric: the tool use prompt shows no response to lay out anew
    if block.decisions is not None:  # repetitions of text tell more than those of probabilities
        options["repetitions"] = PresetCount(1)
    options |= preset(block.preset, "labels") | {"on_unfit": "skip"} if block.preset else {}
    passport = None if block.passport is None else own.passport(block.passport)
    options |= passport.asked if passport else {}
    options |= block.model_dump(
        exclude_none=True,
        include={
            *("perturbations", "repetitions", "min_valid", "on_unfit", "seed", "timeout_s", "max_attempts"),
            *("max_calls", "keep", "curtail", "requests_per_minute", "tokens_per_minute"),
        },
    )
    rewriter = (
        None if block.rewriter is None else model_rewriter(block.rewriter, instance=own.models.get(block.rewriter))
    )
    return JudgeHarness(
        **options
        | {
            "calibration": None if block.calibration is None else own.calibration(block.calibration),
            "passport": passport,
            "budget": Budget(max_calls=block.max_calls),  # segmenting counts too
            "perturbations": _perturbations(options["perturbations"], rewriter),
            "aggregation_rule": own.rule(
                options["aggregation_rule"] if block.aggregation_rule is None else block.aggregation_rule
            ),
            "max_concurrency": concurrency_of(block, judged_by),
            "observers": observers,
        }
    )


def decide_by(judge: MetricJudge[Any], decider: RubricDecider) -> None:
    """Have a decision model answer a metric's rubrics.

    Raises:
        UsageError: the metric has no rubrics or a prompt of its own, or the model cannot be made.

    """
    if not isinstance(judge, RubricJudge):
        raise ConfigError(
            f"metric {judge.metric!r} has no rubrics for a decision model to answer: leave out decisions."
        )
    judge.decide_by(decider)


def _perturbations(specs: Any, rewriter: Rewriter | None) -> list[Any]:
    return [perturbation(spec, rewriter=rewriter, more=PERTURBATIONS) for spec in specs]


_DECISIONS = "decisions:"  # before the name of a decision model in a configuration file
_OWN = frozenset({"judge_model_options", "judge_harness"})  # said elsewhere in a configuration file


def judge_from_spec(spec: JudgeSpec) -> MetricJudge[Any]:
    """Return the judge of a configuration: an LLM metric of ADK by its name, its criterion as options.

    Raises:
        UsageError: name, model or options cannot be used.

    """
    known = [name for name, judge in JUDGES.items() if judge.adk_only is None]
    if spec.evaluator in JUDGES and spec.evaluator not in known:
        raise ConfigError(
            f"judge {spec.name!r}: {spec.evaluator} judges {JUDGES[spec.evaluator].adk_only}: "
            "measure it there, with judgeharness_adk.register()."
        )
    if spec.evaluator not in known:
        raise UnknownNameError("evaluator", spec.evaluator, known)
    if spec.model is None:
        raise ConfigError(f"judge {spec.name!r} needs a model, as in model: gemini-2.5-flash.")
    if own := _OWN.intersection(spec.evaluator_options):
        raise ConfigError(f"judge {spec.name!r}: {min(own)} is said by model, model_options and harness in this file.")
    given = dict(spec.evaluator_options)
    if (own_model := given.pop("model_class", None)) is not None:
        _register(own_model, spec)
    decider = None
    asked, model = spec.model_options, spec.model
    if model.startswith(_DECISIONS):
        decider = RubricDecider(model.removeprefix(_DECISIONS), asked)
        asked, model = {}, _seams.STAND_IN
    if spec.tier is not None:
        if own_model is not None or decider or not spec.model.startswith("gemini"):
            raise ConfigError(f"judge {spec.name!r}: only Gemini is asked at tier {spec.tier}: give it tier: standard.")
        asked = {**asked, "service_tier": spec.tier}
    options = {"judge_model": model, "judge_model_config": config_of(asked)}
    criterion = {"threshold": 0.5, **given, "judge_model_options": options}
    metric = EvalMetric(metric_name=spec.evaluator, criterion=BaseCriterion.model_validate(criterion))
    judge = JUDGES[spec.evaluator](metric, name=spec.name)
    if decider is not None:
        decide_by(judge, decider)
    return judge


def _register(path: object, spec: JudgeSpec) -> None:
    """Make a model class of the caller's known to ADK, as agent.py would."""
    found = import_object(str(path), folder=spec.folder, where=f"judge {spec.name!r}: model_class")
    if not (isinstance(found, type) and issubclass(found, BaseLlm)):
        raise ConfigError(f"judge {spec.name!r}: model_class {path!r} is no subclass of ADK's BaseLlm.")
    LLMRegistry.register(found)


def rewriter_of(model: str, options: Mapping[str, Any]) -> Rewriter:
    """Return the rewriter of a configuration."""
    return model_rewriter(model, options)
