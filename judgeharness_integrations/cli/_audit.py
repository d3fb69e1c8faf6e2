"""What `judgeharness audit` does: serves the page, shares pairs out, or says how far annotators are."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.cli._stopping import terminable
from judgeharness_integrations.reporting.plain import safe_text

if TYPE_CHECKING:
    from judgeharness_integrations.audit.plaincases import PlainTask
    from judgeharness_integrations.audit.runcases import Only
    from judgeharness_integrations.audit.source import AuditSource

__all__ = ["Request", "audit_place"]

_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of the command; None is what was not given."""

    where: Path
    annotator: str | None = None
    order: str | None = None
    port: int = 0
    browser: bool = True
    assign: str | None = None
    n: int | None = None
    overlap: float | None = None
    suspicious: int | None = None
    overwrite: bool = False
    status: bool = False
    only: str | None = None
    cases: Path | None = None
    criteria: tuple[str, ...] = ()
    answers: str | None = None
    seed: int | None = None
    as_json: bool = False

    @property
    def who(self) -> str:
        """The annotator, as the files are named.

        Raises:
            UsageError: nobody was named, or no file can be named so.

        """
        from judgeharness_integrations.audit.labels import check_annotator  # noqa: PLC0415 - brings pydantic

        if self.annotator is None:
            raise UsageError("say who labels: give --annotator NAME.")
        return check_annotator(self.annotator)


def audit_place(request: Request) -> None:
    """Do what was asked of a folder or file.

    Raises:
        UsageError: nothing that can be labelled is there, or options do not fit what is.

    """
    folder = BenchmarkFolder(request.where)
    what = _what(request.where)
    _check(request, what)
    if request.assign is not None:
        from judgeharness_integrations.cli._audit_assigning import assign_pairs  # noqa: PLC0415 - brings numpy

        assign_pairs(folder, request)
    elif request.status:
        from judgeharness_integrations.cli._audit_status import print_status  # noqa: PLC0415 - brings scipy

        print_status(folder, as_json=request.as_json)
    elif what == "benchmark":
        _serve_pairs(folder, request)
    else:
        _serve_cases(request, what)


_What = Literal["benchmark", "run", "cases"]


def _what(where: Path) -> _What:
    from judgeharness_integrations.audit.runcases import is_run  # noqa: PLC0415 - brings pydantic

    if where.is_dir():
        if BenchmarkFolder(where).exists:
            return "benchmark"
        if is_run(where):
            return "run"
    elif where.is_file():
        return "cases"
    missing = "holds neither a benchmark nor a run" if where.is_dir() else "does not exist"
    raise UsageError(
        f"{where} {missing}: give the folder of judgeharness benchmark generate, that of judgeharness run, or a case "
        "file (.csv or .jsonl)."
    )


