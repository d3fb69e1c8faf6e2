"""What `judgeharness benchmark export` does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.judges import pair_case
from judgeharness_integrations.benchmark.pair import Document, Pair
from judgeharness_integrations.benchmark.publicformat import public_record
from judgeharness_integrations.benchmark.results.curation import (
    HELD_OUT,
    SCOPE,
    Exported,
    ExportReport,
    Format,
    curated,
    exported,
)
from judgeharness_integrations.benchmark.results.judgments import gold_of
from judgeharness_integrations.benchmark.verdicts import Results
from judgeharness_integrations.cli._names import one_of
from judgeharness_integrations.cli._output import check_folder, print_json
from judgeharness_integrations.cli._rank import failures_named
from judgeharness_integrations.cli.benchmark._calls import print_failed
from judgeharness_integrations.cli.benchmark.export import ExportRequest
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.plain import counted, fixed

_REPORT: Final = "export.json"
_CASES: Final = f"{HELD_OUT}_cases.jsonl"


def export_benchmark(request: ExportRequest) -> None:
    """Write the files of an export and say what is in them."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    kind = _format(request.format)
    if request.out.resolve() == request.folder.resolve():
        raise ConfigError("--out is the benchmark's own folder: give another one.")
    check_folder(request.out, (_REPORT,), overwrite=request.overwrite)
    report, made = _made(home, results, request, kind)
    documents = {document.document_id: document for document in home.documents()}
    _write(request.out, report, made, documents)
    if request.as_json:
        print_json(report.to_dict())
    else:
        _print(report, request.out)
    if report.mode is not None:
        print_failed([results], report.mode, failures=failures_named(request.failures), stderr=request.as_json)


def _format(name: str) -> Format:
    known: tuple[Format, ...] = get_args(Format)
    return one_of("format", name, known)


def _made(
    home: BenchmarkFolder, results: Results, request: ExportRequest, kind: Format
) -> tuple[ExportReport, Exported]:
    """Return what the export says of itself, and which pairs go where."""
    mode = results.mode(request.mode) if results.judged or request.mode is not None else None
    curation = None
    if mode is not None:
        curation = curated(
            results.of_mode(mode),
            share=0.0,
            failures=failures_named(request.failures),
            flags=results.audit is not None,
        )
    pairs = [pair for pair in results.pairs if pair.state != "rejected" and pair.conversations is not None]
    made = exported(pairs, curation, audit=results.audit, bands=request.bands)
    report = ExportReport(
        format=kind,
        scope=SCOPE,
        mode=mode,
        rule=None if curation is None else curation.after.rule,
        judges=() if curation is None else tuple(sorted(curation.found.matrix.judges)),
        seed=home.settings().drawing.seed,
        bands=request.bands,
        audited=results.audit is not None,
        pairs=len(pairs),
        noise=made.noise,
        unanswered=made.unanswered,
        unjudged=made.unjudged,
        alone=made.alone,
        unplaced=made.unplaced,
        files=made.bands(),
    )
    return report, made


def _write(out: Path, report: ExportReport, made: Exported, documents: dict[str, Document]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for path in (*out.glob("band_*_of_*.jsonl"), out / _CASES):  # an earlier export may have had other bands
        path.unlink(missing_ok=True)
    for name, pairs in made.files.items():
        _write_lines(out / f"{name}.jsonl", _lines(pairs, report.format, documents))
    if made.files[HELD_OUT]:
        _write_lines(out / _CASES, (_case_line(pair, documents) for pair in made.files[HELD_OUT]))
    text = json.dumps(report.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    _write_lines(out / _REPORT, [text + "\n"])


def _lines(pairs: Sequence[Pair], kind: Format, documents: dict[str, Document]) -> Iterator[str]:
    for pair in pairs:
        yield pair.to_line() if kind == "native" else _line(public_record(pair, documents))


def _case_line(pair: Pair, documents: dict[str, Document]) -> str:
    """Return a pair as a case whose gold is the verdict, as `judgeharness calibrate --labels` reads it.

    A judge of a configuration has one criterion, whatever its name; a log has several, and takes the one that is named.
    """
    case = pair_case(pair, documents=documents)
    told = {
        "case_id": case.case_id,
        "output": case.output,
        "output_b": case.output_b,
        "context": case.context,
        "author": case.author,
        "author_b": case.author_b,
        "gold": gold_of(pair)["verdict"],
        "criterion": "verdict",
    }
    return _line({name: value for name, value in told.items() if value is not None} | dict(case.attributes))


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors=LONE_SURROGATES, newline="\n") as file:
        file.writelines(lines)


def _print(report: ExportReport, out: Path) -> None:
    screen = console()
    judges = (
        f"{counted(len(report.judges), 'judge')}, {report.mode}, {report.rule}" if report.judges else "no judge yet"
    )
    screen.print(safe(f"export to {out}: {counted(report.pairs, 'pair')}; difficulty by {judges}", 400), soft_wrap=True)
    rows = ([f"{one.name}.jsonl", str(one.pairs), fixed(one.easiest, 0), fixed(one.hardest, 0)] for one in report.files)
    screen.print(table("files", ("file", "pairs", "easiest", "hardest"), rows))
    left = (
        (report.noise, "noise by audit"),
        (report.unanswered, "without an answer that counts"),
        (report.unjudged, "never judged"),
        (report.alone, "judged by one judge alone, which says little of how hard they are"),
        (report.unplaced, "without a difficulty, since the judges cannot be compared"),
    )
    told = ", ".join(f"{count} {why}" for count, why in left if count)
    if told:
        screen.print(f"- in no file: {told}", soft_wrap=True)
    if not report.audited:
        screen.print("- nothing is held out: nobody labelled a pair; judgeharness audit does", soft_wrap=True)
    elif any(one.name == HELD_OUT and one.pairs for one in report.files):
        screen.print(f"- {_CASES}: the held-out pairs with gold, as judgeharness calibrate --labels takes them")
    screen.print(f"- {report.scope}", soft_wrap=True)
