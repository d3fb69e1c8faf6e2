"""Models as a file names them, decision models among them, and many items asked about at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeAlias, TypeVar

import typer

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, NotInstalledError, UsageError
from judgeharness_integrations.benchmark.asker import READINGS, Asker, Unfinished, limited, worked
from judgeharness_integrations.benchmark.folder import Journal, StepUsage
from judgeharness_integrations.benchmark.pair import Taxonomy
from judgeharness_integrations.benchmark.results.judgments import TYPE
from judgeharness_integrations.benchmark.verdicts import Cost, costs_of_steps, total_cost
from judgeharness_integrations.judging.adapters import JudgeSpec, find_adapter
from judgeharness_integrations.judging.cases import Criterion
from judgeharness_integrations.judging.chatmodels import ChatModel
from judgeharness_integrations.judging.execution.loop import run_sync
from judgeharness_integrations.judging.execution.observing import Spans, default_observers
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.reporting.sections import Block, Bullets, Table
from judgeharness_integrations.verdictlog.encoding import fixed, safe_text

from .._command import NOT_GRADED, OK, stop_code, stop_word, stoppable, terminable

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.usage import Price

    from .options import Asking

_ANY_MODEL: Final = "*"


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
        from judgeharness_integrations.judging.adapters import chat_model  # noqa: PLC0415

        options = self.options_of(spec)
        try:
            return chat_model(spec, options)
        except NotInstalledError as error:
            raise NotInstalledError(f"what asks model {spec!r}", "benchmark") from error
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), options),)
            raise

    def options_of(self, spec: str) -> dict[str, Any]:
        """Return the options of a model, be they under its name alone or with its provider."""
        return {name: value for key in (_ANY_MODEL, _plain(spec), spec) for name, value in self._of(key)}

    def _of(self, key: str) -> Iterable[tuple[str, Any]]:
        return self.options.get(key, {}).items()


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


_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
_LONGEST_REASON = 300
_NOT_ASKED = "not asked"
_OF_ITEM = re.compile(r"^\w+ of \S+: ")  # what an AskError begins with
_VARIES = re.compile(r"\b(?=\w*\d)\w{8,}\b|\d+(?:\.\d+)?")  # request ids, waiting times


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[_Item, _Made]):
    """What became of items, in their order: what was made of each, or that it is unfinished.

    `stopped` is what cut it off: an interrupt or a termination. `calls` were made, retries included.
    """

    results: tuple[_Made | Unfinished[_Item], ...]
    stopped: BaseException | None
    calls: int

    @property
    def made(self) -> list[_Made]:
        """What was made, in the order of the items."""
        return [result for result in self.results if not isinstance(result, Unfinished)]

    @property
    def unfinished(self) -> list[Unfinished[_Item]]:
        """Which items are left, in their order."""
        return [result for result in self.results if isinstance(result, Unfinished)]

    @property
    def state(self) -> Literal["terminated", "interrupted", "unfinished", "complete"]:
        """How it ended, in the word that documents keep."""
        if self.stopped is not None:
            return stop_word(self.stopped)
        return "unfinished" if self.unfinished else "complete"

    def then(self, rest: Self) -> Self:
        """Return the outcome of all items, where `rest` is that of those which were unfinished here."""
        return replace(rest, results=(*self.made, *rest.results))


def ask_all(
    items: Sequence[_Item],
    make: Callable[[_Item], Awaitable[_Made]],
    *,
    models: Sequence[ChatModel],
    budget: Budget,
    concurrency: int,
    title: str,
) -> Outcome[_Item, _Made]:
    """Make something of every item, with a bar of items on a terminal.

    The first interrupt begins no further call and lets those in flight come to their end; a second one, or a
    termination, drops them. Errors that are no matter of a single call pass through.

    Args:
        items: what there is to do.
        make: does one of them by asking `models` within `budget`.
        models: who is asked.
        budget: what may be spent; an interrupt ends it.
        concurrency: calls of each model, and items, at a time.
        title: what the bar says.

    Raises:
        UsageError: nothing could be asked at a time, or a model has no price where money is limited.

    """
    if concurrency < 1:
        raise UsageError(f"--max-concurrency must be at least 1, not {concurrency}.")
    for model in models:
        budget.check_price(model.name)
    before, results = budget.spent, dict[int, _Made | Unfinished[_Item]]()
    spans = Spans(default_observers())

    async def one(place: int) -> None:
        with spans.around("call", title):
            results[place] = await make(items[place])

    async def every() -> None:
        async with aclosing(worked(range(len(items)), one, max_concurrency=concurrency)) as ended_ones:
            async for result in ended_ones:
                if isinstance(result, Unfinished):
                    results[result.item] = Unfinished(item=items[result.item], reason=result.reason)

    with (
        stoppable(budget) as stop,
        terminable(),
        limited(models, max_concurrency=concurrency),
        spans.around("run", title, calls=len(items)),
    ):
        run_sync(every())
    left = {place: Unfinished(item=item, reason=_NOT_ASKED) for place, item in enumerate(items) if place not in results}
    whole = {**results, **left}
    return Outcome(
        results=tuple(whole[place] for place in range(len(items))), stopped=stop.by, calls=budget.spent - before
    )


@dataclass(frozen=True, kw_only=True)
class StepPlan:
    """What is asked about pairs of which `left` need answers: (step, model, calls a pair), all layers passed."""

    steps: Sequence[tuple[str, str, int]]
    left: int

    @property
    def at_most(self) -> int:
        """Calls where no answer can be read at first; attempts that fail are not in it."""
        return self.left * sum(calls for _, _, calls in self.steps) * READINGS

    def table(self) -> Table:
        """Return the calls of each step, and of all together."""
        rows = [*self.steps, ("together", "", sum(calls for _, _, calls in self.steps))]
        cells = (
            (step, model, *map(str, (calls, calls * self.left, calls * self.left * READINGS)))
            for step, model, calls in rows
        )
        columns = ("step", "model", "calls\na pair", "if every\npair passes", "at most")
        return Table.of("plan", columns, cells, texts=2)

    @property
    def text(self) -> str:
        """What makes the calls fewer, or more."""
        return (
            "a pair that a layer rejects takes fewer calls; an answer that cannot be read is asked for again, up to "
            f"{READINGS} times in all"
        )


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a command asks: which models, within which budget; every answer is kept in the journal."""

    journal: Journal
    models: Sequence[ChatModel]
    file: ModelFile
    budget: Budget
    options: Asking

    def ask(
        self,
        items: Sequence[_Item],
        make: Callable[[_Item, Asker], Awaitable[_Made]],
        *,
        title: str,
        known: bool = False,
    ) -> Outcome[_Item, _Made]:
        """Make something of every item, as `ask_all` does; `known`: of the answers that are kept, asking nothing."""
        budget = Budget(max_calls=0) if known else self.budget
        asker = Asker(journal=self.journal, budget=budget, policy=self.options.policy)
        return ask_all(
            items,
            lambda item: make(item, asker),
            models=self.models,
            budget=budget,
            concurrency=self.options.max_concurrency,
            title=title,
        )

    def costs(self, steps: Collection[str] | None = None) -> list[Cost]:
        """Return what each step took of each model, those of earlier commands included; of all steps, or some."""
        return cost_rows(self.journal.usage(), self.file.prices, steps=steps)

    def end(self, outcome: Outcome[Any, Any], what: str) -> int:
        """Say on standard error what is unfinished and why, and return the exit code; see `ended`."""
        return ended(outcome, what=what, options=self.file.options)