def _check(request: Request, what: _What) -> None:
    """Refuse options that would do nothing."""
    assigning: dict[str, object] = {
        "--n": request.n,
        "--overlap": request.overlap,
        "--suspicious": request.suspicious,
        "--overwrite": request.overwrite or None,
    }
    of_pairs: dict[str, object] = {
        "--assign": request.assign,
        "--status": request.status or None,
        "--order": request.order,
    }
    of_cases: dict[str, object] = {
        "--only": request.only,
        "--cases": request.cases,
        "--criterion": request.criteria or None,
        "--answers": request.answers,
    }
    if what == "benchmark":
        _refuse(of_cases, f"with cases, and {request.where} is a benchmark")
    else:
        _refuse(of_pairs | assigning, f"with pairs, and {request.where} is no benchmark")
    if what == "cases":
        _refuse({"--only": request.only, "--cases": request.cases}, f"with a run, and {request.where} is a case file")
    if request.assign is None:
        seed = {"--seed": request.seed} if what == "benchmark" else {}  # it draws the order of cases as well
        _refuse(assigning | seed, "with --assign")
    elif request.status:
        raise UsageError("give --assign, which shares pairs out, or --status, which says how far annotators are.")
    if request.assign is not None or request.status:
        _refuse({"--annotator": request.annotator, "--order": request.order}, "with the page, which is not served")
    elif request.as_json:
        raise UsageError("--json goes with --assign or --status: the page prints its address alone.")


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuse options that were given; `why` says with what they go."""
    if given := [name for name, value in options.items() if value is not None]:
        goes, them = ("goes", "it") if len(given) == 1 else ("go", "them")
        raise UsageError(f"{' and '.join(given)} {goes} {why}: leave {them} out.")


def _serve_pairs(folder: BenchmarkFolder, request: Request) -> None:
    from judgeharness_integrations.audit.benchmarksource import (  # noqa: PLC0415 - brings pydantic
        ASSIGNED,
        IDLE,
        JOINT,
        NUMBER,
        STRONG_MISS,
        PairSource,
    )

    names = {"assigned": ASSIGNED, "number": NUMBER, "joint": JOINT, "strong-miss": STRONG_MISS}

    class Begun(PairSource):
        """The pairs, in the order wished for at first."""

        @property
        def orders(self) -> tuple[str, ...]:
            known = super().orders
            wished = [names[request.order]] if request.order is not None else []
            return tuple(dict.fromkeys([*wished, *known]))

    source = Begun(folder, annotator=request.who)
    if not source.items():
        raise UsageError(f"{request.where} holds no pair yet: go on with judgeharness benchmark generate.")
    if request.order is not None and names[request.order] not in super(Begun, source).orders:
        why = f"nothing is assigned to {source.annotator!r}" if request.order == "assigned" else "no judge was asked"
        raise UsageError(f"there is no order {request.order!r}, since {why}: leave out --order.")
    if source.assigned_others:
        shown = safe_text(f"{source.annotator!r}; pairs are assigned to {', '.join(source.assigned_others)}", _LONGEST)
        typer.echo(f"nothing is assigned to {shown}: is that the name?", err=True)
    elif source.is_idle:
        typer.echo(f"nothing is assigned to {safe_text(repr(source.annotator), _LONGEST)}: {IDLE}.", err=True)
    _serve(source, request)


def _serve_cases(request: Request, what: _What) -> None:
    from judgeharness_integrations.audit.plaincases import PlainSource  # noqa: PLC0415 - loads what cases need

    _serve(PlainSource(_task(request, what), title=request.where.resolve().name), request)


def _task(request: Request, what: _What) -> PlainTask:
    from judgeharness_integrations.audit.plaincases import PlainTask  # noqa: PLC0415 - loads what cases need
    from judgeharness_integrations.audit.runcases import RunCases, plain_questions, read_run_cases  # noqa: PLC0415
    from judgeharness_integrations.casefiles import read_cases  # noqa: PLC0415
    from judgeharness_integrations.labelling import LabelLog, parse_answers  # noqa: PLC0415

    who = request.who
    if what == "run":
        found, labels = read_run_cases(request.where, request.cases), request.where / "labels"
    else:
        found = RunCases(cases=read_cases(request.where))
        labels = request.where.with_name(f"{request.where.stem}-labels")  # ids of two files may be equal
    asked = plain_questions(
        found,
        annotator=who,
        criteria=request.criteria,
        answers=None if request.answers is None else parse_answers(request.answers),
        only=cast("Only", (request.only or "all").replace("-", "_")),
        seed=request.seed or 0,
    )
    return PlainTask(asked, LabelLog(labels / f"{who}.jsonl"), annotator=who)


def _serve(source: AuditSource, request: Request) -> None:
    from judgeharness_integrations.audit.web.serving import serve  # noqa: PLC0415 - needs the extra

    progress = source.progress()
    what = (
        f"{progress.labelled} of {progress.items} {source.kind} of {request.where} are labelled by {source.annotator}"
    )
    with terminable():
        serve(source, ready=partial(_ready, safe_text(what, _LONGEST), opens=request.browser), port=request.port)


def _ready(what: str, address: str, once: str, *, opens: bool) -> None:
    typer.echo(f"{what}; label at {address} (Ctrl-C ends it).")
    sys.stdout.flush()  # into a pipe, too, before anybody can use it
    if opens and _has_screen():
        webbrowser.open(once)


def _has_screen() -> bool:
    """Whether a browser would open in a window: one in the terminal would take that over."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
