"""What `judgeharness rank` does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.copies import copied_cases
from judgeharness_integrations.aggregation.grouping import CLUSTER, by_case, by_judge
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._rank_request import Wishes
from judgeharness_integrations.cli._reading import rows_of_log, without_garbage_collection
from judgeharness_integrations.cli._report_source import case_texts
from judgeharness_integrations.design import RuleFixed
from judgeharness_integrations.ranking.analyses import Material
from judgeharness_integrations.ranking.comparing.against import Against
from judgeharness_integrations.ranking.portfolio import Portfolio, portfolio_of
from judgeharness_integrations.ranking.ranking import leaderboard
from judgeharness_integrations.ranking.request import RankRequest
from judgeharness_integrations.ranking.studying import RankStudy, study
from judgeharness_integrations.ranking.versus import versus
from judgeharness_integrations.reporting.runs.systems import unvaried_systems
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["LogSource", "RankSource", "Scores", "Written", "rank_log", "rank_source"]

_QUICK = ("methods", "groups", "against", "score_gaps")


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a folder was given; `undrawn`: pictures that had nothing to show; `older`: others of their kinds in it."""

    folder: Path
    tables: tuple[Path, ...]
    pictures: tuple[Path, ...]
    undrawn: tuple[str, ...]
    older: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of single answers beside verdicts about pairs; `why`: why there are none, where that is worth a line."""

    rows: Sequence[VerdictRow] = ()
    why: str = ""


class RankSource(Protocol):
    """Where the rows of a ranking are; each method reads when it is called."""

    @property
    def title(self) -> str:
        """What is ranked, as the report's first line says it."""
        ...

    @property
    def rule_fixed(self) -> RuleFixed:
        """Whether the rule was chosen before the samples."""
        ...

    def rows(self) -> list[VerdictRow]:
        """Return the rows to rank by."""
        ...

    def pointwise(self, found: RankStudy) -> RankStudy | None:
        """Return the study of the scores that the same judges gave single answers; None where none is wished for."""
        ...

    def scores(self, found: RankStudy) -> Scores:
        """Return the scores of single answers that lie beside the rows."""
        ...

    def against(self, found: RankStudy) -> Against | None:
        """Return the same judges on other pairs; None where that is not wished for."""
        ...


@dataclass(frozen=True, kw_only=True)
class LogSource:
    """A verdict log, and other logs beside it."""

    log: Path
    wishes: Wishes

    @property
    def title(self) -> str:
        """The log's path."""
        return str(self.log)

    @property
    def rule_fixed(self) -> RuleFixed:
        """A log does not say for which rule it was sampled."""
        return "after"

    def rows(self) -> list[VerdictRow]:
        """Read the log."""
        return rows_of_log(self.log, run=self.wishes.run, labels=self.wishes.labels)

    def pointwise(self, found: RankStudy) -> RankStudy | None:
        """Study the log of scores."""
        return None if self.wishes.pointwise is None else _pointwise(found, self.wishes.pointwise)

    def scores(self, found: RankStudy) -> Scores:  # noqa: ARG002 - a source of scores needs it
        """Return none: a log holds pairs or scores."""
        return Scores()

    def against(self, found: RankStudy) -> Against | None:
        """Compare with the other log."""
        return None if self.wishes.against is None else _against(found, self.log, self.wishes)


def rank_log(log: Path, request: RankRequest, wishes: Wishes) -> None:
    """Read a log, rank its judges, write what is wished for and print the report."""
    rank_source(LogSource(log=log, wishes=wishes), request, wishes)


def rank_source(source: RankSource, request: RankRequest, wishes: Wishes) -> Portfolio:
    """Rank the judges of a source, write what is wished for, print the report and return what it says."""
    with without_garbage_collection(), _progress() as tell:
        material = _material(source, request, wishes)
        quick = _QUICK if material.pointwise is None else (*_QUICK, "robustness")
        made = portfolio_of(material, names=None if wishes.out is not None else quick, tell=tell)
        document = _document(made)
        written = None if wishes.out is None else _written(material, made, document, wishes.out, tell)
    if wishes.as_json:
        print_json(document)
    else:
        _print(material.found, made, written, source, whole=wishes.whole)
    return made


def _material(source: RankSource, request: RankRequest, wishes: Wishes) -> Material:
    rows = source.rows()
    found = study(rows, request)
    if wishes.audit is not None:
        found.matrix.column(wishes.audit)
    known = request.facts
    if known and not any(name in known or name.partition("@")[0] in known for name in found.matrix.judges):
        raise UsageError("--judges-info names no judge of the log: name judges, or their models, as the log does.")
    scores = source.scores(found)
    return Material(
        found=found,
        report=replace(leaderboard(found), unvaried=_unvaried(rows, wishes), copies=_copies(rows, request)),
        pointwise=source.pointwise(found),
        scores=scores.rows,
        unscored=scores.why,
        against=source.against(found),
        audit=wishes.audit,
        seed=wishes.seed,
        draws=wishes.draws,
    )


