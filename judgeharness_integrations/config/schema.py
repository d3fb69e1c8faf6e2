"""What a configuration file may hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.calibration.labels import unsaid_source
from judgeharness_integrations.gates.gate import Gate, Gates

__all__ = ["CalibrationConfig", "Config", "ExecutionConfig", "HarnessConfig", "JudgeConfig", "RewriterConfig"]


class _Section(BaseModel):
    # `model` and `model_options` are our keys, not pydantic's
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, protected_namespaces=())


class JudgeConfig(_Section):
    """One judge: an `adapter` with its `evaluator`, or a `callable` as `module:function`."""

    name: str = Field(min_length=1)
    adapter: str | None = None
    evaluator: str | None = None
    evaluator_options: dict[str, Any] = Field(default_factory=dict)
    callable: str | None = None
    model: str | None = None
    model_options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_kind(self) -> JudgeConfig:
        if (self.callable is None) == (self.adapter is None):
            raise ValueError("give either adapter and evaluator, or callable")
        if self.adapter is not None and self.evaluator is None:
            raise ValueError("an adapter needs an evaluator as well")
        if self.callable is not None and (self.evaluator or self.evaluator_options or self.model_options):
            raise ValueError("evaluator, evaluator_options and model_options go with an adapter, not with a callable")
        return self


class RewriterConfig(_Section):
    """The chat model that rewords texts for `paraphrase` and `prompt_variant`."""

    adapter: str
    model: str
    model_options: dict[str, Any] = Field(default_factory=dict)


class HarnessConfig(_Section):
    """The design of the measurement: a preset for a shape of verdict, single keys of it replaced, or all its keys."""

    preset: Literal["single", "quick", "standard", "thorough"] | None = None
    shape: Literal["pairwise", "labels", "scores", "any"] | None = None
    perturbations: list[str] | None = None
    repetitions: int | None = None
    aggregation_rule: str | None = None
    min_valid: int | None = None
    on_unfit: Literal["error", "skip"] | None = None
    seed: int | None = None
    tolerance: float | None = None
    curtail: bool | None = None
    instructions: list[str] | None = None
    rewriter: RewriterConfig | None = None

    @model_validator(mode="after")
    def _complete(self) -> HarnessConfig:
        if self.preset is not None and self.shape is None:
            raise ValueError("a preset needs a shape: pairwise, labels, scores or any")
        missing = [name for name in ("perturbations", "repetitions", "aggregation_rule") if getattr(self, name) is None]
        if missing and self.shape is None:
            raise ValueError(f"give {', '.join(missing)}, or a shape (pairwise, labels, scores or any) for a preset")
        return self


class BudgetConfig(_Section):
    """What a run may spend before it ends: attempts, tokens (input and output), money in the currency of the prices."""

    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)


class TierPriceConfig(_Section):
    """What a tier of a model costs per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class PriceConfig(TierPriceConfig):
    """What a model costs per million tokens, in its standard tier and in others (`flex`, `priority` ...)."""

    tiers: dict[str, TierPriceConfig] = {}


class RayConfig(_Section):
    """The cluster that `engine: ray` asks on, and how many workers share `max_concurrency`.

    `address` is `auto`, `host:port` or `ray://host:port`; without it, a cluster of this machine's own is started.
    """

    address: str | None = None
    workers: int = Field(default=2, ge=1)


class ExecutionConfig(_Section):
    """How judges are asked; what is left out takes the defaults of `JudgeHarness`."""

    max_concurrency: int | None = None
    timeout_s: float | None = None
    max_attempts: int | None = None
    max_calls: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    budget: BudgetConfig = BudgetConfig()
    prices: dict[str, PriceConfig] = {}
    prices_from: str | None = Field(default=None, min_length=1)
    engine: Literal["local", "ray"] = "local"
    ray: RayConfig = RayConfig()

    @model_validator(mode="after")
    def _priced(self) -> ExecutionConfig:
        if self.budget.cost is not None and not self.prices and self.prices_from is None:
            raise ValueError("a budget of cost needs prices: prices: {MODEL: {input: 2.5, output: 10}} per million")
        return self


class CalibrationConfig(_Section):
    """A saved calibration (`file`, or just its path), or labelled cases and the ledger that counts candidates."""

    file: str | None = None
    labels: str | None = None
    name: str | None = None
    source: str | None = None
    positive: str | None = None
    by: str | None = None
    ledger: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_kind(self) -> CalibrationConfig:
        if (self.file is None) == (self.labels is None):
            raise ValueError("give the path of a saved calibration, or labels")
        if self.labels is not None and self.source is None:
            raise ValueError(unsaid_source("source:"))
        return self


class GateConfig(_Section):
    """A gate that is narrowed to one judge or one criterion."""

    gate: str
    judge: str | None = None
    criterion: str | None = None


class GatesConfig(_Section):
    """What a run must reach, or its exit code is 1: see `judgeharness_integrations.gates.Gates`."""

    fail_under: list[str | GateConfig] = []
    max_abstention: float | None = None
    min_consistency: float | None = None
    require_calibration: bool = False
    point_estimates: bool = False
    sequential: bool = False
    about: Literal["population", "suite"] = "population"
    scale: list[float] | None = Field(default=None, min_length=2, max_length=2)

    @model_validator(mode="after")
    def _readable(self) -> GatesConfig:
        try:
            self.asked()
        except UsageError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self

    def asked(self) -> Gates:
        """Return the gates."""
        listed = [one if isinstance(one, GateConfig) else GateConfig(gate=one) for one in self.fail_under]
        return Gates(
            fail_under=tuple(Gate.of(one.gate, judge=one.judge, criterion=one.criterion) for one in listed),
            max_abstention=self.max_abstention,
            min_consistency=self.min_consistency,
            require_calibration=self.require_calibration,
            point_estimates=self.point_estimates,
            sequential=self.sequential,
            about=self.about,
            scale=None if self.scale is None else (self.scale[0], self.scale[1]),
        )


class Config(_Section):
    """A whole run: which judges, on which cases, measured how."""

    judges: list[JudgeConfig] = Field(min_length=1)
    cases: str | None = None
    harness: HarnessConfig
    execution: ExecutionConfig = ExecutionConfig()
    calibration: CalibrationConfig | None = None
    certificate: str | None = Field(default=None, min_length=1)
    gates: GatesConfig = GatesConfig()
    keep: Literal["text", "hash", "none"] = "text"
    log: str | None = None
    reuse: bool = True
    out: str | None = None
    _path: Path = PrivateAttr(default=Path("config"))

    @model_validator(mode="after")
    def _distinct_judges(self) -> Config:
        names = [judge.name for judge in self.judges]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two judges are named {name!r}: names must differ")
        return self

    @property
    def path(self) -> Path:
        """The file it stands in."""
        return self._path

    @property
    def folder(self) -> Path:
        """The configuration's folder; relative paths start there."""
        return self._path.parent

    def placed_at(self, path: Path) -> Config:
        """Return this configuration, knowing which file it stands in."""
        self._path = path
        return self

    def resolve(self, path: str) -> Path:
        """Return a path of the configuration as seen from here.

        Raises:
            ConfigError: it holds a NUL character, which no path can.

        """
        if "\0" in path:
            raise ConfigError(f"{self._path}: {path!r} is no path: it holds a NUL character.")
        return self.folder / Path(path).expanduser()
