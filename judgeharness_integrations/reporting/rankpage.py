"""The page of a ranking: the answer, leaderboard and cost, pictures by what they say, then everything else folded."""

from __future__ import annotations

import csv
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.comparing import RankCorrelation
from judgeharness_integrations.analysis.ranking.contrasts import LEVEL, NO_SPREAD
from judgeharness_integrations.analysis.ranking.studying import RankStudy
from judgeharness_integrations.verdictlog.encoding import (
    LONE_SURROGATES,
    counted,
    defused,
    ends,
    fixed,
    listed,
    percent,
)

from .sections import Finding, Section

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.ranking.rating import JudgeRank, Method, RankReport

METHODS: Final[dict[Method, str]] = {
    "bradley-terry": "Bradley-Terry",
    "conditional": "conditional maximum likelihood",
    "eip": "EIP",
}
PLACES: Final = {
    "above": "never wrong where another is right, so that no finite Elo exists",
    "below": "never right where another is wrong, so that no finite Elo exists",
}
THOUSAND: Final = 1000  # pairs that money is told of
_NAMED: Final = 4
_CHEAPER: Final = 2  # times, from which a judge of the same Elo is worth a sentence
_BARGAINS: Final = 2
NOBODY: Final = "nobody is ranked: the judges cannot be compared, see below"


def rank_finding(report: RankReport, *, following: str = "") -> Finding:
    """Return what a ranking opens with.

    Args:
        report: the ranking.
        following: the command that comes next.

    """
    first = [one for one in report.judges if one.rank == 1]
    if not first:
        return Finding(answer=NOBODY, next=following)
    names = ", ".join(one.judge for one in first)
    rated = any((one.elo if report.method != "eip" else one.eip) is not None for one in report.judges)
    by = METHODS[report.method] if rated else "labelled cases judged right, since none has a rating"
    return Finding(
        answer=f"first of {counted(len(report.judges), 'judge')} by {by}: {names}",
        reasons=(*_standing(first[0], report.method), *_untold(report, first[0]), *_money(report)),
        next=following,
    )


def elo_interval(ci95: tuple[float, float]) -> str:
    """Return an interval of Elo in words; of answers without any spread there is none."""
    low, high = ci95
    return "no interval, for want of any spread" if high - low < NO_SPREAD else f"95 % {ends(ci95, 0)}"


def _standing(one: JudgeRank, method: str) -> Iterator[str]:
    if one.place in PLACES:
        yield PLACES[one.place]
    elif one.elo is not None and one.ci95 is not None:
        right = f"right about {percent(one.right_of_labelled)} % of {counted(one.n, 'pair')}"
        score = f"EIP {one.eip:.3f}; " if method == "eip" and one.eip is not None else ""
        yield f"{score}Elo {one.elo:.0f}, {elo_interval(one.ci95)}; {right}"


def _untold(report: RankReport, first: JudgeRank) -> Iterator[str]:
    """Yield who cannot be told from the first, by name."""
    if first.rank_range is None or report.method == "eip":
        return
    others, at = first.rank_range[1] - 1, f"at a false discovery rate of {100 * LEVEL:g} %"
    if not others:
        yield f"every other judge is significantly behind it, {at}"
        return
    names = [name for one in report.contrasts if not one.significant for name in _beside(one.judge, one.other, first)]
    named = f": {listed(names, _NAMED)}" if len(names) == others else ""
    yield f"{counted(others, 'other judge')} cannot be told apart from it, {at}{named}"


def _beside(judge: str, other: str, first: JudgeRank) -> Sequence[str]:
    return [other] if judge == first.judge else [judge] if other == first.judge else []


def _money(report: RankReport) -> Iterator[str]:
    """Yield which judges cost much more than one that stands as high: what to buy instead."""
    priced = [(one, one.measures.cost, one.elo) for one in report.judges]
    known = [(one, cost, elo) for one, cost, elo in priced if cost and elo is not None]
    found = []
    for dear, cost, elo in known:
        as_high = [(price, one) for one, price, high in known if round(high) >= round(elo) and price < cost]
        if as_high:
            price, cheap = min(as_high, key=lambda entry: entry[0])
            found.append((cost / price, dear, cheap, cost, price))
    worth = sorted((one for one in found if one[0] >= _CHEAPER), key=lambda one: -one[0])
    for times, dear, cheap, cost, price in worth[:_BARGAINS]:
        elos = f"Elo {fixed(cheap.elo, 0)} against {fixed(dear.elo, 0)}"
        prices = f"{fixed(THOUSAND * price, 2)} against {fixed(THOUSAND * cost, 2)} per 1,000 pairs"
        yield f"{cheap.judge} costs 1/{times:.0f} as much as {dear.judge} and stands as high: {elos}, {prices}"


