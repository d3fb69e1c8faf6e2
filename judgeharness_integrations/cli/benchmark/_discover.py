"""What `judgeharness benchmark discover` does: coverage first, then proposals, then a person's decisions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.asking.asker import Asker
from judgeharness_integrations.benchmark.discovery.covering import COVER, Cover, covered
from judgeharness_integrations.benchmark.discovery.files import PROPOSALS, write_proposals
from judgeharness_integrations.benchmark.discovery.proposals import (
    ProposalsFile,
    joined,
    proposals_of,
    read_proposals,
)
from judgeharness_integrations.benchmark.discovery.proposing import PROPOSE, Batch, Found, batches, proposed
from judgeharness_integrations.benchmark.discovery.transcripts import Transcript, read_transcripts
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.taxonomy.loading import load_taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import Kind
from judgeharness_integrations.chatmodels import ChatModel
from judgeharness_integrations.cli._asking import confirm
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli.benchmark._discover_applying import apply_decisions
from judgeharness_integrations.cli.benchmark._discover_sitting import Sitting
from judgeharness_integrations.cli.benchmark._discover_summary import Discovered, DiscoverPlan, print_discovered
from judgeharness_integrations.cli.benchmark._going import Outcome, ask_all, cost_rows, ended
from judgeharness_integrations.cli.benchmark._models import ModelFile, Spending, read_model_file

if TYPE_CHECKING:
    from judgeharness_integrations.execution.budget import Budget

__all__ = ["DiscoverRequest", "discover_types"]


@dataclass(frozen=True, kw_only=True)
class DiscoverRequest:
    """What the command was given."""

    transcripts: tuple[Path, ...]
    model: str | None
    kind: Kind
    taxonomy: Path | None
    out: Path | None
    decided: Path | None
    taxonomy_out: Path | None
    overwrite: bool
    models: Path | None
    spending: Spending
    max_concurrency: int
    yes: bool
    as_json: bool


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
    models = read_model_file(request.models)
    going = _Going(
        request=request,
        transcripts=transcripts,
        taxonomy=taxonomy,
        models=models,
        model=models.model(request.model),
        budget=request.spending.budget(models),
        folder=folder,
    )
    with folder.held():
        return going.go()


@dataclass(frozen=True, kw_only=True)
class _Going:
    """Everything a discovery needs once it may ask."""

    request: DiscoverRequest
    transcripts: Sequence[Transcript]
    taxonomy: Taxonomy
    models: ModelFile
    model: ChatModel
    budget: Budget
    folder: BenchmarkFolder

    @property
    def path(self) -> Path:
        """The file of proposals."""
        return self.folder.path / PROPOSALS

    def go(self) -> int:
        """Ask, write the proposals, print, and have a person decide where one is there."""
        before = self._before()
        self.budget.check_price(self.model.name)
        plan = DiscoverPlan(transcripts=len(self.transcripts), model=self.model.name, kind=self.request.kind)
        typer.echo(plan.text, err=self.request.as_json)
        confirm(plan.at_most, yes=self.request.yes, at_most=True)
        with self.folder.journal() as journal:
            asker = Asker(journal=journal, budget=self.budget)
            covers = self._covers(asker)
            whole = not covers.unfinished and covers.stopped is None
            # proposals rest on all that is uncovered: they wait until that is known
            found = self._found(batches(self.transcripts, covers.made), asker) if whole else None
            costs = cost_rows(journal.usage(), self.models.prices, steps=(COVER, PROPOSE))
        file = self._written(before, found)
        discovered = Discovered(
            kind=self.request.kind,
            transcripts=self.transcripts,
            types=list(getattr(self.taxonomy, self.request.kind)),
            covers=covers,
            found=found,
            file=file,
            path=self.path,
            costs=costs,
        )
        return self._tell(discovered)

    def _before(self) -> ProposalsFile | None:
        """Return the proposals that stand in the folder, with what people decided about them."""
        if not self.path.is_file():
            return None
        before = read_proposals(self.path)
        if before.of != self.request.kind:
            raise UsageError(f"{self.path} holds proposals of {before.of}: give another --out for each kind.")
        return before

    def _covers(self, asker: Asker) -> Outcome[Transcript, Cover]:
        cover = partial(covered, taxonomy=self.taxonomy, kind=self.request.kind, model=self.model, asker=asker)
        return ask_all(
            self.transcripts,
            cover,
            models=[self.model],
            budget=self.budget,
            concurrency=self.request.max_concurrency,
            title="transcripts",
        )

    def _found(self, parts: Sequence[Batch], asker: Asker) -> Outcome[Batch, Found]:
        propose = partial(proposed, taxonomy=self.taxonomy, kind=self.request.kind, model=self.model, asker=asker)
        return ask_all(
            parts,
            propose,
            models=[self.model],
            budget=self.budget,
            concurrency=self.request.max_concurrency,
            title="proposals",
        )

    def _written(self, before: ProposalsFile | None, found: Outcome[Batch, Found] | None) -> ProposalsFile | None:
        """Write the proposals once all are there, what stood there before as it was, and return the file."""
        if found is None or found.unfinished:
            return before
        suggested = [one for part in found.made for one in part.suggested]
        new = proposals_of(suggested, self.taxonomy, kind=self.request.kind)
        file = ProposalsFile(of=self.request.kind, proposals=joined(before.proposals if before else (), new))
        write_proposals(file, self.path)
        return file

    def _tell(self, discovered: Discovered) -> int:
        if self.request.as_json:
            print_json(discovered.document())
        else:
            print_discovered(discovered)
        code = ended(discovered.covers, what="transcripts", options=self.models.options)
        if discovered.found is not None:
            code = code or ended(discovered.found, what="batches of proposals", options=self.models.options)
        if code == 0 and discovered.file is not None and self._somebody():
            self._decide(discovered.file)
        return code

    def _somebody(self) -> bool:
        """Whether somebody is there to decide."""
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        return terminal and not self.request.yes and not self.request.as_json

    def _decide(self, file: ProposalsFile) -> None:
        sitting = Sitting(
            file,
            self.taxonomy,
            read=lambda: sys.stdin.readline(),  # noqa: PLW0108 - the stream of the moment
            write=partial(typer.echo, nl=False),
            save=lambda changed: write_proposals(changed, self.path),
        )
        sitting.run()
