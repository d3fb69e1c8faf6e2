"""What `judgeharness benchmark export` and `convert` do: pairs out to files, and in from the public release."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import SETTINGS, BenchmarkFolder, Settings, digest_of
from judgeharness_integrations.benchmark.judges import pair_case
from judgeharness_integrations.benchmark.pair import Document, Pair
from judgeharness_integrations.benchmark.publicformat import Imported, public_record, read_public
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
from judgeharness_integrations.benchmark.taxonomy import load_taxonomy
from judgeharness_integrations.benchmark.verdicts import Results
from judgeharness_integrations.cli._output import check_folder, print_json
from judgeharness_integrations.cli._shared_options import one_of
from judgeharness_integrations.cli.benchmark.options import ConvertRequest, ExportRequest
from judgeharness_integrations.cli.benchmark.tables import print_failed
from judgeharness_integrations.cli.rank import failures_named
from judgeharness_integrations.reporting.terminal import console, safe, table
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.plain import counted, fixed

_REPORT: Final = "export.json"
_CASES: Final = f"{HELD_OUT}_cases.jsonl"


def export_benchmark(request: ExportRequest) -> None:
    """Write the files of an export and say what is in them."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    kind: Format = one_of("format", request.format, get_args(Format))
    if request.out.resolve() == request.folder.resolve():
        raise ConfigError("--out is the benchmark's own folder: give another one.")
    check_folder(request.out, (_REPORT,), overwrite=request.overwrite)
    report, contents = _report_of(home, results, request, kind)
    documents = {document.document_id: document for document in home.documents()}
    _write(request.out, report, contents, documents)
    if request.as_json:
        print_json(report.to_dict())
    else:
        _print(report, request.out)
    if report.mode is not None:
        print_failed([results], report.mode, failures=failures_named(request.failures), stderr=request.as_json)


def _report_of(
    home: BenchmarkFolder, results: Results, request: ExportRequest, kind: Format
) -> tuple[ExportReport, Exported]:
    """Return what the export says of itself, and which pairs go where."""
    mode = results.mode(request.mode) if results.judged or request.mode is not None else None
    curation = None
    if mode is not None:
        curation = curated(
            results.of_mode(mode), share=0.0, failures=failures_named(request.failures), flags=results.audit is not None
        )
    pairs = [pair for pair in results.pairs if pair.state != "rejected" and pair.conversations is not None]
    contents = exported(pairs, curation, audit=results.audit, bands=request.bands)
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
        noise=contents.noise,
        unanswered=contents.unanswered,
        unjudged=contents.unjudged,
        alone=contents.alone,
        unplaced=contents.unplaced,
        files=contents.bands(),
    )
    return report, contents


def _write(out: Path, report: ExportReport, contents: Exported, documents: dict[str, Document]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for path in (*out.glob("band_*_of_*.jsonl"), out / _CASES):  # an earlier export may have had other bands
        path.unlink(missing_ok=True)
    for name, pairs in contents.files.items():
        _write_lines(out / f"{name}.jsonl", _lines(pairs, report.format, documents))
    if contents.files[HELD_OUT]:
        _write_lines(out / _CASES, (_case_line(pair, documents) for pair in contents.files[HELD_OUT]))
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


_LONGEST_LINE = 600


def convert_files(request: ConvertRequest) -> None:
    """Write a benchmark's folder from files, and say what it holds."""
    files, out = request.files, request.out
    found = read_public(*files, taxonomy=load_taxonomy(request.taxonomy), generator=request.generator)
    check_folder(out, (SETTINGS,), overwrite=False)
    home = BenchmarkFolder(out)
    with home.held():
        home.write_documents(found.documents)
        home.write_taxonomy(found.taxonomy)
        home.write_pairs(found.pairs)
        home.write_settings(_settings(found, files))
    _print_converted(found, files, out)


def _settings(found: Imported, files: Sequence[Path]) -> Settings:
    writers = {pair.generator for pair in found.pairs}
    return Settings(
        n=len(found.pairs),
        generator=writers.pop() if len(writers) == 1 else None,
        documents=digest_of(found.documents),
        taxonomy=digest_of([found.taxonomy]),
        imported_from=", ".join(file.name for file in files),
    )


def _print_converted(found: Imported, files: Sequence[Path], out: Path) -> None:
    screen = console()
    texts, sources = counted(len(found.documents), "context"), ", ".join(map(str, files))
    screen.print(
        safe(f"{out}: {counted(len(found.pairs), 'pair')} on {texts} from {sources}, all unverified", _LONGEST_LINE),
        soft_wrap=True,
    )
    if found.renamed:
        names = ", ".join(f"{name} for {known}" for name, known in found.renamed.items())
        screen.print(safe(f"- taken as names of the taxonomy: {names}", _LONGEST_LINE), soft_wrap=True)
    if found.added:
        names = ", ".join(found.added)
        screen.print(safe(f"- added to the taxonomy without a definition: {names}", _LONGEST_LINE), soft_wrap=True)
    if found.ignored:
        screen.print(safe(f"- keys that have no place here: {', '.join(found.ignored)}", _LONGEST_LINE), soft_wrap=True)
    screen.print(
        safe(f"next: judgeharness benchmark judge {out} --states unverified --judges MODEL,...", _LONGEST_LINE),
        soft_wrap=True,
    )