@dataclass(frozen=True)
class _Case:
    """A case of a log."""

    case_id: str
    rows: Sequence[VerdictRow]


def _unvaried(rows: Sequence[VerdictRow], wishes: Wishes) -> tuple[str, ...]:
    """Return what is to be said of judged systems that answer every input alike; nothing where no texts are given."""
    if wishes.cases is None:
        return ()
    cases = [_Case(case_id, group) for (_, case_id), group in by_case(rows).items()]
    return tuple(unvaried_systems(cases, case_texts(wishes.cases)))


def _copies(rows: Sequence[VerdictRow], request: RankRequest) -> tuple[str, ...]:
    """Return what is to be said of pairs that ask what others ask, by the judge that was asked most."""
    most = max(by_judge(rows).values(), key=len, default=())
    return tuple(copied_cases(most, request.cluster or CLUSTER))


def _pointwise(found: RankStudy, log: Path) -> RankStudy:
    """Return the study of the scores that judges of the log gave single answers."""
    request = replace(found.request, rule=None, ties=None, criteria=(), judges=(), by=None, flagged=None, cluster=None)
    scored = study(rows_of_log(log), request)
    if not scored.scored:
        raise UsageError(f"{log}: --pointwise takes scores of single answers, with columns pair and side (A or B).")
    return scored


def _against(found: RankStudy, log: Path, wishes: Wishes) -> Against:
    other = Path(wishes.against or "")
    labels = (_stem(log), _stem(other))
    if labels[0] == labels[1]:
        labels = (str(log), str(other))
    return versus(found, rows_of_log(other, labels=wishes.labels), labels=labels)


def _stem(log: Path) -> str:
    return log.name.partition(".")[0] or log.name


def _document(made: Portfolio) -> dict[str, Any]:
    return made.report.to_dict() | {"analyses": made.to_dict()}


def _written(
    material: Material, made: Portfolio, document: dict[str, Any], folder: Path, tell: Callable[[str], object]
) -> Written:
    from judgeharness_integrations.ranking.drawing import draw_all  # noqa: PLC0415 - brings matplotlib
    from judgeharness_integrations.ranking.tables import tables_of, write_document, write_tables  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    tables = write_tables(tables_of(material.found, made), folder)
    write_document(document, folder / "rank.json")
    drawn = draw_all(material.found, made, folder, tell=tell)
    mine = {*tables, *(path for paths in drawn.values() for path in paths)}
    there = (path for kind in ("csv", "png", "svg") for path in folder.glob(f"*.{kind}"))
    return Written(
        folder=folder,
        tables=tuple(tables),
        pictures=tuple(path for paths in drawn.values() for path in paths),
        undrawn=tuple(name for name, paths in drawn.items() if not paths),
        older=tuple(sorted(path.name for path in there if path not in mine)),
    )


@contextmanager
def _progress() -> Iterator[Callable[[str], object]]:
    """Yield what shows one line that is written over; nothing where nobody watches."""
    if not sys.stderr.isatty():
        yield len
        return

    def show(line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line.replace('_', ' ')[:100]}\r")
        sys.stderr.flush()

    try:
        yield show
    finally:
        show("")


def _print(found: RankStudy, made: Portfolio, written: Written | None, source: RankSource, *, whole: bool) -> None:
    from judgeharness_integrations.cli._printing import console, safe  # noqa: PLC0415 - JSON needs no tables
    from judgeharness_integrations.cli._rank_text import rank_text  # noqa: PLC0415

    screen = console()
    screen.print(safe(f"ranking of {source.title}", 200))
    for part in rank_text(found, made, width=screen.width, whole=whole, rule_fixed=source.rule_fixed):
        screen.print(part)
    if written is None:
        return
    pictures = len({path.stem for path in written.pictures})
    what = f"{pictures} pictures (PNG, SVG), {len(written.tables)} tables (CSV), rank.json"
    screen.print()
    screen.print(safe(f"written to {written.folder}: {what}", 400), soft_wrap=True)
    if written.undrawn:
        names = ", ".join(name.replace("_", " ") for name in written.undrawn)
        screen.print(f"not drawn, since there is nothing to show: {names}", soft_wrap=True)
    if written.older:
        screen.print(safe(f"in the folder from before, not of this ranking: {', '.join(written.older)}", 600))
