"""Proposals one by one on a terminal: keep, merge or drop, every decision written at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from judgeharness_integrations.benchmark.discovery.proposals import Decision, Proposal, ProposalsFile
from judgeharness_integrations.benchmark.discovery.similarity import MEASURE
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["Sitting"]

_DECISIONS: Final[dict[str, Decision]] = {"k": "keep", "m": "merge", "d": "drop"}
_TEXTS: Final = ("definition", "flaw", "benign", "description")
_LONGEST: Final = 600
_EXAMPLES: Final = 8


class Sitting:
    """Asks about every proposal nobody decided about yet.

    Args:
        file: the proposals.
        taxonomy: the present types, some of which stand beside them.
        read: returns the next line typed, with its end; an empty text at the end of input.
        write: shows a text.
        save: keeps the file after a decision.

    """

    def __init__(
        self,
        file: ProposalsFile,
        taxonomy: Taxonomy,
        *,
        read: Callable[[], str],
        write: Callable[[str], None],
        save: Callable[[ProposalsFile], None],
    ) -> None:
        """Begin with the file as it is."""
        self.file = file
        self._taxonomy = taxonomy
        self._read, self._write, self._save = read, write, save

    def run(self) -> ProposalsFile:
        """Ask until all are decided or left for later, or the person quits; return the file."""
        undecided = [one for one in self.file.proposals if one.decision is None]
        for number, proposal in enumerate(undecided, start=1):
            self._write(f"\nproposal {number} of {len(undecided)}\n")
            for line in self._shown(proposal):
                self._write(f"{line}\n")
            answer = self._ask(proposal)
            if answer == "q":
                break
            if answer in _DECISIONS:
                self.file = self.file.deciding(proposal.name, _DECISIONS[answer])
                self._save(self.file)
        return self.file

    def _ask(self, proposal: Proposal) -> str:
        """Return the key of a decision, an empty text for later, or `q`."""
        merge = f"m merge into {proposal.target}, " if proposal.target is not None else ""
        keys = {"k", "d", "q", "", *("m" if merge else "")}
        while True:
            self._write(f"k keep, {merge}d drop, Enter later, q quit > ")
            line = self._read()
            answer = line.strip().casefold()[:1]
            if not line:  # the end of what is typed
                self._write("\n")
                return "q"
            if answer in keys:
                return answer

    def _shown(self, proposal: Proposal) -> Iterator[str]:
        facts = proposal.to_dict(self.file.of)
        yield f"  {proposal.name}"
        for key in _TEXTS:
            if facts.get(key):
                yield f"    {key}: {safe_text(facts[key], _LONGEST)}"
        examples = ", ".join(safe_text(name, 60) for name in proposal.examples[:_EXAMPLES])
        yield f"    seen in {len(proposal.examples)} transcripts: {examples}"
        if proposal.nearest is None:
            yield "  there is no other type"
            return
        name = proposal.nearest.name
        yield f"  most like {name} ({MEASURE} {proposal.nearest.similarity:.2f})"
        about = self._about(name)
        if about is not None:
            yield f"    {safe_text(about, _LONGEST)}"

    def _about(self, name: str) -> str | None:
        """Return what a present or proposed type is."""
        if name in self._taxonomy.failure_types:
            return self._taxonomy.failure_types[name].definition
        if name in self._taxonomy.behaviours:
            return self._taxonomy.behaviours[name].description
        found = next((one for one in self.file.proposals if one.name == name), None)
        return None if found is None else found.definition or found.description
