"""The plugin's options: `judgeharness_...` in pytest's configuration file, `--judgeharness-...` on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True)
class Option:
    """One option; `kind` is how it is written, `shown` what stands for its value in the help."""

    name: str
    kind: Literal["string", "linelist", "bool"]
    shown: str
    help: str


OPTIONS = (
    Option(
        "preset", "string", "NAME", "Design of every evaluation: single, quick, cheap, standard (default), thorough."
    ),
    Option(
        "shape", "string", "SHAPE", "What judges answer: pairwise, labels, scores or any; else judge and case tell it."
    ),
    Option(
        "config",
        "string",
        "FILE",
        "YAML, TOML or JSON file, also of a run: harness, execution, calibration, certificate, passport, keep, gates "
        "are used.",
    ),
    Option(
        "out",
        "linelist",
        "PATH",
        "Write the report: .html, .md, .xml (JUnit), .csv, .json, .jsonl, or a folder for all of them. Repeatable.",
    ),
    Option("html", "string", "FILE", "Write the report as one HTML page."),
    Option("max_calls", "string", "N", "Attempts at judge calls the session may make, all workers together."),
    Option("fail_under", "linelist", "GATE", "Fail the session unless a gate holds, as 'pass_rate>=0.9'. Repeatable."),
    Option("max_abstention", "string", "SHARE", "Fail the session where more cases may be abstained on, as 0.1."),
    Option("min_consistency", "string", "SHARE", "Fail the session where the mean consistency may be lower, as 0.8."),
    Option("require_calibration", "bool", "", "Fail the session unless a calibration holds for every judge."),
    Option("on_abstain", "string", "WHAT", "What an abstention does to a check: fail (default), skip or pass."),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare every option to pytest."""
    group = parser.getgroup("judgeharness", "LLM judges, measured (judgeharness)")
    for entry in OPTIONS:
        parser.addini(f"judgeharness_{entry.name}", entry.help, type=entry.kind, default=None)
        flag, dest = f"--judgeharness-{entry.name.replace('_', '-')}", f"judgeharness_{entry.name}"
        if entry.kind == "bool":
            group.addoption(flag, dest=dest, action="store_const", const=True, default=None, help=entry.help)
        else:
            action = "append" if entry.kind == "linelist" else "store"
            group.addoption(flag, dest=dest, action=action, metavar=entry.shown, default=None, help=entry.help)


def option(config: pytest.Config, name: str) -> Any:
    """Return an option as it was written, None where it was not; the command line wins."""
    given = config.getoption(f"judgeharness_{name}", default=None)
    if given is not None:
        return given
    return config.getini(f"judgeharness_{name}") or None
