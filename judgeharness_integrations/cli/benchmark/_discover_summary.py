"""What a discovery is to take, and what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from judgeharness_integrations.benchmark.asking.asker import READINGS
from judgeharness_integrations.benchmark.discovery.covering import LONGEST, Cover
from judgeharness_integrations.benchmark.discovery.proposals import ProposalsFile
from judgeharness_integrations.benchmark.discovery.proposing import AT_A_TIME, Batch, Found
from judgeharness_integrations.benchmark.discovery.similarity import MEASURE
from judgeharness_integrations.benchmark.discovery.transcripts import Transcript
from judgeharness_integrations.benchmark.results.costs import Cost
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import Kind
from judgeharness_integrations.cli._printing import console, safe, share, table
from judgeharness_integrations.cli.benchmark._columns import counted
from judgeharness_integrations.cli.benchmark._going import Outcome, cost_document, cost_table
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["DiscoverPlan", "Discovered", "print_discovered"]

_NOTHING = {"failure_types": "show no failure", "behaviours": "are too short to tell"}


@dataclass(frozen=True, kw_only=True)
class DiscoverPlan:
    """What is to be asked."""

    transcripts: int
    model: str
    kind: Kind

    @property
    def at_most(self) -> int:
        """Calls when no transcript is covered and every answer is asked for as often as it may be."""
        return READINGS * (self.transcripts + -(-self.transcripts // AT_A_TIME))

    @property
    def text(self) -> str:
        """The plan in a sentence."""
        return (
            f"plan: {self.transcripts} transcripts are read by {safe_text(self.model, 60)} for {self.kind} that are "
            f"missing: a call for each and one for every {AT_A_TIME} that no type covers, {self.at_most} at most; "
            "retries of failed calls are not counted"
        )


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """What was found: coverage, and the proposals; `found` is None where some transcripts are unfinished."""

    kind: Kind
    transcripts: Sequence[Transcript]
    types: Sequence[str]
    covers: Outcome[Transcript, Cover]
    found: Outcome[Batch, Found] | None
    file: ProposalsFile | None
    path: Path
    costs: Sequence[Cost]

    def count(self, state: str) -> int:
        """Return how many transcripts are of a state."""
        return sum(cover.state == state for cover in self.covers.made)

    @property
    def by_type(self) -> dict[str, int]:
        """How many transcripts each present type covers."""
        counts = Counter(cover.type for cover in self.covers.made)
        return {name: counts[name] for name in self.types}

    @property
    def cut(self) -> int:
        """How many transcripts were too long to be shown as a whole."""
        return sum(len(transcript.text) > LONGEST for transcript in self.transcripts)

    @property
    def unread_batches(self) -> int:
        """How many batches got no answer that could be read."""
        return 0 if self.found is None else sum(part.unread is not None for part in self.found.made)

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        proposals = [] if self.file is None else [one.to_dict(self.kind) for one in self.file.proposals]
        return {
            "schema": "judgeharness.benchmark_discovery/1",
            "of": self.kind,
            "transcripts": len(self.covers.results),
            "covered": self.count("covered"),
            "uncovered": self.count("uncovered"),
            "nothing": self.count("nothing"),
            "unread": self.count("unread"),
            "unfinished": len(self.covers.unfinished),
            "cut": self.cut,
            "types": [{"name": name, "transcripts": count} for name, count in self.by_type.items()],
            "answers": [cover.to_dict() for cover in self.covers.made],
            "batches": None if self.found is None else len(self.found.results),
            "unread_batches": self.unread_batches,
            "unfinished_batches": None if self.found is None else len(self.found.unfinished),
            "measure": MEASURE,
            "proposals": [proposal | {"into": proposal.get("into")} for proposal in proposals],
            "proposals_file": None if self.file is None else self.path.name,
            "calls": self.covers.calls + (0 if self.found is None else self.found.calls),
            "cost": cost_document(self.costs),
        }


def print_discovered(discovered: Discovered) -> None:
    """Print coverage, proposals, what they took, and what to do next."""
    screen, total = console(), len(discovered.covers.results)
    rows = [(safe(name), str(count)) for name, count in discovered.by_type.items()]
    screen.print(table(f"{discovered.kind} in {total} transcripts", ("type", "transcripts"), rows))
    screen.print(Text(_coverage(discovered, total)))
    if discovered.file is not None and discovered.file.proposals:
        _print_proposals(discovered.file, screen)
    if discovered.costs:
        screen.print(cost_table(discovered.costs))
    for line in _next(discovered):
        screen.print(Text(line), soft_wrap=True)


def _coverage(discovered: Discovered, total: int) -> str:
    """Return the shares of all transcripts, those that were not answered too."""
    states = {
        "covered": "are covered by a present type",
        "uncovered": "are covered by none",
        "nothing": _NOTHING[discovered.kind],
        "unread": "got no answer that could be read",
    }
    parts = [f"{share(count, total)} {text}" for state, text in states.items() if (count := discovered.count(state))]
    left = len(discovered.covers.unfinished)
    parts += [f"{share(left, total)} are unfinished"] if left else []
    cut = f"; {discovered.cut} longer than {LONGEST} characters were shown without their middle"
    return "per cent: " + ", ".join(parts) + (cut if discovered.cut else "")


def _print_proposals(file: ProposalsFile, screen: Console) -> None:
    rows = [
        (
            safe(one.name),
            safe("-" if one.nearest is None else one.nearest.name),
            safe(one.decision or "open"),
            "-" if one.nearest is None else f"{one.nearest.similarity:.2f}",
            str(len(one.examples)),
        )
        for one in file.proposals
    ]
    columns = ("proposal", "most like", "decision", "similarity", "transcripts")
    screen.print(table("proposals", columns, rows, texts=3))
    screen.print(Text(f"similarity: {MEASURE}, 0 to 1"))


def _next(discovered: Discovered) -> list[str]:
    unread = discovered.unread_batches
    lines = [f"{unread} of the batches of uncovered transcripts got no answer that could be read"] if unread else []
    if discovered.found is None or discovered.found.unfinished:
        return lines
    if discovered.file is None or not discovered.file.proposals:
        uncovered = discovered.count("uncovered")
        why = f"for the {uncovered} that no type covers" if uncovered else "since no transcript is left uncovered"
        return [*lines, f"no type is proposed {why}"]
    where = safe_text(str(discovered.path), 200)
    open_ones = sum(one.decision is None for one in discovered.file.proposals)
    decide = f"decide about {counted(open_ones, 'proposal')} in {where}, then: " if open_ones else ""
    return [*lines, f"{decide}judgeharness benchmark discover --decided {where} --taxonomy-out taxonomy.yaml"]
