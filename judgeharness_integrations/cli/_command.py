"""A command from the class of its request, the options that several commands have, and how a command ends.

The class stands in a module that imports nothing heavy, so that `--help` is fast; what the command does is named, and
imported when the command is called. Commands themselves are imported when they are named.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import signal
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from shlex import join
from types import FrameType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.core import TyperGroup

from judgeharness_integrations._errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from judgeharness_integrations.judging.execution.retrying import Budget

_Request = TypeVar("_Request")
_EMPTY = inspect.Parameter.empty


def command(
    request: type[Any], work: str | Callable[[Any], int | None], *, needs: str | None = None
) -> Callable[..., None]:
    """Return the command of a request.

    Args:
        request: a dataclass, whose docstring is the help. A field is `Annotated` with `typer.Option` or
            `typer.Argument`, as the parameter of a command would be; `tuple[T, ...]` may be given several times,
            `Literal` is one of some words, and a field that is a dataclass itself is a group of further options.
        work: what takes the request and returns an exit code, or None; `package.module:function` where importing it
            would make `--help` slow.
        needs: `package.module:function`, called before that is imported: it raises what is not installed.

    """

    def run(**given: Any) -> None:
        if needs is not None:
            pkgutil.resolve_name(needs)()
        does = pkgutil.resolve_name(work) if isinstance(work, str) else work
        raise typer.Exit(does(_request_of(request, given)) or 0)

    parameters = list(_parameters(request).values())
    signature: Any = inspect.Signature(parameters)
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = request.__doc__
    run.__name__ = request.__name__
    run.declared = request, work  # type: ignore[attr-defined]
    return run


def part_of(request: Any, part: type[_Request], **own: Any) -> _Request:
    """Return a dataclass made of what a request has by the names of its fields, and of its `own` ones."""
    names = {field.name for field in fields(request)}
    shared = {field.name: getattr(request, field.name) for field in fields(cast("Any", part)) if field.name in names}
    return part(**(shared | own))


_OF_THIS_CALL: Final = frozenset({"yes", "as_json"})


def retold(name: str, request: Any, **others: Any) -> str:
    """Return the command line of a request, with other values for some fields; how it asks and prints is left out."""
    words = ["judgeharness", name]
    for field, kind, option in _declared(type(request)):
        value = others.get(field.name, getattr(request, field.name))
        if field.name in _OF_THIS_CALL or option is None or value in (field.default, None, False):
            continue
        if isinstance(option, typer.models.ArgumentInfo):
            words.append(str(value))
            continue
        long = next((one for one in option.param_decls or () if one.startswith("--")), None)
        given = long or f"--{field.name.replace('_', '-')}"
        several = value if get_origin(_plain(kind)) is tuple else (value,)
        words += [given] if value is True else [part for one in several for part in (given, str(one))]
    return join(words)


def _parameters(request: type[Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, groups unfolded."""
    parameters: dict[str, inspect.Parameter] = {}
    for field, kind, option in _declared(request):
        if option is None:
            parameters |= _parameters(kind)
            continue
        annotation, default = _parameter(kind, field.default)
        parameters[field.name] = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
        )
    return parameters


def _declared(request: type[Any]) -> Iterator[tuple[Field[Any], Any, Any]]:
    """Yield each field that can be given, its type and its option, which a group has not."""
    hints = _hints(cast("Any", request))
    for field in fields(request):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield field, hint, None
        elif get_origin(hint) is Annotated:
            yield field, *get_args(hint)


@cache
def _hints(request: Any) -> Mapping[str, Any]:
    """Return the types of its fields: what they are written as is evaluated once a class."""
    return get_type_hints(request, include_extras=True)


def _parameter(kind: Any, default: Any) -> tuple[Any, Any]:
    """Return the type that typer is asked for and its default."""
    plain = _plain(kind)
    required = default is MISSING
    if get_origin(plain) is tuple:
        return (list[get_args(plain)[0]], _EMPTY) if required else (list[get_args(plain)[0]] | None, None)  # type: ignore[misc]
    if get_origin(plain) is Literal:
        words = _words(plain)
        shown = default if required or default is None else words(default)
        return words if plain is kind else words | None, _EMPTY if required else shown
    return kind, _EMPTY if required else default


def _plain(kind: Any) -> Any:
    """Return the type that is not None."""
    if get_origin(kind) in {Union, types.UnionType}:
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


@cache
def _words(kind: Any) -> type[StrEnum]:
    """Return the words of a Literal as typer takes them."""
    return StrEnum("Word", {word.replace("-", "_"): word for word in get_args(kind)})  # type: ignore[return-value]


def _request_of(request: type[_Request], given: Mapping[str, Any]) -> _Request:
    """Return the request of what was given; what was not is as the field says."""
    values: dict[str, Any] = {}
    for field, kind, option in _declared(request):
        value = _request_of(kind, given) if option is None else given[field.name]
        if option is not None and get_origin(_plain(kind)) is tuple:
            if not value:
                continue
            value = tuple(value)
        values[field.name] = str(value.value) if isinstance(value, Enum) else value
    return request(**values)


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are named: a list of them need not know their options."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command as a whole."""
        listed = super().get_command(ctx, cmd_name)
        return None if listed is None else _loaded(cast("Any", listed.callback).home, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        del ctx
        limit = formatter.width - 6 - max(map(len, self.commands))
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit)) for name, one in self.commands.items()])


