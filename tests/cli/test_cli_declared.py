"""A command is the class of its request: every option is a field of it, told once."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from judgeharness_integrations.cli._command import command
from judgeharness_integrations.cli.app import app


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A group of options."""

    most: Annotated[int | None, typer.Option(help="At most.")] = None
    tries: int = 4


@dataclass(frozen=True, kw_only=True)
class Request:
    """Do nothing."""

    file: Annotated[Path, typer.Argument(help="A file.")]
    names: Annotated[tuple[str, ...], typer.Option("--name", help="Names.")] = ("all",)
    some: Annotated[tuple[str, ...] | None, typer.Option(help="Some.")] = None
    kind: Annotated[Literal["plain", "not-graded"], typer.Option(help="A kind.")] = "plain"
    other: Annotated[Literal["a", "b"] | None, typer.Option(help="Another.")] = None
    limits: Limits = field(default_factory=Limits)


asked: list[Request] = []


def keep(request: Request) -> int | None:
    """Keep a request."""
    asked.append(request)
    return 1 if request.kind == "not-graded" else None


def invoked(*arguments: str) -> Any:
    asked.clear()
    small = typer.Typer(rich_markup_mode=None)
    small.command()(command(Request, f"{__name__}:keep"))
    return CliRunner().invoke(small, [*arguments])


def test_what_is_not_given_is_as_the_field_says() -> None:
    assert invoked("x").exit_code == 0
    assert asked == [Request(file=Path("x"))]


def test_what_is_given_several_times_is_a_tuple() -> None:
    invoked("x", "--name", "a", "--name", "b", "--some", "c")
    assert asked == [Request(file=Path("x"), names=("a", "b"), some=("c",))]


def test_a_word_is_plain_text() -> None:
    invoked("x", "--kind", "not-graded", "--other", "b")
    assert (type(asked[0].kind), asked[0].kind, asked[0].other) == (str, "not-graded", "b")


def test_a_word_that_is_none_of_them_is_wrong_usage() -> None:
    assert invoked("x", "--kind", "odd").exit_code == 2
    assert asked == []


def test_a_group_of_options_is_made_too() -> None:
    invoked("x", "--most", "3")
    assert asked[0].limits == Limits(most=3)


def test_a_field_without_an_option_cannot_be_given() -> None:
    assert invoked("x", "--tries", "3").exit_code == 2


def test_the_exit_code_is_what_the_work_returns() -> None:
    assert invoked("x", "--kind", "not-graded").exit_code == 1


def test_the_docstring_is_the_help() -> None:
    assert "Do nothing." in invoked("--help").stdout


def commands() -> Iterator[tuple[str, Any]]:
    yield from below("", typer.main.get_command(app))


def below(path: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name in group.commands:
        member = group.get_command(None, name)
        if hasattr(member, "commands"):
            yield from below(f"{path}{name} ", member)
        else:
            yield f"{path}{name}", member.callback


@pytest.mark.parametrize(("name", "callback"), [*commands()])
def test_every_command_does_what_takes_its_request(name: str, callback: Any) -> None:
    request, work = callback.declared
    does = pkgutil.resolve_name(work) if isinstance(work, str) else work
    [parameter] = inspect.signature(does).parameters.values()
    assert parameter.annotation == request.__name__, name


@pytest.mark.slow
def test_the_list_of_commands_imports_none_of_them() -> None:
    program = (
        "import sys; from judgeharness_integrations.cli import main; main(['--help']); "
        "sys.exit('judgeharness_integrations.cli._judge_options' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)  # noqa: S603 - our own command
    assert done.returncode == 0