INDEX: Final = "index.html"
_GROUPS: Final = {
    "Who is right, and at what price": ("leaderboard", "pareto_money", "pareto_tokens"),
    "How judges err": ("class_bias", "confusion", "self_preference", "audit"),
    "What changes the order": ("difficulty", "variants", "slopes", "robustness", "stability"),
}
_KINDS: Final = {".svg": "image/svg+xml", ".png": "image/png"}
_STYLE: Final = """
.drawn { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .6rem; }
.drawn img { display: block; max-width: 100%; max-height: 60rem; height: auto; margin: 0 auto; }
.drawn figcaption { color: #555; font-size: .85rem; text-align: center; }
.fold { margin: .6rem 0; }
.files { columns: 13rem; }
@media print { .drawn { break-inside: avoid; } }
"""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A picture by its name, and its content as the page holds it."""

    name: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Pictures about one question."""

    title: str
    pictures: tuple[Drawn, ...]


def rank_page(
    section: Section, found: Finding, *, pictures: Mapping[str, Sequence[Path]], files: Sequence[str], priced: bool
) -> str:
    """Return a ranking as an HTML document that needs no network and no other file.

    Args:
        section: the ranking for people, with all that is beside it.
        found: what it opens with; those blocks of the section are not shown again.
        pictures: name -> its files; the SVG is taken where there is one.
        files: names of what stands beside the page.
        priced: whether the leaderboard tells money.

    """
    from .html.frame import environment, script, style  # noqa: PLC0415 - loads Jinja

    opening = list(found.opening())
    blocks = [block for block in section.blocks if block not in opening]
    end = next((place for place, block in enumerate(blocks, 1) if isinstance(block, Section)), len(blocks))
    groups = list(_groups(pictures))
    names = [("finding", "Answer"), ("leaderboard", "Leaderboard"), ("more", "More"), ("files", "Files")]
    return (
        environment("judgeharness_integrations.reporting")
        .get_template("rank.html")
        .render(
            style=style(_STYLE),
            script=script(),
            heading=found.answer[:1].upper() + found.answer[1:],  # the terminal begins with a small letter
            reasons=found.reasons,
            sections=[*names[:2], *([("pictures", "Pictures")] if groups else []), *names[2:]],
            opened=blocks[:end],
            more=blocks[end:],
            groups=groups,
            files=files,
            priced=priced,
        )
    )


def _groups(pictures: Mapping[str, Sequence[Path]]) -> Iterator[Group]:
    for title, names in _GROUPS.items():
        found = tuple(drawn for name in names for drawn in _drawn(pictures.get(name, ())))
        if found:
            yield Group(title=title, pictures=found)


def _drawn(paths: Sequence[Path]) -> Iterator[Drawn]:
    """Yield a picture once, however many files it is in: a picture may be in several parts."""
    by_stem = {path.stem: path for path in sorted(paths, key=lambda path: path.suffix == ".svg")}
    for stem, path in by_stem.items():
        content = b64encode(path.read_bytes()).decode()
        yield Drawn(name=stem.replace("_", " "), source=f"data:{_KINDS[path.suffix]};base64,{content}")


Record: TypeAlias = "Mapping[str, Any]"

_LIMITS = ("ci95", "range")


def flat(record: Record) -> dict[str, Any]:
    """Return a record of JSON as one row: `ci95` and `rank_range` as two columns, `groups` as one for each group.

    Other lists are tables of their own and are left out.
    """
    row: dict[str, Any] = {}
    for name, value in record.items():
        if name.startswith(_LIMITS[0]) or name.endswith(_LIMITS):
            low, high = value or (None, None)
            row |= {f"{name}_low": low, f"{name}_high": high}
        elif isinstance(value, Mapping):
            row |= {f"{name}.{key}": part for key, part in value.items() if not isinstance(part, (list, Mapping))}
        elif not isinstance(value, list):
            row[name] = value
    return row


