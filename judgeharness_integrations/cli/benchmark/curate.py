"""What `judgeharness benchmark curate`, `export` and `convert` do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.audit.labels import read_results
from judgeharness_integrations.benchmark.folder import SETTINGS, BenchmarkFolder, Settings, digest_of
from judgeharness_integrations.benchmark.judges import pair_case
from judgeharness_integrations.benchmark.pair import Document, Pair
from judgeharness_integrations.benchmark.publicformat import Imported, public_record, read_public
from judgeharness_integrations.benchmark.results.curation import (
    CURATED,
    HELD_OUT,
    SCOPE,
    CuratedJudge,
    CurateReport,
    Curating,
    Dropped,
    Exported,
    ExportReport,
    Format,
    Step,
    curated,
    exported,
)
from judgeharness_integrations.benchmark.results.judgments import AMBIGUOUS, GROUPS, NOISE, gold_of
from judgeharness_integrations.benchmark.taxonomy import load_taxonomy
from judgeharness_integrations.benchmark.verdicts import Results, write_judgments
from judgeharness_integrations.reporting.sections import Block, Bullets, Table
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, counted, fixed, percent

from .._command import names_in, one_of
from .._output import check_folder, print_json, show
from ..rank import cut_ties_named, failures_named
from .options import ConvertRequest, CurateRequest, ExportRequest
from .tables import columns_named, grouped, of, print_failed

_MOST_DROPPED: Final = 20  # that are named
_COLUMNS = {
    "flagged": "noise",
    "ambiguous": "ambig-\nuous",
    "unanimous_right": "all\nright",
    "unanimous_wrong": "all\nwrong",
    "unanswered": "no\nanswer",
    "hardest": "hardest",
    "kept": "kept",
}


def curate_benchmark(request: CurateRequest) -> None:
    """Curate the pairs, write `curated.jsonl` and `judgments.jsonl`, and print what became of them."""
    home = BenchmarkFolder(request.folder)
    results = read_results(home)
    columns = columns_named(request.by, GROUPS)
    mode = results.mode(request.mode)
    cut_ties, failures = cut_ties_named(request.cut_ties), failures_named(request.failures)
    flags = results.audit is not None and not request.keep_noise
    doubtful = _drops_ambiguous(results, request)
    made = curated(
        results.of_mode(mode), share=request.cut, cut_ties=cut_ties, failures=failures, flags=flags, ambiguous=doubtful
    )
    kept = {*made.kept}
    home.write_records(CURATED, [pair for pair in results.pairs if pair.pair_id in kept])
    write_judgments(results, home)
    report = CurateReport(
        mode=mode,
        rule=made.after.rule,
        cut=request.cut,
        cut_ties=cut_ties,
        audited=results.audit is not None,
        keeps_noise=request.keep_noise,
        drops_ambiguous=doubtful,
        pairs=sum(pair.state != "rejected" for pair in results.pairs),
        judged=len(made.found.matrix.pairs),
        alone=len(made.alone),
        kept=len(kept),
        steps=made.steps(columns),
        judges=made.judges(),
        dropped=_dropped(home, made),
    )
    if request.as_json:
        print_json(report.to_dict())
    else:
        show(_blocks(report, request.folder))
    print_failed([results], mode, failures=failures, stderr=request.as_json)


def _drops_ambiguous(results: Results, request: CurateRequest) -> bool:
    """Return whether pairs that people found ambiguous are left out.

    Raises:
        UnknownNameError: something else is to be dropped; the nearest is offered.
        UsageError: noise is to be dropped and kept, or nobody labelled a pair.

    """
    wanted = {one_of("finding to drop", name, (NOISE, AMBIGUOUS)) for name in names_in(request.drop)}
    if wanted and results.audit is None:
        raise UsageError(
            f"nobody labelled a pair of {results.folder}: label some with judgeharness audit, or leave out --drop."
        )
    if NOISE in wanted and request.keep_noise:
        raise UsageError("--drop noise and --keep-noise contradict each other: give one of them.")
    return AMBIGUOUS in wanted


def _dropped(home: BenchmarkFolder, made: Curating) -> tuple[Dropped, ...]:
    """Return the pairs that are left out for what people found, and whether these were of one mind."""
    if not made.dropped:
        return ()
    from judgeharness_integrations.audit.labels import divided, read_labels  # noqa: PLC0415 - of audited benchmarks

    split = divided(read_labels(home.path))
    return tuple(
        Dropped(pair=pair, found="noise" if found == NOISE else "ambiguous", divided=pair in split)
        for pair, found in made.dropped.items()
    )


def _blocks(report: CurateReport, folder: Path) -> Iterator[Block]:
    yield f"curation of {folder}, {report.mode}"
    unjudged = report.pairs - report.judged
    more = f"; {unjudged} more were never judged and are not among them" if unjudged else ""
    yield f"{report.kept} of {counted(report.judged, 'judged pair')} kept{more}"
    yield step_table("what became of the judged pairs, in per cent of them", report.steps)
    yield _judge_table(report.judges)
    yield Bullets(tuple(_notes(report)))
    yield f"written: {folder / CURATED}"
    if report.kept:
        taking = f"{folder} --sample {folder / CURATED}"
        yield f"next: judgeharness benchmark rank {taking}"
        yield f"or: judgeharness benchmark judge {taking} --judges MODEL,..."


def _notes(report: CurateReport) -> Iterator[str]:
    ties = "kept" if report.cut_ties == "keep" else "cut"
    yield (
        f"hardest: {100 * report.cut:g} % of the pairs that tell judges apart, by Bradley-Terry; ties at the cut are "
        f"{ties}; what is unanimous and hard depends on the judges: curate again when they change"
    )
    if report.cut and not report.steps[0].hardest:
        yield f"the cut of {100 * report.cut:g} % takes no pair: the hardest are tied, or too few"
    yield from alone_notes(report.alone)
    if not report.audited:
        yield "noise: nobody labelled a pair; judgeharness audit does"
    elif report.keeps_noise:
        yield "noise: kept, as --keep-noise asks"
    yield from _dropped_lines(report)


def _dropped_lines(report: CurateReport) -> Iterator[str]:
    """Yield the pairs that are left out for what people found, by what that is."""
    for found in (NOISE, AMBIGUOUS):
        mine = [one for one in report.dropped if one.found == found]
        if mine:
            names = ", ".join(one.pair + (" (evenly split)" if one.divided else "") for one in mine[:_MOST_DROPPED])
            more = len(mine) - _MOST_DROPPED
            yield f"left out as {found}, {len(mine)}: {names}{f' and {more} more: --json' if more > 0 else ''}"
    if report.audited and not report.drops_ambiguous:
        yield "ambiguous pairs are kept: --drop ambiguous leaves them out"


def alone_notes(count: int) -> Iterator[str]:
    """Yield what pairs that one judge alone was asked about are worth, where there are any."""
    if count:
        told = f"{counted(count, 'pair is', 'pairs are')} all right or all wrong by the answer of one judge alone"
        yield f"{told}, which tells nobody apart: ask more judges about the same pairs (a larger --fraction)"


def step_table(title: str, steps: Sequence[Step]) -> Table:
    """Return what became of judged pairs, in per cent of each line's; of those that are kept the number too."""
    doubtful = any(step.ambiguous for step in steps)
    columns = {name: told for name, told in _COLUMNS.items() if doubtful or name != "ambiguous"}

    def cells(step: Step) -> list[str]:
        shares = (
            percent(getattr(step, name) / step.judged if step.judged else None) for name in columns if name != "kept"
        )
        return [str(step.judged), *shares, of(step.kept, step.judged)]

    return Table.of(title, ("pairs", "judged", *columns.values()), grouped(steps, cells))


