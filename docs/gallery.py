"""Real reports, made from the examples while the documentation is built: `gallery/` of the site."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

__all__ = ["gallery", "on_files"]

EXAMPLES = Path(__file__).parent.parent / "examples"
PAGES = Path("gallery")
SHOWN = {".html", ".png", ".svg", ".csv", ".json"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file of the gallery to the site."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests make the gallery without mkdocs

    for name, content in gallery().items():
        files.append(File.generated(config, f"gallery/{name}", content=content))
    return files


@functools.cache
def gallery() -> dict[str, bytes]:
    """Return the files of the gallery by their names, `/` between folders; made once a process."""
    ignored = shutil.ignore_patterns("__pycache__", ".adk")
    with (
        tempfile.TemporaryDirectory(prefix="gallery-") as folder,
        contextlib.chdir(
            folder
        ),  # pages say which command comes next, with the paths it was given
    ):
        shutil.copytree(EXAMPLES, "examples", ignore=ignored)
        PAGES.mkdir()
        _two_runs()
        _check()
        _ranking()
        _audit()
        found = sorted(
            path for path in PAGES.rglob("*") if path.suffix in SHOWN
        )
        return {
            path.relative_to(PAGES).as_posix(): path.read_bytes()
            for path in found
        }


def _run(*arguments: object, ends: int = 0) -> None:
    """Run a command quietly.

    Raises:
        RuntimeError: its exit code was another one; what it printed is the message.

    """
    from judgeharness_integrations.cli import main  # noqa: PLC0415 - only where a gallery is made

    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        code = main([str(argument) for argument in arguments])
    if code != ends:
        raise RuntimeError(
            f"judgeharness {arguments[0]} ended with {code}: {printed.getvalue()}"
        )


def _two_runs() -> None:
    """Measure a judge, then one that leans further to the answer it reads first; report on one and compare both."""
    home = Path("examples/bigger_runs")
    judge, config = (
        (home / "house_judge.py").read_text("utf-8"),
        (home / "run.yaml").read_text("utf-8"),
    )
    leaning = judge.replace(
        "IN_DOUBT_FIRST = 0.7", "IN_DOUBT_FIRST = 0.98"
    ).replace('"house-1"', '"house-2"')
    (home / "house_judge_2.py").write_text(leaning, "utf-8")
    (home / "second.yaml").write_text(
        config.replace("house_judge:", "house_judge_2:"), "utf-8"
    )
    first, second = Path("runs/first"), Path("runs/second")
    _run("run", home / "run.yaml", "--out", first, "--yes", "--no-step-summary")
    _run(
        "run",
        home / "second.yaml",
        "--out",
        second,
        "--yes",
        "--no-step-summary",
    )
    cases = ("--cases", home / "cases.csv", "--no-step-summary")
    _run("report", first, "--html", PAGES / "report.html", *cases)
    _run("compare", first, second, "--html", PAGES / "compare.html")


def _check() -> None:
    config = Path("examples/check_a_judge/config.yaml")
    _run(
        "check",
        config,
        "--yes",
        "--out",
        Path("check"),
        "--html",
        PAGES / "check.html",
        ends=1,
    )


def _ranking() -> None:
    home = Path("examples/judge_ranking")
    known = (
        "--judges-info",
        home / "judges.csv",
        "--against",
        home / "other_generator.csv",
    )
    shown = (
        "--by",
        "domain",
        "--flagged",
        "flagged",
        "--out",
        PAGES / "ranking",
    )
    _run("rank", home / "verdicts.csv", *known, *shown)


def _audit() -> None:
    """Write the page on which a person labels a case of the run, its style inside of it and its script left out."""
    from starlette.testclient import TestClient  # noqa: PLC0415 - as above

    from judgeharness_integrations.audit.app import audit_app  # noqa: PLC0415
    from judgeharness_integrations.audit.cases import (  # noqa: PLC0415
        PlainSource,
        PlainTask,
        plain_questions,
        read_run_cases,
    )
    from judgeharness_integrations.labelling import LabelLog  # noqa: PLC0415

    found = read_run_cases(
        Path("runs/first"), Path("examples/bigger_runs/cases.csv")
    )
    asked = plain_questions(
        found, annotator="anna", criteria=(), answers=None, only="all", seed=0
    )
    task = PlainTask(asked, LabelLog(Path("anna.jsonl")), annotator="anna")
    source = PlainSource(task, title="first")
    client = TestClient(
        audit_app(source, token="gallery"),  # noqa: S106 - opens this page
        base_url="http://127.0.0.1:8123",
    )
    client.get("/", params={"token": "gallery"})
    page = client.get("/item", params={"id": source.items()[0].item_id}).text
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    style = "".join(client.get(sheet).text for sheet in sheets)
    page = re.sub(
        r'<link rel="(?:stylesheet|icon)"[^>]*>|<script.*?</script>', "", page
    )
    page = re.sub(r'href="/[^"]*"', 'href="audit.html"', page)
    page = page.replace("</head>", f"<style>{style}</style></head>")
    (PAGES / "audit.html").write_text(page, "utf-8")