def write_csv(path: Path, records: Iterable[Record]) -> Path:
    """Write records, a column for each name that any of them has; an empty cell is what was not measured.

    In a text a quote stands before what a spreadsheet would take for a formula.
    """
    rows = list(records)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    # Excel takes a CSV without the mark for one of another encoding
    with path.open("w", encoding="utf-8-sig", errors=LONE_SURROGATES, newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(map(_cell, columns))
        writer.writerows(_cells(row, columns) for row in rows)
    return path


def _cells(row: Record, columns: Sequence[str]) -> list[Any]:
    return [_cell(row.get(name)) for name in columns]


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return defused(value) if isinstance(value, str) else value


Tables: TypeAlias = "dict[str, list[dict[str, Any]]]"

_PLAIN = (
    *("class_bias", "cascade", "self_preference", "variants", "score_gaps", "leave_one_out", "stability"),
    *("tokens", "money"),
)


def tables_of(found: RankStudy, made: Portfolio) -> Tables:
    """Return name -> rows: judges, contrasts, panels, pairs, and each analysis that has results.

    `correlations` holds those of all analyses, named by `analysis`; points of curves and scatter plots are a row each.
    """
    report = made.report
    tables: Tables = {
        "leaderboard": [flat(one.to_dict()) for one in report.judges],
        "contrasts": [flat(one.to_dict()) | {"significant": one.significant} for one in report.contrasts],
        "panels": [flat(one.to_dict()) for one in report.panels],
        "pairs": list(_pairs(found)),
        "confusions": [cell for one in made.confusions for cell in one.cells()],
        "correlations": list(_correlations(made)),
        "robustness": [
            {
                "comparison": one.name,
                "group": one.group,
                "judge": judge,
                "x_label": one.x_label,
                "y_label": one.y_label,
                "x": x,
                "y": y,
            }
            for one in made.robustness
            for judge, x, y in one.points
        ],
    }
    return {name: rows for name, rows in (tables | _others(made)).items() if rows}


def _others(made: Portfolio) -> Tables:
    effect = made.report.diagnostics.order_effect
    plain = {name: [flat(one.to_dict()) for one in getattr(made, name)] for name in _PLAIN}
    return plain | {
        "audit": [
            {"column": one.column, "label": one.label, "share_of_pairs": pairs, "share_of_labels": labels}
            for one in made.audit
            for pairs, labels in one.points
        ],
        "against": [
            {"name": one.name, "name_against": one.name_against, **flat(slope.to_dict())}
            for one in made.against
            for slope in one.slopes
        ],
        "order_effect": []
        if effect is None
        else [{"judge": judge, "elo": elo, "se": se} for judge, elo, se in effect.judges],
    }


def _pairs(found: RankStudy) -> Iterator[dict[str, Any]]:
    """Yield what became of each labelled pair, with its difficulty where it has one."""
    curation, matrix = found.curation, found.matrix
    eip = found.rating.eip
    of_eip = {} if eip is None else dict(zip(found.rating.matrix.pairs, eip.pairs.tolist(), strict=True))
    right, asked = np.nansum(matrix.values, axis=1), matrix.seen.sum(axis=1)
    kept = dict(zip(found.rating.matrix.pairs, found.rating.difficulty.tolist(), strict=True))
    for place, pair in enumerate(matrix.pairs):
        became = ("flagged", "unanimous", "unanswered", "hardest")
        step = next((name for name in became if getattr(curation, name)[place]), "kept")
        difficulty = kept.get(pair, float(curation.difficulty[place]))
        yield {
            "pair": pair,
            "step": step,
            "difficulty": difficulty if np.isfinite(difficulty) else None,
            "difficulty_eip": of_eip.get(pair),
            "credit": float(right[place]),
            "judges": int(asked[place]),
            **{name: values[place] for name, values in matrix.columns.items()},
        }


def _correlations(made: Portfolio) -> Iterator[dict[str, Any]]:
    named: list[tuple[str, RankCorrelation | None]] = [("methods", one) for one in made.methods]
    named += [("groups", one) for one in made.groups]
    named += [(one.name, one.correlation) for one in made.robustness]
    for one in made.against:
        named.append(("against", one.correlation))
        named.append(("against, without generators", one.correlation_without_generators))
    for name, found in named:
        if found is not None:
            top = {f"top{k}": share for k, share in found.top}
            yield {"analysis": name, **flat(found.to_dict()), **top}


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write each table as `name`.csv and return the files."""
    return [write_csv(folder / f"{name}.csv", rows) for name, rows in tables.items()]


def write_document(document: dict[str, Any], path: Path) -> Path:
    """Write a document of JSON and return the file."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", errors=LONE_SURROGATES)
    return path
