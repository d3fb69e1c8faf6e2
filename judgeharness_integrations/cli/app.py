"""The command line: its commands, and every error as one sentence with an exit code."""

from __future__ import annotations

import atexit
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, NoReturn

import typer

from judgeharness_integrations._errors import ClusterError, JudgeDownError, JudgeHarnessError
from judgeharness_integrations._version import __version__

from ._command import NOT_GRADED, OK, PIPE_CLOSED, USAGE, LazyGroup, Terminated, add_lazily, stop_code, stop_word

_LONGEST_SENTENCE = 2000
_command = cache(typer.main.get_command)  # thirty commands take longer to build than one of them to run

app = typer.Typer(
    name="judgeharness",
    cls=LazyGroup,
    help="Asks an LLM judge again, and measures when its verdict holds and how often it is right.",
    epilog="Exit codes: 0 fine; 1 a gate or a check failed, a judge has drifted, or a self-test missed; 2 wrong usage "
    "or configuration; 3 a judge or a cluster is down, the budget is spent, or cases are not graded (3 wins where "
    "1 holds, too); 4 batches are open or were cancelled; 130 interrupted; 143 terminated.",
    rich_markup_mode=None,
    # a traceback with local variables could print keys
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)
add_lazily(
    app,
    "judgeharness_integrations.cli",
    {
        "demo": ("demo", "See what one judge call hides, offline."),
        "init": ("init", "Write a first configuration that runs."),
        "run": ("_run_options", "Measure judges on cases."),
        "runs": ("log", "List runs: progress, results, cost."),
        "log": ("log", "Move verdicts into or out of a database."),
        "replay": ("_run_options", "Apply another rule to recorded verdicts."),
        "report": ("_run_options", "May I rely on this judge? Page, Markdown, ..."),
        "compare": ("_run_options", "Did it change between two runs?"),
        "label": ("label", "Let people label cases, blind to judges."),
        "calibrate": ("_label_options", "How often is it right? Measure drift, too."),
        "certify": ("_label_options", "Which decisions need no second look?"),
        "corrected-rate": ("_label_options", "What is the true pass rate?"),
        "plan": ("_label_options", "How many cases and labels do I need?"),
        "survey": ("demo", "How do many recorded judges do together?"),
        "rank": ("_judge_options", "Which judge should I buy? A leaderboard."),
        "agreement": ("_judge_options", "May it replace my annotators? Kappa, too."),
        "benchmark": ("benchmark", "Make test pairs from your documents."),
        "audit": ("_judge_options", "Open a page on which people label."),
        "scan": ("_label_options", "Find single-call judges in your code."),
        "migrate": ("_label_options", "Wrap the judges in your code."),
        "check": ("_judge_options", "Is my judge any good? Attacks included."),
        "passport": ("_judge_options", "Are a judge's probabilities any good?"),
        "selftest": ("_label_options", "Test the statistics on simulated judges."),
        "adapters": ("_label_options", "List frameworks, and whether they are ready."),
    },
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - the signature typer calls
    if wanted:
        typer.echo(f"judgeharness {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; errors of ours become one sentence on standard error.

    Without `arguments` it is this process's own command, which it ends itself where Ray would crash it at its end.
    """
    code = _run(arguments)
    if arguments is None and _is_left_with_a_dead_ray():
        _leave(code)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character shows its code
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        code = _command(app).main(args=given or ["--help"], prog_name="judgeharness", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        return _exited(error)
    except (KeyboardInterrupt, typer.Abort, Terminated) as error:
        return _fail(f"{stop_word(error)}.", stop_code(error))
    except JudgeHarnessError as error:
        down = isinstance(error, (ClusterError, JudgeDownError))
        return _fail(str(error), NOT_GRADED if down else USAGE)
    except OSError as error:
        return _fail(f"{error.filename or 'file'}: {error.strerror or error}.", USAGE)
    except Exception as error:
        if not hasattr(error, "format_message"):  # the class of usage errors moved between versions of typer
            raise
        return _fail(_usage(error), USAGE)
    return code if isinstance(code, int) else 0


def _is_left_with_a_dead_ray() -> bool:
    heads = sys.modules.get("judgeharness_integrations.judging.execution.ray_engine.cluster")
    return heads is not None and heads.head.abandoned


def _leave(code: int) -> NoReturn:
    """End the process as the interpreter does, but for what Ray does in it."""
    atexit._run_exitfuncs()  # noqa: SLF001 - what others wanted done at the end
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _usage(error: Exception) -> str:
    message = str(error.format_message()).rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "judgeharness"
    return f"{message} (see {path} --help)." if message else f"see {path} --help."


def _fail(sentence: str, code: int) -> int:
    from judgeharness_integrations.verdictlog.encoding import safe_text  # noqa: PLC0415 - only failures pay for it

    typer.echo(f"error: {safe_text(sentence, _LONGEST_SENTENCE)}", err=True)
    return code


def _exited(error: BrokenPipeError | SystemExit) -> int:
    """Return the exit code where typer exits by itself: for a closed pipe, and when it has completed a line."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, OSError):
        return error.code if isinstance(error.code, int) else OK
    return _closed_pipe()


def _closed_pipe() -> int:
    """Stay quiet when whoever reads our output has gone; the interpreter flushes once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED
