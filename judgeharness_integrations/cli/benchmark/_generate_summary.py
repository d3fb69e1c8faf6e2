"""What became of the pairs that were planned, and what they took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from judgeharness_integrations.benchmark.conditions import Conditions
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.costs import Cost
from judgeharness_integrations.benchmark.results.flow import flow, reasons
from judgeharness_integrations.benchmark.settings import Settings
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, percent, safe, table
from judgeharness_integrations.cli._stopping import Terminated
from judgeharness_integrations.cli.benchmark._columns import SEVERAL_REASONS, alike
from judgeharness_integrations.cli.benchmark._going import Outcome, cost_document, cost_table
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["Generated", "print_generated"]

_ENDINGS: Final = {
    "unfinished": "unfinished",
    "form": "malformed: no pair can be read from the answers",
    "coherence": "incoherent: the plans conflict",
    "adherence": "not adherent: flaw or user are not as declared",
    "grounding": "not grounded: claims outside the flawed turn",
    "unread": "unverified: the verifier could not be read",
    "unverified": "unverified: there was no verifier",
    "accepted": "accepted",
}
_LONGEST_REASON = 100


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What was done: `drawn` are the conditions of all pairs planned, `costs` those of earlier commands too."""

    folder: Path
    settings: Settings
    drawn: Sequence[Conditions]
    outcome: Outcome[Conditions, Pair]
    costs: Sequence[Cost]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON keeps it; the counts add up to the pairs planned."""
        ended = flow(self.outcome.made, self.drawn, judged=(), columns=())[0]
        cost = cost_document(self.costs)
        spent = cost["cost"]
        return {
            "schema": "judgeharness.benchmark_generate/1",
            "folder": self.folder.name,
            "state": self._state(),
            "generator": self.settings.generator,
            "verifier": self.settings.verifier,
            "min_grounded": self.settings.min_grounded,
            "seed": self.settings.drawing.seed,
            "planned": ended.planned,
            "counts": {name: getattr(ended, name) for name in _ENDINGS},
            "reasons": [reason.to_dict() for reason in reasons(self._made())],
            "calls": self.outcome.calls,
            "cost": cost,
            "cost_per_accepted": spent / ended.accepted if spent is not None and ended.accepted else None,
        }

    def _made(self) -> list[Pair]:
        return sorted(self.outcome.made, key=lambda pair: pair.conditions.number)

    def _state(self) -> str:
        if self.outcome.stopped is not None:
            return "terminated" if isinstance(self.outcome.stopped, Terminated) else "interrupted"
        return "unfinished" if self.outcome.unfinished else "complete"


def print_generated(done: Generated, *, as_json: bool) -> None:
    """Print what became of the pairs and what to do next, as text or as JSON."""
    document = done.to_dict()
    if as_json:
        print_json(document)
        return
    screen, planned = console(), document["planned"]
    counts = {name: count for name, count in document["counts"].items() if count}
    rows = [(_ENDINGS[name], str(count), percent(count / planned)) for name, count in counts.items()]
    screen.print(table("pairs", ("what became of them", "pairs", f"% of {planned}"), rows))
    why = [
        (one["layer"], safe(one["reason"], _LONGEST_REASON), one["example"], alike(one["pairs"]))
        for one in document["reasons"]
    ]
    if why:
        screen.print(table("why", ("layer", "reason", "pair", ""), why, texts=4))
        screen.print(SEVERAL_REASONS, soft_wrap=True)
    if done.costs:
        screen.print(cost_table(done.costs, title="what the answers took, earlier commands included"))
    for line in _lines(document, safe_text(str(done.folder))):
        screen.print(Text(line), soft_wrap=True)


def _lines(document: Mapping[str, Any], folder: str) -> Iterator[str]:
    each = document["cost_per_accepted"]
    cost = "" if each is None else f"; an accepted pair cost {each:.4f} by the prices given"
    yield f"\ncalls of this command: {document['calls']}, retries included{cost}"
    yield f"written to {folder}: benchmark.json, documents.jsonl, taxonomy.json, pairs.jsonl"
    if document["state"] != "complete":
        return
    if document["verifier"] is None and document["counts"]["unverified"]:
        yield f"next: judgeharness benchmark verify {folder} --verifier MODEL"
    elif document["counts"]["accepted"]:
        yield f"next: judgeharness benchmark judge {folder} --judges MODEL,..."
    else:
        yield from _none_accepted(document, folder)


def _none_accepted(document: Mapping[str, Any], folder: str) -> Iterator[str]:
    """Say what most pairs were turned down for, and where to see it."""
    if document["reasons"]:
        top = max(document["reasons"], key=lambda one: one["pairs"])
        reason = safe_text(top["reason"], _LONGEST_REASON)
        yield f"no pair was accepted: look first at {top['layer']}, {reason} ({top['pairs']} of {document['planned']})"
        yield f"next: judgeharness benchmark show {folder} {top['example']}"
    else:
        yield f"no pair was accepted; next: judgeharness benchmark stats {folder}"
