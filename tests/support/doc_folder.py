"""The folder a reader of the documentation is in: examples, cases, a judge, labels and logs, named as on the pages."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

from judgeharness_integrations import VerdictRow, write_log
from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import SqlLog
from support.doc_pages import ROOT

__all__ = ["fill_sheet", "folder_of_a_reader", "runs_to_compare"]

CASES = 60
CONFIGURATION = """
judges:
  - {name: house, callable: "house_of_docs:judge", model: house-1}
cases: cases.csv
harness: {perturbations: [none, format_change], repetitions: 3, aggregation_rule: majority, on_unfit: skip}
out: runs/first
"""
JUDGE = '''
"""A judge that misses long answers."""


def judge(case):
    return "PASS" if case.output.startswith("good") and len(case.output) < 60 else "FAIL"


def worse(case):
    return "FAIL"
'''


def folder_of_a_reader(folder: Path) -> None:
    """Put everything in a folder that the commands of the pages read."""
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__", ".adk"))
    shutil.copy(ROOT / "examples" / "annotator_study" / "labels.csv", folder)
    (folder / "house_of_docs.py").write_text(JUDGE, encoding="utf-8")
    for name in ("run.yaml", "config.yaml"):
        (folder / name).write_text(CONFIGURATION, encoding="utf-8")
    with (folder / "cases.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("case_id", "input", "output"), *((f"c{n}", "Say it.", _text(n)) for n in range(CASES))]
        )
    write_log(
        [VerdictRow(case_id=f"c{n}", judge="cleo", verdict=_label(n)) for n in range(CASES)], folder / "cleo.jsonl"
    )
    write_log(_samples(gold=True), folder / "verdicts.csv")
    write_log(_samples(gold=False), folder / "pilot.jsonl")


def fill_sheet(path: Path) -> None:
    """Fill the column `label` of a sheet as people would: good is PASS, and the first item is a matter of taste."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for place, row in enumerate(rows):
        good = row["output"].startswith("good") or (place == 0 and path.name.startswith("ben"))
        row["label"] = "PASS" if good else "FAIL"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def runs_to_compare(folder: Path, *names: str) -> None:
    """Write runs of these names, the last one of a worse judge, and logs of two runs, of two files, of two judges."""
    for name in names:
        judge = "worse" if name == names[-1] else "judge"
        (folder / "compared.yaml").write_text(CONFIGURATION.replace("docs:judge", f"docs:{judge}"), encoding="utf-8")
        assert main(["run", str(folder / "compared.yaml"), "--out", str(folder / name), "--yes"]) == 0
    for name in ("a.csv", "b.csv"):
        write_log(_samples(gold=True), folder / name)
    with SqlLog(folder / "log.sqlite") as log:
        log.append(replace(row, run=run) for run in "xy" for row in _samples(gold=False))
    pairs = [
        VerdictRow(case_id=f"p{n}", judge=judge, perturbation=order, swapped=order != "none", verdict="AB"[n % 2])
        for n in range(CASES)
        for judge in ("gpt-4o", "house")
        for order in ("none", "position_swap")
    ]
    write_log(pairs, folder / "log.csv")


def _text(n: int) -> str:
    return f"{'good' if n % 3 else 'poor'} answer **number** {n}{' and more' * (6 if n % 10 == 1 else 0)}."


def _label(n: int) -> str:
    return "PASS" if n % 3 else "FAIL"


def _samples(*, gold: bool) -> list[VerdictRow]:
    """Three samples under each of two perturbations, of which some err."""
    return [
        VerdictRow(
            case_id=f"c{n}",
            judge="house",
            perturbation=perturbation,
            repetition=repetition,
            verdict=_label(n) if (n + 2 * repetition + len(perturbation)) % 7 else "FAIL",
            gold=_label(n) if gold and n % 2 else None,
        )
        for n in range(CASES)
        for perturbation in ("none", "format_change")
        for repetition in range(3)
    ]
