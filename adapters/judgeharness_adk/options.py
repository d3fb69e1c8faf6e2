"""The `judge_harness` block of a criterion: how a metric is measured, and what of it goes where."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, JudgeModelOptions
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_adk import _seams
from judgeharness_adk.judges import JUDGES, MetricJudge
from judgeharness_adk.models import config_of, model_rewriter
from judgeharness_adk.perturbations import PERTURBATIONS
from judgeharness_adk.registrations import DEFAULT_SIDECAR, Registered
from judgeharness_integrations import JudgeHarness
from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.judging.adapters import JudgeSpec, installed_version
from judgeharness_integrations.judging.config.schema import first_problem
from judgeharness_integrations.judging.execution.budget import Budget
from judgeharness_integrations.judging.execution.observing import Observer
from judgeharness_integrations.judging.harness import preset
from judgeharness_integrations.judging.importing import import_object
from judgeharness_integrations.judging.perturbations import Rewriter, perturbation

OnAbstain: TypeAlias = Literal["fail", "not_evaluated", "informational"]
KEY, _CAMEL = "judge_harness", "judgeHarness"
_PLAIN = ("judgeharness", "harness")
_CONCURRENCY = 16
DEFAULT_RULE = "supermajority(2/3)"
_MOST_CALLS = 10_000  # of a metric and eval case: a request asks for repetitions, the owner of the key pays for them


class HarnessBlock(BaseModel):
    """The keys of the block; what is left out takes the defaults of `JudgeHarness`.

    `repetitions` defaults to ADK's `num_samples`, `max_concurrency` to its `parallelism_limit` where that is above 1.
    A block may have come in a request: `aggregation_rule`, `calibration` and `sidecar` name what is built in or what
    the agent registered. `on_abstain` says what a rubric without a decision does to the metric: `fail` (it counts as
    not fulfilled), `not_evaluated` or `informational`, where the decided rubrics leave it open. `sidecar` is the
    directory of the measurements, False for none. `extra_rows` adds rows with each rubric's consistency and share of
    valid samples.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    preset: Literal["single", "quick", "standard", "thorough"] | None = None
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
    options |= preset(block.preset, "labels") | {"on_unfit": "skip"} if block.preset else {}
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
            "budget": Budget(max_calls=block.max_calls),  # segmenting counts too
            "perturbations": _perturbations(options["perturbations"], rewriter),
            "aggregation_rule": own.rule(
                options["aggregation_rule"] if block.aggregation_rule is None else block.aggregation_rule
            ),
            "max_concurrency": concurrency_of(block, judged_by),
            "observers": observers,
        }
    )


def _perturbations(specs: Any, rewriter: Rewriter | None) -> list[Any]:
    return [perturbation(spec, rewriter=rewriter, more=PERTURBATIONS) for spec in specs]


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
    options = {"judge_model": spec.model, "judge_model_config": config_of(spec.model_options)}
    criterion = {"threshold": 0.5, **given, "judge_model_options": options}
    judge = JUDGES[spec.evaluator]
    return judge(
        EvalMetric(metric_name=spec.evaluator, criterion=BaseCriterion.model_validate(criterion)), name=spec.name
    )


def _register(path: object, spec: JudgeSpec) -> None:
    """Make a model class of the caller's known to ADK, as agent.py would."""
    found = import_object(str(path), folder=spec.folder, where=f"judge {spec.name!r}: model_class")
    if not (isinstance(found, type) and issubclass(found, BaseLlm)):
        raise ConfigError(f"judge {spec.name!r}: model_class {path!r} is no subclass of ADK's BaseLlm.")
    LLMRegistry.register(found)


def rewriter_of(model: str, options: Mapping[str, Any]) -> Rewriter:
    """Return the rewriter of a configuration."""
    return model_rewriter(model, options)