def ended(outcome: Outcome[Any, Any], *, what: str, options: object = None) -> int:
    """Say on standard error what is unfinished and why, and return the exit code.

    Args:
        outcome: how it ended.
        what: the items, as `pairs`.
        options: the models' options; no secret of theirs is printed with an error.

    """
    left, total = len(outcome.unfinished), len(outcome.results)
    if outcome.stopped is not None:
        say = f"{stop_word(outcome.stopped)}: {left} of {total} {what} are unfinished; what was answered is kept"
        typer.echo(f"{say}, and the same command goes on from there.", err=True)
        return stop_code(outcome.stopped)
    if not left:
        return OK
    reason = without_secrets(_most_frequent([unfinished.reason for unfinished in outcome.unfinished]), options)
    typer.echo(
        f"{left} of {total} {what} are unfinished: {safe_text(reason, _LONGEST_REASON)}; what was answered is kept, "
        "and the same command goes on from there.",
        err=True,
    )
    return NOT_GRADED


def _most_frequent(reasons: Sequence[str]) -> str:
    """Return the first reason of the most frequent kind, with its step and item, and how many are of others.

    Steps, ids and numbers make no kind.
    """
    plain = [_OF_ITEM.sub("", reason).rstrip(".") for reason in reasons]
    kinds = [_VARIES.sub("#", reason) for reason in plain]
    (kind, times), *others = Counter(kinds).most_common()
    shown = reasons[kinds.index(kind)].rstrip(".")
    return f"{shown} ({times} of them; {len(reasons) - times} for other reasons)" if others else shown