def _judge_table(judges: Sequence[CuratedJudge]) -> Table:
    numbers = ("rank_before", "elo_before", "se_before", "rank", "elo", "se")
    rows = ([one.judge, *(fixed(getattr(one, name), 0) for name in numbers)] for one in judges)
    columns = ("judge", "rank\nbefore", "Elo", "error", "rank\nafter", "Elo", "error")
    return Table.of("the leaderboard before and after", columns, rows)


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
        show(_export_blocks(report, request.out))
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


def _export_blocks(report: ExportReport, out: Path) -> Iterator[Block]:
    judges = (
        f"{counted(len(report.judges), 'judge')}, {report.mode}, {report.rule}" if report.judges else "no judge yet"
    )
    yield f"export to {out}: {counted(report.pairs, 'pair')}; difficulty by {judges}"
    rows = ([f"{one.name}.jsonl", str(one.pairs), fixed(one.easiest, 0), fixed(one.hardest, 0)] for one in report.files)
    yield Table.of("files", ("file", "pairs", "easiest", "hardest"), rows)
    yield Bullets((*_left_out(report), report.scope))


def _left_out(report: ExportReport) -> Iterator[str]:
    left = (
        (report.noise, "noise by audit"),
        (report.unanswered, "without an answer that counts"),
        (report.unjudged, "never judged"),
        (report.alone, "judged by one judge alone, which says little of how hard they are"),
        (report.unplaced, "without a difficulty, since the judges cannot be compared"),
    )
    if told := ", ".join(f"{count} {why}" for count, why in left if count):
        yield f"in no file: {told}"
    if not report.audited:
        yield "nothing is held out: nobody labelled a pair; judgeharness audit does"
    elif any(one.name == HELD_OUT and one.pairs for one in report.files):
        yield f"{_CASES}: the held-out pairs with gold, as judgeharness calibrate --labels takes them"


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
    show(_converted(found, files, out))


def _settings(found: Imported, files: Sequence[Path]) -> Settings:
    writers = {pair.generator for pair in found.pairs}
    return Settings(
        n=len(found.pairs),
        generator=writers.pop() if len(writers) == 1 else None,
        documents=digest_of(found.documents),
        taxonomy=digest_of([found.taxonomy]),
        imported_from=", ".join(file.name for file in files),
    )


def _converted(found: Imported, files: Sequence[Path], out: Path) -> Iterator[Block]:
    texts, sources = counted(len(found.documents), "context"), ", ".join(map(str, files))
    yield f"{out}: {counted(len(found.pairs), 'pair')} on {texts} from {sources}, all unverified"
    told = {
        "taken as names of the taxonomy": [f"{name} for {known}" for name, known in found.renamed.items()],
        "added to the taxonomy without a definition": found.added,
        "keys that have no place here": found.ignored,
    }
    yield Bullets(tuple(f"{what}: {', '.join(names)}" for what, names in told.items() if names))
    yield f"next: judgeharness benchmark judge {out} --states unverified --judges MODEL,..."
