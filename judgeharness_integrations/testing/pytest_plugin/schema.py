"""What may stand in the file of `judgeharness_config` and in a marker, with the messages of configuration files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.config.problems import first_problem
from judgeharness_integrations.config.reading import load_config, read_document
from judgeharness_integrations.config.schema import (
    CalibrationConfig,
    Config,
    ExecutionConfig,
    GatesConfig,
    HarnessConfig,
)
from judgeharness_integrations.gates.gate import Gates

__all__ = ["BY_PRESET", "finished_harness", "layered", "read_marker", "read_suite"]

BY_PRESET: Final = ("perturbations", "repetitions", "aggregation_rule")  # what a preset says


class _Unfinished(HarnessConfig):
    """Keys of a design; what is missing is told by the case and its judge, so the check is replaced by none."""

    def _complete(self) -> _Unfinished:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        return self


class _Marker(_Unfinished):
    """What `@pytest.mark.judgeharness` takes: a design, and what a check does with its result."""

    calibration: str | None = None
    certificate: str | None = None
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
