"""What a configuration file may hold; every complaint is one sentence with the key it is about."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import rule
from judgeharness_integrations.analysis.certifying.cascade import PEOPLE
from judgeharness_integrations.analysis.gates.gate import Gate, Gates

from ..calibrating import unsaid_source

if TYPE_CHECKING:
    from os import PathLike

    from pydantic_core import ErrorDetails


_FEWEST = 2  # judges that decide together
Tier: TypeAlias = Literal["standard", "flex"]


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
    tier: Tier | None = None

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

    preset: Literal["single", "quick", "cheap", "standard", "thorough"] | None = None
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


class BatchConfig(_Section):
    """The batches of `engine: batch`: seconds between looks at open ones, and requests a batch at most."""

    poll_s: float | None = Field(default=None, gt=0)
    max_requests: int | None = Field(default=None, ge=1)


class ExecutionConfig(_Section):
    """How judges are asked; what is left out takes the defaults of `JudgeHarness`."""

    max_concurrency: int | None = None
    timeout_s: float | None = None
    max_attempts: int | None = None
    max_calls: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    prime_cache: bool | None = None
    tier: Tier = "standard"
    budget: BudgetConfig = BudgetConfig()
    prices: dict[str, PriceConfig] = {}
    prices_from: str | None = Field(default=None, min_length=1)
    engine: Literal["local", "ray", "batch"] = "local"
    ray: RayConfig = RayConfig()
    batch: BatchConfig = BatchConfig()

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
    """What a run must reach, or its exit code is 1: see `judgeharness_integrations.analysis.gates.Gates`."""

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
    """A whole run: which judges, on which cases, measured how.

    `cascade` names the judges in the order they are asked, each about what those before it leave, and last `people`,
    whom a queue is written for; `certificate` is its file then. `panel` names judges that vote by `panel_rule`.
    """

    judges: list[JudgeConfig] = Field(min_length=1)
    cases: str | None = None
    harness: HarnessConfig
    execution: ExecutionConfig = ExecutionConfig()
    calibration: CalibrationConfig | None = None
    certificate: str | None = Field(default=None, min_length=1)
    cascade: list[str] | None = None
    panel: list[str] | None = None
    panel_rule: str = "majority | median"
    passport: str | None = Field(default=None, min_length=1)
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

    @model_validator(mode="after")
    def _judges_together(self) -> Config:
        if self.cascade is not None and self.panel is not None:
            raise ValueError("give cascade or panel, not both: not every judge of a cascade is asked about every case")
        if self.cascade is not None:
            if self.certificate is None:
                raise ValueError(
                    "a cascade needs certificates: certify its judges with judgeharness certify LOG --cascade "
                    "CHEAP,STRONG --out cascade.json, and name that file as certificate"
                )
            if self.passport is not None:
                raise ValueError("a cascade decides by its certificates: leave passport out")
            self._check_members("cascade", self.asked_in_turn, every=True)
        if self.panel is not None:
            self._check_members("panel", self.panel, every=False)
            _check_panel_rule(self.panel_rule)
        return self

    @property
    def asked_in_turn(self) -> list[str]:
        """The judges of the cascade, in order, without the people after them; none without a cascade."""
        given = self.cascade or []
        return given[:-1] if given[-1:] == [PEOPLE] else given

    def _check_members(self, key: str, members: list[str], *, every: bool) -> None:
        known = [judge.name for judge in self.judges]
        if len(members) < _FEWEST or len(set(members)) < len(members):
            raise ValueError(f"{key} names two judges or more, each of them once")
        if strange := next((name for name in members if name not in known), None):
            raise ValueError(f"{key} names {strange!r}, and the judges are {', '.join(known)}")
        if every and (left := [name for name in known if name not in members]):
            raise ValueError(f"{key} leaves out the judge {left[0]!r}: name it there, or take it out of judges")

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


def _check_panel_rule(name: str) -> None:
    """Raise a ValueError for a rule that no votes of members can be folded with."""
    try:
        chosen = rule(name)
    except UsageError as error:
        raise ValueError(f"panel_rule: {str(error).rstrip('.')}") from None
    if chosen.both_orders:
        raise ValueError(f"panel_rule: {name} compares two orders, and a member has one vote: use one like majority")


_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
}
_IN_CODE = {
    "retrying": "is a Python object, which no file holds: give JudgeHarness(retrying=...) in code, or max_attempts here"
}
_CLASSES = {"str": "a text"}
_LONGEST_VALUE = 80


def dotted(place: Sequence[str | int]) -> str:
    """Return `judges[0].name` for ("judges", 0, "name")."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def kind(value: object) -> str:
    """Return what a value is, without showing it."""
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", int: "a number"}
    return "nothing" if value is None else names.get(type(value), f"a {type(value).__name__}")


