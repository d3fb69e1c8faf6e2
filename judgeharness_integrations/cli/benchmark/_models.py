"""Models and what may be spent on them, as the benchmark's commands name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, NotInstalledError, UsageError

if TYPE_CHECKING:  # every command imports the options below: what asks models is loaded at first use
    from judgeharness_integrations.analysis.usage import Price
    from judgeharness_integrations.benchmark.pair import Taxonomy
    from judgeharness_integrations.judging.cases import Criterion
    from judgeharness_integrations.judging.chatmodels import ChatModel
    from judgeharness_integrations.judging.execution.attempting import CallPolicy
    from judgeharness_integrations.judging.execution.budget import Budget
    from judgeharness_integrations.judging.judge import Judge

_ANY_MODEL: Final = "*"

Models = Annotated[
    Path | None,
    typer.Option(
        "--models", help="YAML: model -> options (temperature, base_url ...), prices; * is any.", show_default=False
    ),
]
Concurrency = Annotated[int, typer.Option("--max-concurrency", min=1, help="Calls of each model at a time.")]


_DECISIONS = "decisions:"


@dataclass(frozen=True, kw_only=True)
class DecisionModel:
    """A decision model by its spec, as `openai:gpt-6-luna`; LangChain's adapter makes the judge over it."""

    spec: str
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The model's own name, for limits and prices."""
        return self.spec.partition(":")[2] or self.spec

    def judge(self, criteria: Sequence[Criterion], taxonomy: Taxonomy, *, name: str) -> Judge:
        """Return the judge that is asked about these criteria.

        Raises:
            UsageError: LangChain has no decision models, or the model cannot be made.

        """
        from judgeharness_integrations.benchmark.results.rows import TYPE  # noqa: PLC0415
        from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter  # noqa: PLC0415
        from judgeharness_integrations.redacting import without_secrets  # noqa: PLC0415

        types = {kind.name: kind.definition for kind in taxonomy.failure_types.values()}
        asked = {"criteria": list(criteria), "described": {TYPE: types}}
        spec = JudgeSpec(
            name=name,
            evaluator="DecisionJudge",
            model=self.spec,
            model_options=self.options,
            evaluator_options=asked,
        )
        try:
            return find_adapter("langchain").build_judge(spec)
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), self.options),)
            raise


JudgeModel: TypeAlias = "ChatModel | DecisionModel"


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """What a `--models` file says: `options` by model, as its adapter takes them, and `prices` by model."""

    options: Mapping[str, Mapping[str, Any]]
    prices: Mapping[str, Price]

    def model(self, spec: str) -> ChatModel:
        """Return the model of a spec, with its options, be they under its name alone or with its provider.

        No secret among them gets into an error.

        Raises:
            UsageError: it cannot be made.

        """
        from judgeharness_integrations.judging.chatmodels import chat_model  # noqa: PLC0415
        from judgeharness_integrations.redacting import without_secrets  # noqa: PLC0415

        options = self.options_of(spec)
        try:
            return chat_model(spec, options)
        except NotInstalledError as error:
            raise NotInstalledError(f"what asks model {spec!r}", "benchmark") from error
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), options),)
            raise

    def judge_model(self, spec: str) -> JudgeModel:
        """Return the model of a spec that judges: `decisions:openai:gpt-6-luna` is a decision model.

        Raises:
            UsageError: it cannot be made.

        """
        if not spec.startswith(_DECISIONS):
            return self.model(spec)
        named = spec.removeprefix(_DECISIONS)
        return DecisionModel(spec=named, options=self.options_of(named))

    def options_of(self, spec: str) -> dict[str, Any]:
        """Return the options of a model, be they under its name alone or with its provider."""
        return {name: value for key in (_ANY_MODEL, _plain(spec), spec) for name, value in self._of(key)}

    def _of(self, key: str) -> Iterable[tuple[str, Any]]:
        return self.options.get(key, {}).items()


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a command may spend."""

    max_calls: Annotated[
        int | None, typer.Option(min=0, help="Calls at most, retries included.", show_default="no limit")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(help="Money at most, by the prices of --models.", show_default=False)
    ] = None
    timeout_s: float = 300.0
    max_attempts: int = 4

    def budget(self, models: ModelFile) -> Budget:
        """Return the budget of one go.

        Raises:
            UsageError: money is limited and no price is known.

        """
        from judgeharness_integrations.judging.execution.budget import Budget  # noqa: PLC0415

        if self.max_cost is not None and not models.prices:
            raise UsageError(
                "--max-cost needs prices per million tokens: write them into a file for --models, as in "
                "prices: {gpt-4o: {input: 2.5, output: 10}}."
            )
        return Budget(
            max_calls=self.max_calls,
            max_cost=self.max_cost,
            prices=dict(models.prices) or None,
            named={"max_calls": "--max-calls", "max_cost": "--max-cost"},
        )

    @property
    def limit_line(self) -> str:
        """What a plan says of it."""
        limits = [] if self.max_calls is None else [f"{self.max_calls} calls, retries included"]
        limits += [] if self.max_cost is None else [f"{self.max_cost:g} of money, by the prices of --models"]
        if not limits:
            return "no upper limit given; a call that fails is tried again"
        return f"upper limit: {' and '.join(limits)}"

    @property
    def policy(self) -> CallPolicy:
        """How long and how often each call is tried."""
        from judgeharness_integrations.judging.execution.attempting import CallPolicy  # noqa: PLC0415

        return CallPolicy(timeout_s=self.timeout_s, max_attempts=self.max_attempts)


def read_model_file(path: Path | None) -> ModelFile:
    """Return what a file says: `{options: {model: {...}}, prices: {model: {input: 2.5, output: 10}}}`.

    Raises:
        ConfigError: it cannot be read, or has another form.

    """
    if path is None:
        return ModelFile(options={}, prices={})
    try:
        data: Any = load_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = getattr(error, "problem", None) or getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(f"{path} cannot be read ({what}): write options and prices by model.") from error
    parts = data if isinstance(data, dict) else {"": data}
    if not set(parts) <= {"options", "prices"} or not all(_is_table(part) for part in parts.values()):
        raise ConfigError(f"{path} must hold options and prices, each of them by model, and nothing else.")
    return ModelFile(options=parts.get("options", {}), prices=_prices(parts.get("prices", {}), path))


def _is_table(part: object) -> bool:
    return isinstance(part, dict) and all(isinstance(entry, dict) for entry in part.values())


def _prices(table: Mapping[str, Mapping[str, Any]], path: Path) -> dict[str, Price]:
    from judgeharness_integrations.analysis.usage import Price  # noqa: PLC0415

    try:
        found = {str(name): Price.from_dict(entry, f"prices.{name}") for name, entry in table.items()}
    except UsageError as error:
        raise ConfigError(f"{path}: {error}") from error
    # answers name the model without its provider
    return {_plain(name): price for name, price in found.items()} | found


def _plain(spec: str) -> str:
    """Return a model's name without its provider; what follows a further colon, as in ollama:llama3:8b, is its own."""
    return spec.partition(":")[2] or spec
