"""The plugin's settings and markers, checked before anything is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.gates.gate import Gates
from judgeharness_integrations.judging.config.schema import (
    CalibrationConfig,
    Config,
    ExecutionConfig,
    GatesConfig,
    HarnessConfig,
    first_problem,
    load_config,
    read_document,
)
from judgeharness_integrations.verdictlog.row import finite_number

from .options import option

if TYPE_CHECKING:
    import pytest

BY_PRESET: Final = ("perturbations", "repetitions", "aggregation_rule")  # what a preset says


class _Unfinished(HarnessConfig):
    """Keys of a design; what is missing is told by the case and its judge, so the check is replaced by none."""

    def _complete(self) -> _Unfinished:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        return self


class _Marker(_Unfinished):
    """What `@pytest.mark.judgeharness` takes: a design, and what a check does with its result."""

    calibration: str | None = None
    certificate: str | None = None
    passport: str | None = None
    on_abstain: Literal["fail", "skip", "pass"] | None = None
    max_calls: int | None = Field(default=None, ge=1)
    min_consistency: float | None = Field(default=None, ge=0, le=1)


class _Suite(BaseModel):
    """A configuration file without judges and cases: tests bring them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    harness: _Unfinished = _Unfinished()
    execution: ExecutionConfig = ExecutionConfig()
    calibration: CalibrationConfig | None = None
    certificate: str | None = None
    passport: str | None = None
    gates: GatesConfig = GatesConfig()
    keep: Literal["text", "hash", "none"] = "text"


def read_suite(path: Path | None) -> tuple[Config, dict[str, Any], Gates]:
    """Return the configuration in a file (of defaults without one), the keys of its design, and its gates.

    Raises:
        UsageError: the file cannot be read or used.

    """
    if path is None:
        return _config(_Suite(), Path()), {}, Gates()
    data = read_document(path)
    if "judges" in data:
        whole = load_config(path)
        return whole, _keys(whole.harness), whole.gates.asked()
    try:
        suite = _Suite.model_validate(data)
    except ValidationError as error:
        raise _problem(error, str(path), _Suite) from None
    return _config(suite, path), _keys(suite.harness), suite.gates.asked()


def _config(suite: _Suite, path: Path) -> Config:
    keys: dict[str, Any] = {name: getattr(suite, name) for name in _Suite.model_fields}
    return Config.model_construct(judges=[], **keys).placed_at(path)


def _keys(harness: HarnessConfig) -> dict[str, Any]:
    return harness.model_dump(exclude_none=True)


def read_marker(keys: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Return a marker's keys, checked; tuples are lists and paths are texts there.

    Raises:
        UsageError: a key is not known, or holds a wrong value.

    """
    written = {name: _plain(value) for name, value in keys.items()}
    try:
        return _Marker.model_validate(written).model_dump(exclude_none=True)
    except ValidationError as error:
        raise _problem(error, where, _Marker) from None


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return list(value) if isinstance(value, tuple) else value


def layered(far: Mapping[str, Any], near: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys with nearer ones over them; a preset or a shape replaces what a farther design spelled out."""
    renewed = "preset" in near or "shape" in near
    return {name: value for name, value in far.items() if not (renewed and name in BY_PRESET)} | dict(near)


def finished_harness(keys: Mapping[str, Any], *, where: str) -> HarnessConfig:
    """Return the design of keys that are complete.

    Raises:
        UsageError: they are not, or one holds a wrong value.

    """
    try:
        return HarnessConfig.model_validate(dict(keys))
    except ValidationError as error:
        raise _problem(error, where, HarnessConfig) from None


def _problem(error: ValidationError, where: str, schema: type[BaseModel]) -> UsageError:
    """Return the first problem, which always says where it is: a suite has many places."""
    problem = first_problem(error.errors(include_url=False), where, schema)
    if not str(problem).startswith(where):
        problem.args = (f"{where}: {problem}",)
    return problem


OnAbstention: TypeAlias = Literal["fail", "skip", "pass"]
SUFFIXES = (".html", ".htm", ".md", ".xml", ".csv", ".json", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of a session.

    `design` holds keys of `harness:`, those of the file first and then those of options, which win.
    """

    file: Config
    design: Mapping[str, Any]
    gates: Gates
    outputs: tuple[Path, ...]
    max_calls: int | None
    on_abstain: OnAbstention

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Read the options of a session.

        Raises:
            UsageError: one of them cannot be used.

        """
        file, harness, gates = read_suite(_path(config, "config"))
        given = {name: option(config, name) for name in ("preset", "shape")}
        return cls(
            file=file,
            design=layered(harness, {name: value for name, value in given.items() if value is not None}),
            gates=gates.with_options(
                fail_under=option(config, "fail_under") or (),
                max_abstention=_number(config, "max_abstention"),
                min_consistency=_number(config, "min_consistency"),
                require_calibration=option(config, "require_calibration"),
            ),
            outputs=tuple(_outputs(config)),
            max_calls=_calls(config),
            on_abstain=cast("OnAbstention", chosen("judgeharness_on_abstain", option(config, "on_abstain") or "fail")),
        )


def chosen(name: str, value: str) -> str:
    """Return what an abstention does to a check, as it was given.

    Raises:
        UnknownNameError: it is none of the three.

    """
    if value not in get_args(OnAbstention):
        raise UnknownNameError(name, value, get_args(OnAbstention))
    return value


def _path(config: pytest.Config, name: str) -> Path | None:
    """Return the path an option names: from the folder pytest was called in, or that of its configuration file."""
    written = option(config, name)
    return None if written is None else _placed(config, name, str(written))


def _placed(config: pytest.Config, name: str, written: str) -> Path:
    by_command = config.getoption(f"judgeharness_{name}", default=None) is not None
    return (config.invocation_params.dir if by_command else config.rootpath) / Path(written).expanduser()


def _outputs(config: pytest.Config) -> list[Path]:
    paths = [_placed(config, "out", written) for written in option(config, "out") or ()]
    for path in paths:
        if path.suffix and path.suffix.lower() not in SUFFIXES and not path.is_dir():
            raise UnknownNameError("ending of judgeharness_out", path.suffix, SUFFIXES)
    if (page := _path(config, "html")) is not None:
        if page.suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"judgeharness_html is a file that ends in .html, not {page.name!r}.")
        paths.append(page)
    return paths


def _number(config: pytest.Config, name: str) -> float | None:
    written = option(config, name)
    value = finite_number(written)
    if value is None and written is not None:
        raise ConfigError(f"judgeharness_{name} is a share from 0 to 1, not {written!r}.")
    return value


def _calls(config: pytest.Config) -> int | None:
    written = option(config, "max_calls")
    if written is not None and not (str(written).isdecimal() and int(written) > 0):
        raise ConfigError(f"judgeharness_max_calls is a whole number of at least 1, not {written!r}.")
    return None if written is None else int(written)
