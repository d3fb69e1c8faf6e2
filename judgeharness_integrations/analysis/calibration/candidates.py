"""The ledgers of candidates: which judges and rules were measured on one label set, beside labels and logs.

It holds digests alone, neither names nor prompts, and is only ever appended to, one line a look.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.analysis.calibration.history import append_line, read_lines
from judgeharness_integrations.analysis.calibration.holdout import Part
from judgeharness_integrations.analysis.calibration.items import ONLY_CRITERION, LabelledItem, canonical_label
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import Verdict, verdict_to_json

__all__ = [
    "CANDIDATES_SCHEMA",
    "Ledger",
    "Look",
    "add_look",
    "candidate_of_items",
    "candidate_of_parts",
    "digest_of_labels",
    "ledger_path",
    "ledger_path_of_log",
    "ledgers_beside",
    "read_ledger",
]

CANDIDATES_SCHEMA: Final = "judgeharness.label_candidates/1"
_CALLED: Final = ("the ledger of candidates", "--ledger, in a configuration calibration.ledger")
_OF_LOGS: Final = "candidates.jsonl"
_DIGITS: Final = 32  # of a digest: 128 bits


@dataclass(frozen=True, kw_only=True)
class Look:
    """One candidate measured on (a part of) one label set: digests, and an ISO 8601 time with offset."""

    labels: str
    candidate: str
    part: Part
    looked_at: str

    def to_dict(self) -> dict[str, Any]:
        """Return the line as the ledger keeps it (schema `judgeharness.label_candidates/1`)."""
        return {
            "schema": CANDIDATES_SCHEMA,
            "labels": self.labels,
            "candidate": self.candidate,
            "part": self.part.name,
            "holdout": self.part.holdout,
            "looked_at": self.looked_at,
        }


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The looks of a ledger in order, and how many of its lines could not be read; these stay in the file."""

    looks: tuple[Look, ...] = ()
    unreadable: int = 0

    def candidates(self, labels: str, part: Part) -> frozenset[str]:
        """Return the candidates that were measured on cases of a part of a label set."""
        return frozenset(look.candidate for look in self.looks if look.labels == labels and look.part.meets(part))

    def others(self, labels: str) -> int:
        """Return how many candidates were measured on other label sets of the same file: before it was changed."""
        return len({look.candidate for look in self.looks if look.labels != labels})


def ledger_path(labels: Path) -> Path:
    """Return where the ledger of a file of labels is: beside it."""
    return labels.with_name(f"{labels.name.split('.')[0] or labels.name}.candidates.jsonl")


def ledger_path_of_log(log: Path) -> Path:
    """Return where candidates are counted beside a log, or a run's folder: once for all that lie there.

    Each candidate has a log of its own, with the same labels in it.
    """
    return (log.resolve() if log.name in {"", ".."} else log).with_name(_OF_LOGS)


def ledgers_beside(*ledgers: Path) -> list[Path]:
    """Return all ledgers in the folders of some, whatever files of labels they are named after."""
    folders = dict.fromkeys(ledger.parent for ledger in ledgers)
    return [path for folder in folders for path in (folder / _OF_LOGS, *sorted(folder.glob(f"*.{_OF_LOGS}")))]


def digest_of_labels(golds: Mapping[str, Mapping[str, Verdict]]) -> str:
    """Return what tells a label set from others: a digest of case ids, criteria and labels, in any order.

    Labels in other words for PASS and FAIL, and A, B and TIE in small letters, are the same labels; so are those of the
    only criterion with its name and without, as logs and files of labels hold them.
    """
    named = len({criterion for parts in golds.values() for criterion in parts}) > 1
    return _digest(
        sorted(
            [case_id, criterion if named else ONLY_CRITERION, json.dumps(verdict_to_json(canonical_label(gold)))]
            for case_id, parts in golds.items()
            for criterion, gold in parts.items()
        )
    )


def candidate_of_parts(parts: Mapping[str, Any]) -> str:
    """Return the digest of a judge under a design, as its fingerprint covers it."""
    return _digest(["asked", parts])


def candidate_of_items(judge: str, rule: str, items: Iterable[LabelledItem]) -> str:
    """Return the digest of what a rule makes of a judge's answers in a log: other decisions are another candidate."""
    decisions = sorted(json.dumps(item.to_dict(), sort_keys=True) for item in items)
    return _digest(["log", judge, rule, decisions])


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", errors=LONE_SURROGATES)).hexdigest()[:_DIGITS]


def add_look(path: Path, look: Look) -> Ledger:
    """Add a look, unless it is known, and return the ledger with it.

    A line is one write at the end of the file, so that processes side by side lose nothing, and the one that comes
    later counts both.

    Raises:
        ConfigError: it cannot be read or written.

    """
    known = read_ledger(path)
    if any((one.labels, one.candidate, one.part) == (look.labels, look.candidate, look.part) for one in known.looks):
        return known
    append_line(path, look.to_dict(), called=_CALLED)
    return read_ledger(path)


def read_ledger(path: Path) -> Ledger:
    """Return the looks in a file; without the file there were none.

    Raises:
        ConfigError: it cannot be read.

    """
    looks, unreadable = read_lines(path, _look, called=_CALLED)
    return Ledger(looks=tuple(looks), unreadable=unreadable)


def _look(line: str) -> Look | None:
    try:
        data = json.loads(line)
        if data["schema"] != CANDIDATES_SCHEMA:
            return None
        part = Part(name=data["part"], holdout=data["holdout"])
        texts = {name: str(data[name]) for name in ("labels", "candidate", "looked_at")}
    except (ValueError, RecursionError, KeyError, TypeError, UsageError):
        return None
    return Look(part=part, **texts)
