"""What the plugin's options stand for, checked before anything is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from judgeharness_integrations._errors import ConfigError, UnknownNameError
from judgeharness_integrations.gates.gate import Gates
from judgeharness_integrations.testing.pytest_plugin.options import option
from judgeharness_integrations.testing.pytest_plugin.schema import layered, read_suite

if TYPE_CHECKING:
    import pytest

    from judgeharness_integrations.config.schema import Config

__all__ = ["SUFFIXES", "OnAbstention", "Settings", "chosen"]

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
    try:
        value = None if written is None else float(written)
    except ValueError:
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise ConfigError(f"judgeharness_{name} is a share from 0 to 1, not {written!r}.")
    return value


def _calls(config: pytest.Config) -> int | None:
    written = option(config, "max_calls")
    if written is not None and not (str(written).isdecimal() and int(written) > 0):
        raise ConfigError(f"judgeharness_max_calls is a whole number of at least 1, not {written!r}.")
    return None if written is None else int(written)
