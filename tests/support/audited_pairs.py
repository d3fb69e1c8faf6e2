"""Labels on the pairs of a benchmark and on the cases of a run, as people would give them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from judgeharness_integrations.audit.cases import PlainTask, plain_questions, read_run_cases
from judgeharness_integrations.audit.labels import PairLabel, label_log, read_assignment
from judgeharness_integrations.labelling import LabelLog

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["label_as_people", "label_assigned", "label_run", "said_of"]

_HUNDRED = 100
_NOISE, _AMBIGUOUS = 6, 14  # of a hundred: below the first is noise, below the second ambiguous


def said_of(pair_id: str, annotator: str) -> PairLabel:
    """Return what an annotator says of a pair: nearly always what the others say."""
    drawn = zlib.crc32(pair_id.encode()) % _HUNDRED
    if drawn < _NOISE:
        return "noise"
    differs = zlib.crc32(f"{annotator} {pair_id}".encode()) % _HUNDRED < _NOISE
    return "ambiguous" if drawn < _AMBIGUOUS or differs else "clean"


def label_assigned(folder: Path) -> dict[str, dict[str, PairLabel]]:
    """Let every annotator label their bundle; return what each of them said."""
    assignment = read_assignment(folder)
    assert assignment is not None
    said: dict[str, dict[str, PairLabel]] = {}
    for annotator, bundle in assignment.bundles.items():
        log = label_log(folder, annotator)
        said[annotator] = {pair_id: said_of(pair_id, annotator) for pair_id in bundle}
        for pair_id, label in said[annotator].items():
            log.append(pair_id, label, "the question has two answers" if label == "ambiguous" else "")
    return said


def label_run(run: Path, annotator: str) -> None:
    """Let somebody label every case of a run: a good answer passes, of two answers the shorter one is better."""
    asked = plain_questions(read_run_cases(run, None), annotator=annotator)
    task = PlainTask(asked, LabelLog(run / "labels" / f"{annotator}.jsonl"), annotator=annotator)
    for place, (key, question) in enumerate(sorted(task.questions.items())):
        if (other := question.texts.get("output_b")) is not None:
            task.answer(key, "A" if len(question.texts["output"]) < len(other) else "B")
            continue
        good = question.texts["output"].startswith("good") or (place == 0 and annotator == "ben")
        task.answer(key, "PASS" if good else "FAIL")


def label_as_people(folder: Path, place: str, *annotators: str) -> None:
    """Label the run of a folder as annotators do, or the pairs of its benchmark as those who were assigned them."""
    for annotator in annotators:
        label_run(folder / place, annotator)
    if not annotators:
        label_assigned(folder / place)
