"""A study and its analyses as tables of plain rows, and those as CSV files."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from judgeharness_integrations.analysis.ranking.analyses import Portfolio
from judgeharness_integrations.analysis.ranking.comparing import RankCorrelation
from judgeharness_integrations.analysis.ranking.studying import RankStudy
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES, defused

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