def add_lazily(app: typer.Typer, package: str, listed: Mapping[str, tuple[str, str]]) -> None:
    """Add commands by name: each stands, under its name, in a module of the package, and has one line about it."""
    for name, (module, line) in listed.items():

        def lazily() -> None:
            """Stand for a command that is not imported yet."""

        lazily.home = f"{package}.{module}"  # type: ignore[attr-defined]
        app.command(name, short_help=line)(lazily)


@cache
def _loaded(home: str, name: str) -> Any:
    known = getattr(importlib.import_module(home), name.replace("-", "_"))
    if isinstance(known, typer.Typer):  # a group
        return typer.main.get_command(known)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name)(known)
    return typer.main.get_command(app)


SEVERAL: Final = "may be given several times, or with commas between"
AnswerMode: TypeAlias = Annotated[
    str | None, typer.Option(help="pairwise or pointwise answers.", show_default="pairwise where there are any")
]
BenchmarkDir: TypeAlias = Annotated[Path, typer.Argument(metavar="DIR", help="A benchmark's folder.")]
CutTies: TypeAlias = Annotated[str, typer.Option(help="Pairs tied at the cut: keep or cut them all.")]
Labels: TypeAlias = Annotated[bool, typer.Option("--labels", help="Read every verdict as a label, numbers too.")]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before the first call; without a terminal nothing is asked.")
]
Unparsed: TypeAlias = Annotated[
    str, typer.Option("--failures", help="Unparsed and refused answers: wrong, or missing as failed calls are.")
]
JsonResult: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON; plan and progress go to stderr.")
]
PairStates: TypeAlias = Annotated[str, typer.Option(help="Pairs in these states: accepted, unverified, rejected.")]
OnlyJudges: TypeAlias = Annotated[
    tuple[str, ...], typer.Option("--judge", help="Only this judge; may be given several times.")
]
OnlyRun: TypeAlias = Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")]
WhichJudge: TypeAlias = Annotated[str | None, typer.Option(help="Which judge, when there are several.")]
Exclude: TypeAlias = Annotated[
    tuple[str, ...],
    typer.Option(help="Leave out files or folders, as build or */generated/*; may be given several times."),
]
LabelSet: TypeAlias = Annotated[
    str | None, typer.Option(help="What reports call the label set.", show_default="the file's name")
]
LabelSource: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Where labels come from: human, executable, model:<name>.", show_default="has to be said"),
]
Ledger: TypeAlias = Annotated[
    Path | None, typer.Option(help="Where candidates are counted (digests alone).", show_default="beside the labels")
]
ClusterColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="A column of LOG: its equal values belong together.", show_default="cluster")
]
MinValid: TypeAlias = Annotated[
    int | None, typer.Option(help="Valid samples a verdict needs.", show_default="half of a case's rows")
]
OnlyCriteria: TypeAlias = Annotated[
    tuple[str, ...], typer.Option("--criterion", help="Only this criterion; may be given several times.")
]
ForTaxonomy: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Failure types and behaviours of yours, as YAML.", show_default="the seven and seven of ours"),
]
OnlyPairs: TypeAlias = Annotated[
    Path | None, typer.Option(help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl.")
]
PlanLimit: TypeAlias = Annotated[int | None, typer.Option(help="Refuse a larger plan; upper limit with retries.")]
PanelLogs: TypeAlias = Annotated[
    tuple[Path, ...],
    typer.Argument(
        metavar="LOG...",
        help="Verdict logs whose judge column names humans and candidates, tables with one row an item and annotator, "
        "or JSON of {annotator: {item: label}}; each also as .gz.",
    ),
]
PanelCriterion: TypeAlias = Annotated[str | None, typer.Option(help="The criterion, where a log has several.")]
PanelCluster: TypeAlias = Annotated[
    str | None, typer.Option(help="The column of what items come from (text, author), where several do.")
]
PanelItem: TypeAlias = Annotated[str | None, typer.Option(help="The column of the item.")]
PanelRater: TypeAlias = Annotated[str | None, typer.Option(help="The column of the annotator.")]
PanelColumns: TypeAlias = Annotated[
    tuple[str, ...], typer.Option(help="The column of labels, or 0/1 columns as a,b or globs.")
]
PlotFolder: TypeAlias = Annotated[Path | None, typer.Option(help="A folder for plots (PNG and SVG).")]
_Name = TypeVar("_Name", bound=str)


def one_of(kind: str, name: str, known: Sequence[_Name]) -> _Name:
    """Return the one of the `known` names that was given.

    Raises:
        UnknownNameError: it is none of them; the nearest is offered.

    """
    for candidate in known:
        if candidate == name:
            return candidate
    raise UnknownNameError(kind, name, known)


def names_in(given: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, of an option that is repeated, takes commas between names, or both."""
    return tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",") if name.strip()))


Scale: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The ends of scores, as 1:10, where they are weighed sequentially.", show_default=False),
]
StepSummary: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--step-summary/--no-step-summary", help="Append the report to $GITHUB_STEP_SUMMARY where that is set."
    ),
]


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """The gates of a command line; None leaves a choice to the configuration."""

    fail_under: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Gate METRIC OP VALUE, as 'pass_rate>=0.9': exit code 1 unless the worse end of the 95 % interval "
            "clears it. Metrics: pass_rate, rate(LABEL), accuracy, coverage, abstention, not_graded, consistency, "
            "agreement, mean_score, position_flip, flip_rate(PERTURBATION); of a calibration precision, recall, "
            "specificity, balanced_accuracy, kappa, lift. May be given several times.",
            show_default=False,
        ),
    ] = ()
    max_abstention: Annotated[
        float | None, typer.Option(help="Gate: abstention<=VALUE, a share of the cases.", show_default=False)
    ] = None
    min_consistency: Annotated[
        float | None, typer.Option(help="Gate: consistency>=VALUE, the mean over cases.", show_default=False)
    ] = None
    require_calibration: Annotated[
        bool | None,
        typer.Option(
            "--require-calibration/--no-require-calibration",
            help="Gate: a calibration on people's labels holds for every judge and criterion.",
            show_default=False,
        ),
    ] = None
    point_estimates: Annotated[
        bool | None,
        typer.Option(
            "--point-estimates/--no-point-estimates",
            help="Gates look at the measured value instead of the end of its interval.",
            show_default=False,
        ),
    ] = None
    sequential: Annotated[
        bool | None,
        typer.Option(
            "--sequential/--no-sequential",
            help="Gates that hold however often one looks: evidence instead of intervals of a fixed number of cases.",
            show_default=False,
        ),
    ] = None
    about: Annotated[
        Literal["population", "suite"] | None,
        typer.Option(
            help="What sequential gates are about: the population the cases are from, or this suite, exact once "
            "all is in.",
            show_default="population",
        ),
    ] = None
    scale: Scale = None

    @property
    def given(self) -> bool:
        """Whether any option is."""
        return self != GateOptions()


def ends_of(scale: str | None) -> tuple[float, float] | None:
    """Return the ends of a scale.

    Raises:
        UsageError: they are not two numbers.

    """
    if scale is None:
        return None
    try:
        low, high = map(float, scale.split(":"))
    except ValueError:
        raise UsageError(f"--scale {scale!r:.60} has no two ends: write LOW:HIGH, as 1:10.") from None
    return low, high


OK: Final = 0
GATE_FAILED: Final = 1
USAGE: Final = 2
NOT_GRADED: Final = 3
BATCHES_OPEN: Final = 4
INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141
TERMINATED: Final = 143


class Terminated(BaseException):
    """SIGTERM came; no KeyboardInterrupt, which the library behind the command turns into an exit code of its own."""


def stop_word(stopped: BaseException | None) -> Literal["terminated", "interrupted"]:
    """Return what a command says it was, by what stopped it; None: something else did, and said so."""
    return "terminated" if isinstance(stopped, Terminated) else "interrupted"


def stop_code(stopped: BaseException | None) -> int:
    """Return the exit code of a command that was stopped so."""
    return TERMINATED if isinstance(stopped, Terminated) else INTERRUPTED


@contextmanager
def terminable() -> Iterator[None]:
    """Raise `Terminated` when SIGTERM comes, once, and put back what handled it before.

    A command that started with SIGTERM ignored goes on ignoring it; outside the main thread nothing changes.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def finishing(budget: Budget | None) -> Iterator[None]:
    """Let the first SIGINT begin nothing more, so that the calls in flight, which are paid for, are kept.

    The next one interrupts, as it would without this.
    """
    main = threading.current_thread() is threading.main_thread()
    if budget is None or not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def finish(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        budget.end("interrupted")
        typer.echo("finishing the calls in flight (Ctrl-C again drops them)", err=True)

    signal.signal(signal.SIGINT, finish)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Stop:
    """What ended some asking early; None: nothing did."""

    by: BaseException | None = None


@contextmanager
def stoppable(budget: Budget | None, *errors: type[Exception]) -> Iterator[Stop]:
    """Ask within this: an interrupt, a termination or one of `errors` ends it, and is noted rather than raised.

    What was answered until then is kept and written down by whoever asked. See `finishing` for a first interrupt.
    """
    stop = Stop()
    noted: tuple[type[BaseException], ...] = (KeyboardInterrupt, Terminated, *errors)
    try:
        with finishing(budget):
            yield stop
    except noted as error:
        stop.by = error
    if stop.by is None and budget is not None and budget.ended:
        stop.by = KeyboardInterrupt()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore SIGINT and SIGTERM while what was answered is written down; outside the main thread nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # what was answered is being written down: a second one must not cut it off
    raise Terminated
