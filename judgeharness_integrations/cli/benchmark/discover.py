"""`judgeharness benchmark discover --decided`: what people kept of proposals as a taxonomy's file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import typer

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.benchmark.asker import READINGS, Asker
from judgeharness_integrations.benchmark.discovery import (
    AT_A_TIME,
    COVER,
    LONGEST,
    MEASURE,
    PROPOSALS,
    PROPOSE,
    Batch,
    Cover,
    Decided,
    Decision,
    Found,
    Proposal,
    ProposalsFile,
    Transcript,
    batches,
    covered,
    decided,
    joined,
    proposals_of,
    proposed,
    read_proposals,
    read_transcripts,
    write_proposals,
    write_taxonomy,
)
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.pair import Taxonomy
from judgeharness_integrations.benchmark.taxonomy import Kind, TaxonomyFile, load_taxonomy, read_taxonomy_file
from judgeharness_integrations.benchmark.verdicts import Cost
from judgeharness_integrations.reporting.sections import Block, Table
from judgeharness_integrations.verdictlog.encoding import counted, safe_text, share

from .._asking import confirm
from .._command import OK
from .._output import check_file, print_json, show
from .asking import Job, Outcome, cost_blocks, cost_document, read_model_file
from .options import DiscoverRequest


def apply_decisions(proposals: Path, *, taxonomy: Path | None, out: Path | None, overwrite: bool, as_json: bool) -> int:
    """Write a taxonomy with what was kept, print what became of each proposal, and return the exit code.

    Raises:
        UsageError: there is no `out`, or the decisions do not fit together.

    """
    if out is None:
        raise UsageError("say where the taxonomy is to go: give --taxonomy-out taxonomy.yaml.")
    check_file(out)
    if out.exists() and not overwrite:
        raise ConfigError(f"{out} exists: give another --taxonomy-out, or --overwrite.")
    base = TaxonomyFile(extends="default") if taxonomy is None else read_taxonomy_file(taxonomy)
    made = decided(read_proposals(proposals), base, source=str(proposals))
    write_taxonomy(made.file, out)
    if as_json:
        print_json(_document(made, out))
    else:
        typer.echo(_decisions_text(made, out))
    return OK


def _document(made: Decided, out: Path) -> dict[str, Any]:
    return {
        "schema": "judgeharness.benchmark_discovery/1",
        "taxonomy": str(out),
        "kept": list(made.kept),
        "merged": [entry.model_dump() for entry in made.merged],
        "dropped": list(made.dropped),
        "undecided": list(made.undecided),
    }


def _decisions_text(made: Decided, out: Path) -> str:
    total = len(made.kept) + len(made.merged) + len(made.dropped) + len(made.undecided)
    lines = [f"{total} proposals: {len(made.kept)} kept, {len(made.merged)} merged, {len(made.dropped)} dropped"]
    lines[0] += f", {len(made.undecided)} without a decision, which stay out" if made.undecided else ""
    lines += [f"  kept {name}" for name in made.kept]
    lines += [f"  merged {entry.name} into {entry.into}, whose definition stands" for entry in made.merged]
    where = safe_text(str(out), 200)
    return "\n".join([*lines, f"{where} is written: judgeharness benchmark generate DOCS --taxonomy {where} ..."])


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
            for line in self._lines(proposal):
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

    def _lines(self, proposal: Proposal) -> Iterator[str]:
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


def _blocks(discovered: Discovered) -> Iterator[Block]:
    """Yield coverage, proposals, what they took, and what to do next."""
    total = len(discovered.covers.results)
    rows = ((name, str(count)) for name, count in discovered.by_type.items())
    yield Table.of(f"{discovered.kind} in {total} transcripts", ("type", "transcripts"), rows)
    yield _coverage(discovered, total)
    if discovered.file is not None and discovered.file.proposals:
        yield from _proposal_blocks(discovered.file)
    yield from cost_blocks(discovered.costs)
    yield from _next(discovered)


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


def _proposal_blocks(file: ProposalsFile) -> Iterator[Block]:
    rows = (
        (
            one.name,
            "-" if one.nearest is None else one.nearest.name,
            one.decision or "open",
            "-" if one.nearest is None else f"{one.nearest.similarity:.2f}",
            str(len(one.examples)),
        )
        for one in file.proposals
    )
    columns = ("proposal", "most like", "decision", "similarity", "transcripts")
    yield Table.of("proposals", columns, rows, texts=3)
    yield f"similarity: {MEASURE}, 0 to 1"


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


def discover_types(request: DiscoverRequest) -> int:
    """Look for types, or make a taxonomy of decisions, and return the exit code."""
    if request.decided is not None:
        if request.transcripts or request.model is not None or request.out is not None:
            raise UsageError("--decided asks nobody: leave out the transcripts, --model and --out.")
        return apply_decisions(
            request.decided,
            taxonomy=request.taxonomy,
            out=request.taxonomy_out,
            overwrite=request.overwrite,
            as_json=request.as_json,
        )
    if not request.transcripts or request.model is None or request.out is None:
        raise UsageError(
            "give transcripts, a model and a folder: judgeharness benchmark discover TRANSCRIPTS --model MODEL --out "
            "FOLDER."
        )
    if request.taxonomy_out is not None:
        raise UsageError("--taxonomy-out goes with --decided: decide about the proposals first.")
    folder = BenchmarkFolder(request.out)
    transcripts, taxonomy = read_transcripts(request.transcripts), load_taxonomy(request.taxonomy)
    models = read_model_file(request.asking.models)
    model, budget = models.model(request.model), request.asking.budget(models.prices)
    with folder.held():
        before = _before(folder, request.kind)
        budget.check_price(model.name)
        plan = DiscoverPlan(transcripts=len(transcripts), model=model.name, kind=request.kind)
        typer.echo(plan.text, err=request.as_json)
        confirm(plan.at_most, yes=request.yes, at_most=True)
        with folder.journal() as journal:
            job = Job(journal=journal, models=[model], file=models, budget=budget, options=request.asking)
            discovered = _discovered(job, request, transcripts, taxonomy, before=before, path=folder.path / PROPOSALS)
        return _end(job, discovered, request, taxonomy)


def _before(folder: BenchmarkFolder, kind: Kind) -> ProposalsFile | None:
    """Return the proposals that stand in the folder, with what people decided about them."""
    path = folder.path / PROPOSALS
    if not path.is_file():
        return None
    before = read_proposals(path)
    if before.of != kind:
        raise UsageError(f"{path} holds proposals of {before.of}: give another --out for each kind.")
    return before


def _discovered(
    job: Job,
    request: DiscoverRequest,
    transcripts: Sequence[Transcript],
    taxonomy: Taxonomy,
    *,
    before: ProposalsFile | None,
    path: Path,
) -> Discovered:
    """Ask, and write the proposals."""
    [model] = job.models

    async def cover(transcript: Transcript, asker: Asker) -> Cover:
        return await covered(transcript, taxonomy=taxonomy, kind=request.kind, model=model, asker=asker)

    async def propose(batch: Batch, asker: Asker) -> Found:
        return await proposed(batch, taxonomy=taxonomy, kind=request.kind, model=model, asker=asker)

    covers = job.ask(transcripts, cover, title="transcripts")
    found = None
    if not covers.unfinished and covers.stopped is None:  # proposals rest on all that is uncovered
        found = job.ask(batches(transcripts, covers.made), propose, title="proposals")
    return Discovered(
        kind=request.kind,
        transcripts=transcripts,
        types=list(getattr(taxonomy, request.kind)),
        covers=covers,
        found=found,
        file=_proposals(before, found, taxonomy, kind=request.kind, path=path),
        path=path,
        costs=job.costs((COVER, PROPOSE)),
    )


def _proposals(
    before: ProposalsFile | None, found: Outcome[Batch, Found] | None, taxonomy: Taxonomy, *, kind: Kind, path: Path
) -> ProposalsFile | None:
    """Write the proposals once all are there, what stood there before as it was, and return the file."""
    if found is None or found.unfinished:
        return before
    suggested = [one for part in found.made for one in part.suggested]
    new = proposals_of(suggested, taxonomy, kind=kind)
    file = ProposalsFile(of=kind, proposals=joined(before.proposals if before else (), new))
    write_proposals(file, path)
    return file


def _end(job: Job, discovered: Discovered, request: DiscoverRequest, taxonomy: Taxonomy) -> int:
    """Print what was found, have a person decide where one is there, and return the exit code."""
    if request.as_json:
        print_json(discovered.document())
    else:
        show(_blocks(discovered))
    code = job.end(discovered.covers, "transcripts")
    if discovered.found is not None:
        code = code or job.end(discovered.found, "batches of proposals")
    somebody = sys.stdin.isatty() and sys.stdout.isatty() and not request.yes and not request.as_json
    if code == OK and discovered.file is not None and somebody:
        Sitting(
            discovered.file,
            taxonomy,
            read=lambda: sys.stdin.readline(),  # noqa: PLW0108 - the stream of the moment
            write=partial(typer.echo, nl=False),
            save=lambda changed: write_proposals(changed, discovered.path),
        ).run()
    return code
