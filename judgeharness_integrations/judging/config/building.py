"""What a configuration names: judges, cases, executors and the options of a harness."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError
from judgeharness_integrations.analysis.calibration import CalibrationReport
from judgeharness_integrations.analysis.certifying import Certificate
from judgeharness_integrations.analysis.certifying.cascade import Cascade
from judgeharness_integrations.analysis.probability.passport import Passport
from judgeharness_integrations.analysis.spending import STANDARD
from judgeharness_integrations.redacting import without_secrets

from ..adapters import Adapter, JudgeSpec, find_adapter
from ..calibrating import CalibrationSet
from ..cases import AnswerCase, CaseFile, Criterion
from ..execution.attempting import CallPolicy
from ..execution.local import LocalExecutor
from ..execution.preparing import content_digest
from ..execution.rates import Rates
from ..functionsource import import_object, imported_rule
from ..harness import preset
from ..judge import FunctionJudge, Judge, JudgeIdentity, Judgment, Probe, model_family, text_hash
from ..perturbations import Perturbation, Rewriter, perturbation
from ..tiers import PATIENCE_S, TieredJudge, dearer_first, prices_of
from .schema import Config, JudgeConfig, RewriterConfig, load_config

if TYPE_CHECKING:
    from ..execution import Executor

_ASKING = {"max_concurrency", "timeout_s", "max_attempts", "requests_per_minute", "tokens_per_minute", "prime_cache"}
_AT_STANDARD = f"tier: {STANDARD}"


@dataclass(frozen=True, kw_only=True)
class _Renamed:
    """A judge under the name the configuration gives it."""

    name: str
    judge_itself: Judge

    @property
    def identity(self) -> JudgeIdentity | None:
        return self.judge_itself.identity

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        return self.judge_itself.criteria

    async def judge(self, probe: Probe) -> Judgment:
        return await self.judge_itself.judge(probe)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.judge_itself, name)  # optional attributes such as `supports`


def build_judge(config: Config, place: int) -> Judge:
    """Return the judge at a place of the configuration's list.

    Raises:
        UsageError: its adapter is unknown or not installed, or it cannot be built.

    """
    judge, where, tier = config.judges[place], f"judges[{place}]", _tier(config, place)
    if judge.callable is None:
        built = _from_adapter(judge, where, config.folder, tier)
        if tier is not None:
            built = TieredJudge(tier=tier, cheaper=built, standard=_from_adapter(judge, where, config.folder))
        return _named(built, judge.name)
    if tier is not None:
        raise ConfigError(f"{where}: a function asks at a tier of its own choice: give this judge {_AT_STANDARD}.")
    found = import_object(judge.callable, folder=config.folder, where=f"{where}.callable")
    if isinstance(found, Judge) and not isinstance(found, type):
        return _named(found, judge.name)
    if not callable(found):
        raise ConfigError(f"{where}.callable: {judge.callable!r} is neither a function nor a judge.")
    if judge.model is None:
        return FunctionJudge.of(found, judge.name)
    return FunctionJudge(function=found, name=judge.name, identity=_identity(judge, found, judge.model))


def _named(judge: Judge, name: str) -> Judge:
    return judge if judge.name == name else _Renamed(name=name, judge_itself=judge)


def _identity(judge: JudgeConfig, function: Any, model: str) -> JudgeIdentity | None:
    """Return what makes a function with a declared model the same judge: the model, its name and its module."""
    try:
        source = Path(inspect.getsourcefile(inspect.unwrap(function)) or "").read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError):
        return None
    prompt_hash = text_hash(f"{judge.callable}\n{source}")  # one module may hold several judges
    return JudgeIdentity(name=judge.name, model=model, prompt_hash=prompt_hash, family=model_family(model))


@contextmanager
def _as_our_errors(what: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Turn what a framework says about options into our errors, without the secrets among them."""
    try:
        yield
    except JudgeHarnessError as error:
        error.args = (without_secrets(str(error), options),)
        raise
    except Exception as error:  # a framework refuses options in its own words
        first_line = (str(error).splitlines() or [""])[0]  # the lines after it may repeat options, keys among them
        reason = without_secrets(f"{type(error).__name__}: {first_line}".rstrip(": "), options)
        raise ConfigError(f"{what} cannot be built ({reason}).") from error