def first_problem(problems: Sequence[ErrorDetails], source: str, schema: type[BaseModel] = Config) -> UsageError:
    """Return the error of the first problem, keys nobody knows before what follows from them."""
    problem = min(problems, key=lambda one: one["type"] not in ("extra_forbidden", "invalid_key"))
    if problem["type"] != "extra_forbidden":
        return ConfigError(f"{source}: {_sentence(problem)}.")
    *parent, key = problem["loc"]
    dot = f"{dotted(parent)}." if parent else ""
    if key in _IN_CODE:
        return ConfigError(f"{source}: {dot}{key} {_IN_CODE[key]}.")
    return UnknownNameError("key", f"{dot}{key}", [dot + name for name in _keys_at(schema, parent)])


def at_line(problem: UsageError, where: str) -> UsageError:
    """Return a problem with its file and line, which that of a key nobody knows leaves out."""
    text = str(problem)
    return problem if text.startswith(where) else UsageError(f"{where}: {text}")


def _sentence(problem: ErrorDetails) -> str:
    kind_of_problem, place = problem["type"], problem["loc"]
    where = dotted(place)
    if kind_of_problem == "missing":
        return f"key {where!r} is missing"
    if kind_of_problem == "value_error":
        return ": ".join(filter(None, (where, problem["msg"].removeprefix("Value error, "))))
    if kind_of_problem == "invalid_key" or place[-1:] == ("[key]",):
        *parent, key = place if kind_of_problem == "invalid_key" else place[:-1]
        return f"key {key!r} of {dotted(parent) or 'the file'} must be a text"
    if (expected := _expected(kind_of_problem, problem.get("ctx", {}))) is None:
        return f"{where} is not valid: {problem['msg']}"  # a kind of problem this schema does not have
    shown = "" if where.endswith("_options") else f", not {_value_text(problem['input'])}"  # a key may have been given
    return f"{where} must be {expected}{shown}"


def _expected(kind_of_problem: str, context: Mapping[str, Any]) -> str | None:
    if kind_of_problem == "literal_error":
        return str(context["expected"])
    if kind_of_problem in ("too_short", "string_too_short"):
        what = "a list of at least {} entry" if kind_of_problem == "too_short" else "a text of at least {} character"
        return what.format(context["min_length"])
    if kind_of_problem in ("greater_than_equal", "greater_than"):
        return f"a number of at least {context['ge']:g}" if "ge" in context else f"a number above {context['gt']:g}"
    if kind_of_problem == "is_instance_of":
        return _CLASSES.get(context["class"])
    return _KINDS.get(kind_of_problem)


def _value_text(value: object) -> str:
    if value is None or isinstance(value, (dict, list)):
        return "an empty list" if value == [] else kind(value)
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


def _keys_at(section: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys of the section at a place of the schema."""
    inside: Any = section
    for part in place:
        inside = _inside(inside, part)
    return list(_section_of(inside).model_fields)


def _inside(annotation: Any, part: str | int) -> Any:
    """Return the annotation of what stands under a key: of a section's field, of any key of a mapping, of an entry."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    return _section_of(annotation).model_fields[part].annotation if isinstance(part, str) else annotation


def _section_of(annotation: Any) -> type[BaseModel]:
    """Return the section inside `X`, `X | None` or `list[X]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = next(part for part in get_args(annotation) if part is not type(None))
    return _section_of(inner)


_FORMATS = ".yaml, .yml, .toml or .json"


def load_config(path: str | PathLike[str]) -> Config:
    """Read a configuration file, its format told by its ending. Environment variables are not expanded.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place (`harness.repetitions`).
        ConfigError: the file cannot be read, or a key is missing, repeated or holds a wrong value.

    """
    path = Path(path)
    data = read_document(path)
    try:
        return Config.model_validate(data).placed_at(path)
    except ValidationError as error:
        raise first_problem(error.errors(include_url=False), str(path)) from None


def read_document(path: Path) -> dict[Any, Any]:
    """Return the keys of a YAML, TOML or JSON file, its format told by its ending; what they hold is not checked.

    Raises:
        ConfigError: the file cannot be read, or holds something else than keys, one of them twice, or no finite number.

    """
    data = _parse(path)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: a configuration is a mapping of keys, not {kind(data)}.")
    _refuse_nan(data, str(path))
    return data


def _parse(path: Path) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".yaml": _yaml, ".yml": _yaml, ".toml": tomllib.loads, ".json": _json}
    if path.suffix.lower() not in readers:
        raise ConfigError(f"{path}: a configuration is {_FORMATS}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start}).") from error
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror or error}): give a configuration that is there."
        ) from error
    try:
        return readers[path.suffix.lower()](text)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not {path.suffix[1:].upper()} ({error}).") from error


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ConfigError(f"key {key!r} stands twice.")
        mapping[key] = value
    return mapping


def _yaml(text: str) -> Any:
    return load_yaml(text, distinct=_distinct)


def _refuse_nan(value: object, source: str, place: tuple[str | int, ...] = ()) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{source}: {dotted(place)} must be a finite number, not {value}.")
    inside: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, (list, tuple)):
        inside = enumerate(value)
    for key, part in inside:
        _refuse_nan(part, source, (*place, key))
