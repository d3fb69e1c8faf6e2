"""Columns, models and failed calls, as the benchmark's commands take and tell them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeVar

import typer
from rich.text import Text

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import (
    ConfigError,
    JudgeHarnessError,
    NotInstalledError,
    UnknownNameError,
    UsageError,
)
from judgeharness_integrations.analysis.ranking.correctness import Failures
from judgeharness_integrations.benchmark.results.rows import Mode
from judgeharness_integrations.benchmark.verdicts import Results
from judgeharness_integrations.cli._alttest import Row
from judgeharness_integrations.cli._names import names_in
from judgeharness_integrations.reporting.terminal import console, percent, safe

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.usage import Price
    from judgeharness_integrations.judging.chatmodels import ChatModel
    from judgeharness_integrations.judging.execution.attempting import CallPolicy
    from judgeharness_integrations.judging.execution.budget import Budget

__all__ = [
    "SEVERAL_REASONS",
    "Concurrency",
    "Grouped",
    "ModelFile",
    "Models",
    "Spending",
    "alike",
    "check_answered",
    "columns_named",
    "counted",
    "failed_notes",
    "grouped",
    "of",
    "print_failed",
    "read_model_file",
]


SEVERAL_REASONS: Final = "- a pair that was rejected for several reasons stands under each of them"


class Grouped(Protocol):
    """A line of a table about pairs with one `value` in a `column`; None: about all of them."""

    @property
    def column(self) -> str | None:
        """The column."""
        ...

    @property
    def value(self) -> str:
        """The value."""
        ...


_Line = TypeVar("_Line", bound=Grouped)


def columns_named(given: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the columns of an option that is repeated, or takes commas between them.

    Raises:
        UnknownNameError: one of them is not known; the nearest is offered.

    """
    names = names_in(given)
    for name in names:
        if name not in known:
            raise UnknownNameError("column", name, known)
    return names


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return `1 pair`, `2 pairs`."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def alike(count: int) -> str:
    """Return how many more are like the one that is shown: `and 3 alike`."""
    return f"and {count - 1} alike" if count > 1 else ""


def of(part: int, whole: int) -> str:
    """Return `12 (30.0)`: a count, and its share of a whole in per cent."""
    return f"{part} ({percent(part / whole)})" if whole else str(part)


def grouped(lines: Sequence[_Line], cells: Callable[[_Line], Sequence[str]]) -> Iterator[Row]:
    """Yield the rows of lines, the name of each column on a row of its own above its values."""
    above: str | None = None
    for line in lines:
        told = cells(line)
        if line.column is not None and line.column != above:
            yield [safe(line.column, 40), *[""] * len(told)]
        above = line.column
        name = Text("all") if line.column is None else Text.assemble("  ", safe(line.value, 40))
        yield [name, *told]


_LONGEST = 600
_AGAIN = "judgeharness benchmark judge asks again"


def _policy(failures: Failures) -> str:
    """Return what a failed, an unread and an undecided answer is."""
    if failures == "missing":
        return "failed calls, unparsed and refused answers are missing; undecided answers are wrong"
    return "failed calls are missing; unparsed, refused and undecided answers are wrong"


def failed_notes(results: Results, mode: Mode, judges: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each judge, of some where any are named, whose calls failed: what that means, what to do."""
    failed: dict[str, int] = {}
    for judge, _ in results.failed.get(mode, ()):
        failed[judge] = failed.get(judge, 0) + 1
    answered = _answered(results, mode)
    for judge, count in sorted(failed.items()):
        if judges and judge not in judges:
            continue
        if judge in answered:
            yield f"{judge}: calls about {counted(count, 'pair')} failed and are missing; {_AGAIN}"
        else:
            yield f"{judge} is left out: none of its calls, about {counted(count, 'pair')}, was answered; {_AGAIN}"


def print_failed(
    results: Sequence[Results], mode: Mode, *, failures: Failures, judges: Sequence[str] = (), stderr: bool = False
) -> None:
    """Print whose calls failed, in one benchmark or several, and what a failed call is; nothing where none did."""
    lines = [(one.folder, line) for one in results for line in failed_notes(one, mode, judges)]
    screen = console(stderr=stderr)
    for where, line in lines:
        screen.print(safe(f"- {where}: {line}" if len(results) > 1 else f"- {line}", _LONGEST), soft_wrap=True)
    if lines:
        screen.print(f"- {_policy(failures)}", soft_wrap=True)


def check_answered(results: Results, mode: Mode, judges: Sequence[str]) -> None:
    """Refuse judges that were named and never answered.

    Raises:
        UsageError: no call of a judge was answered.

    """
    silent = {judge for judge, _ in results.failed.get(mode, ())} - _answered(results, mode)
    for judge in judges:
        if judge in silent:
            raise UsageError(f"no call of {judge} was answered: ask it again with judgeharness benchmark judge.")


def _answered(results: Results, mode: Mode) -> set[str]:
    return {row.judge for row in results.rows[mode]}


_ANY_MODEL: Final = "*"

Models = Annotated[
    Path | None,
    typer.Option(
        "--models", help="YAML: model -> options (temperature, base_url ...), prices; * is any.", show_default=False
    ),
]
Concurrency = Annotated[int, typer.Option("--max-concurrency", min=1, help="Calls of each model at a time.")]


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

        options = {name: value for key in (_ANY_MODEL, _plain(spec), spec) for name, value in self._of(key)}
        try:
            return chat_model(spec, options)
        except NotInstalledError as error:
            raise NotInstalledError(f"what asks model {spec!r}", "benchmark") from error
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), options),)
            raise

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