def _tier(config: Config, place: int) -> str | None:
    """Return the tier a judge is asked at; None for the standard one, and for a judge that asks no model."""
    judge = config.judges[place]
    tier = judge.tier or config.execution.tier
    return None if tier == STANDARD or (judge.callable is None and judge.model is None) else tier


def _from_adapter(judge: JudgeConfig, where: str, folder: Path, tier: str | None = None) -> Judge:
    adapter = find_adapter(str(judge.adapter))
    if tier is not None and tier not in adapter.tiers:
        raise ConfigError(f"{where}: {adapter.name!r} cannot ask at tier {tier}: give this judge {_AT_STANDARD}.")
    spec = JudgeSpec(
        name=judge.name,
        evaluator=str(judge.evaluator),
        model=judge.model,
        model_options=judge.model_options,
        evaluator_options=judge.evaluator_options,
        folder=folder,
        tier=tier,
    )
    with _as_our_errors(
        f"{where}: judge {judge.name!r}", {"model": judge.model_options, "evaluator": judge.evaluator_options}
    ):
        return adapter.build_judge(spec)


def _rewriter(rewriter: RewriterConfig) -> Rewriter:
    adapter = find_adapter(rewriter.adapter)
    if adapter.build_rewriter is None:
        raise ConfigError(f"harness.rewriter: adapter {adapter.name!r} has no chat models.")
    with _as_our_errors("harness.rewriter:", rewriter.model_options):
        return adapter.build_rewriter(rewriter.model, rewriter.model_options)


def build_cases(config: Config) -> list[AnswerCase] | CaseFile:
    """Return the cases of the file the configuration names, checked; they are read anew each time they are iterated.

    A file that ends in `.json` is read as a whole, by a judge's adapter.
    """
    if config.cases is None:
        raise ConfigError("key 'cases' is missing: the path of a CSV or JSONL file with case_id, input, output.")
    path = config.resolve(config.cases)
    if path.suffix.lower() == ".json":
        for adapter in _used_adapters(config):
            if adapter.read_cases is not None:
                return adapter.read_cases(path)
    cases = CaseFile(path)
    cases.check()
    return cases


def cases_digest(cases: list[AnswerCase] | CaseFile) -> dict[str, Any]:
    """Return how many cases there are and a digest of their content."""
    if isinstance(cases, CaseFile):
        found = cases.check()
        return {"count": found.count, "content": found.digest}
    contents = [content_digest(replace(case, gold=None)) or b"" for case in cases]
    joined = b"".join(contents) + repr([(case.case_id, case.gold) for case in cases]).encode(errors="surrogatepass")
    return {"count": len(cases), "content": hashlib.blake2b(joined, digest_size=16).hexdigest()}