def cost_rows(
    usage: Iterable[StepUsage], prices: Mapping[str, Price], *, steps: Collection[str] | None = None
) -> list[Cost]:
    """Return what each step took of each model, of `Journal.usage`; of all steps, or some of them."""
    return [cost for cost in costs_of_steps(usage, prices) if steps is None or cost.step in steps]


def cost_document(rows: Sequence[Cost]) -> dict[str, Any]:
    """Return costs as documents keep them; the sum of money is known where that of every step is."""
    return {
        "steps": [
            {"tries" if name == "attempts" else name: value for name, value in row.to_dict().items()} for row in rows
        ],
        "answers": sum(row.answers for row in rows),
        "tries": sum(row.attempts for row in rows),
        "cost": total_cost(rows),
    }


def cost_blocks(
    rows: Sequence[Cost], *, title: str = "what the answers took", words: tuple[str, str] = ("tries", "cost")
) -> Iterator[Block]:
    """Yield costs as a table, and what is to be said of them; `-` is what is not known; nothing without any."""
    if not rows:
        return
    columns = ("step", "model", "answers", words[0], "tokens\nread", "tokens\nwritten", words[1])
    cells = (
        (
            row.step,
            row.model,
            str(row.answers),
            str(row.attempts),
            fixed(row.input_tokens, 0),
            fixed(row.output_tokens, 0),
            fixed(row.cost, 4),
        )
        for row in rows
    )
    yield Table.of(title, columns, cells, texts=2)
    yield Bullets(tuple(dict.fromkeys(remark for row in rows for remark in row.cost_remarks)))


_PREFIX: Final = "decisions:"


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
        types = {kind.name: kind.definition for kind in taxonomy.failure_types.values()}
        spec = JudgeSpec(
            name=name,
            evaluator="DecisionJudge",
            model=self.spec,
            model_options=self.options,
            evaluator_options={"criteria": list(criteria), "described": {TYPE: types}},
        )
        try:
            return find_adapter("langchain").build_judge(spec)
        except JudgeHarnessError as error:
            error.args = (without_secrets(str(error), self.options),)
            raise


JudgeModel: TypeAlias = ChatModel | DecisionModel


def judge_model(spec: str, models: ModelFile) -> JudgeModel:
    """Return the model of a spec that judges, with its options.

    Raises:
        UsageError: it cannot be made.

    """
    if not spec.startswith(_PREFIX):
        return models.model(spec)
    named = spec.removeprefix(_PREFIX)
    return DecisionModel(spec=named, options=models.options_of(named))