def build_executor(
    config: Config, options: Mapping[str, Any], *, engine: str | None = None, **batches: Any
) -> Executor | None:
    """Return what asks in another way than by calls of this process; None for the local engine.

    Args:
        config: the configuration.
        options: the arguments of the harness, for limits and retries.
        engine: `local`, `ray` or `batch`, instead of the configuration's.
        batches: further `Terms` of the batch engine.

    Raises:
        NotInstalledError: Ray is missing.

    """
    execution = config.execution
    engine = engine or execution.engine
    if engine == "local":
        return None

    def given(*names: str) -> dict[str, Any]:
        return {name: options[name] for name in names if name in options}

    if engine == "batch":
        from ..execution.batch_engine import BatchExecutor, Terms  # noqa: PLC0415 - few runs are batched

        terms = Terms(**execution.batch.model_dump(exclude_none=True), **batches)
        return BatchExecutor(terms=terms, policy=CallPolicy(**given("max_attempts")))
    from ..execution.ray_engine import RayExecutor  # noqa: PLC0415 - Ray is an extra

    workers = execution.ray.workers
    return RayExecutor(
        address=execution.ray.address,
        workers=workers,
        concurrency_per_worker=max(1, -(-options.get("max_concurrency", LocalExecutor.max_concurrency) // workers)),
        rates=Rates(**given("requests_per_minute", "tokens_per_minute")),
        policy=CallPolicy(**given("timeout_s", "max_attempts")),
    )


def _used_adapters(config: Config) -> Iterator[Adapter]:
    for name in dict.fromkeys(judge.adapter for judge in config.judges if judge.adapter is not None):
        yield find_adapter(name)


def _perturbations(config: Config, specs: Sequence[str], rewriter: Rewriter | None) -> Sequence[str | Perturbation]:
    """Return the perturbations, those that an adapter's own cases have made by it."""
    own = {name: make for adapter in _used_adapters(config) for name, make in adapter.perturbations.items()}
    if not own:
        return specs
    instructions = config.harness.instructions or ()
    return [perturbation(spec, rewriter=rewriter, instructions=instructions, more=own) for spec in specs]


def build_harness_options(config: Config) -> dict[str, Any]:
    """Return the arguments of `JudgeHarness` a configuration stands for.

    What may be spent, the engine and the log are not among them: they are the run's.
    """
    harness, execution = config.harness, config.execution
    options: dict[str, Any] = {}
    if harness.shape is not None:
        options |= preset(harness.preset or "standard", harness.shape)
    given = harness.model_dump(exclude_none=True, exclude={"preset", "shape", "rewriter", "aggregation_rule"})
    asked = execution.model_dump(exclude_none=True, include=_ASKING)
    if any(_tier(config, place) is not None for place in range(len(config.judges))):
        options["timeout_s"] = PATIENCE_S
    options |= given | asked | {"keep": config.keep, "reuse": config.reuse}
    if harness.aggregation_rule is not None:
        options["aggregation_rule"] = imported_rule(
            harness.aggregation_rule, folder=config.folder, where="harness.aggregation_rule"
        )
    if harness.rewriter is not None:
        options["rewriter"] = _rewriter(harness.rewriter)
    options["perturbations"] = _perturbations(config, options["perturbations"], options.get("rewriter"))
    return options


def build_calibration(config: Config) -> dict[str, Any]:
    """Return the `JudgeHarness` argument a configuration's calibration stands for."""
    calibration = config.calibration
    if calibration is None:
        return {}
    if calibration.file is not None:
        return {"calibration": CalibrationReport.load(config.resolve(calibration.file))}
    labels = CalibrationSet.from_file(
        config.resolve(str(calibration.labels)),
        name=calibration.name,
        source=str(calibration.source),
        positive=calibration.positive,
        by=calibration.by,
    )
    return {"calibration_set": labels}


def build_certificate(config: Config) -> dict[str, Any]:
    """Return the `JudgeHarness` arguments a configuration's certificate and passport stand for.

    What is asked is what the passport was taken with, in place of what a preset asks.
    """
    held: dict[str, Any] = {}
    if config.certificate is not None:
        held["certificate"] = Certificate.load(config.resolve(config.certificate))
    if config.passport is not None:
        held["passport"] = passport = Passport.load(config.resolve(config.passport))
        held |= {name: value for name, value in passport.asked.items() if getattr(config.harness, name) is None}
    return held


def build_cascade(config: Config, rule: str) -> Cascade | None:
    """Return the cascade of a configuration, of its judges under its rule; None where they are not asked in turn.

    Raises:
        ConfigError: its file cannot be read, or holds the certificate of one judge.
        UsageError: it was certified for other judges, in another order or under another rule, or a dearer judge is
            asked before a cheaper one.

    """
    if config.cascade is None:
        return None
    cascade = Cascade.load(config.resolve(str(config.certificate)))
    cascade.check(config.asked_in_turn, rule)
    models = {judge.name: judge.model for judge in config.judges}
    dearer_first([(name, models[name]) for name in config.asked_in_turn], prices_of(config))
    return cascade


class SendableJudge:
    """A judge that is pickled as (configuration file, place in its list), so that clients and keys stay where they are.

    Whoever unpickles it must find the file under the same path, and the judge's module beside it.
    """

    def __init__(self, judge: Judge, config: Config, place: int) -> None:
        """Stand for the judge at a place of a configuration."""
        self._judge, self._path, self._place = judge, str(config.path.resolve()), place

    @property
    def name(self) -> str:
        """The judge's name."""
        return self._judge.name

    @property
    def identity(self) -> JudgeIdentity | None:
        """The judge's identity."""
        return self._judge.identity

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions the judge answers."""
        return self._judge.criteria

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe."""
        return await self._judge.judge(probe)

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the judge, such as `supports`."""
        return getattr(self._judge, name)

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        """Be built anew."""
        return _built, (self._path, self._place)


def _built(path: str, place: int) -> Judge:
    return build_judge(load_config(Path(path)), place)
