"""What `judgeharness benchmark judge` does: judges one after the other, every answer a row of the folder's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import typer

from judgeharness_integrations._errors import JudgeHarnessError, UsageError
from judgeharness_integrations.benchmark.folder import BenchmarkFolder
from judgeharness_integrations.benchmark.judging.cells import chosen_pairs
from judgeharness_integrations.benchmark.judging.selecting import in_sample, in_states, sampled_ids, states_named
from judgeharness_integrations.benchmark.judging.summary import JudgeDocument, Orders
from judgeharness_integrations.benchmark.pair import Pair
from judgeharness_integrations.benchmark.results.reading import read_results, write_judgments
from judgeharness_integrations.chatmodels import ChatModel
from judgeharness_integrations.cli._asking import confirm
from judgeharness_integrations.cli._failures import told
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._stopping import Terminated, finishing, terminable, undisturbed
from judgeharness_integrations.cli.benchmark._judge_asked import Asked, cases_of, designs_of, judge_models, judge_of
from judgeharness_integrations.cli.benchmark._judge_summary import summary_of
from judgeharness_integrations.cli.benchmark._judge_text import print_plan, print_summary
from judgeharness_integrations.cli.benchmark._models import ModelFile, Spending, read_model_file
from judgeharness_integrations.cli.exits import INTERRUPTED, NOT_GRADED, OK, TERMINATED
from judgeharness_integrations.execution.budget import Budget
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.reporting.plain import safe_text
from judgeharness_integrations.verdictlog.sql.log import SqlLog

__all__ = ["JudgeRequest", "judge_pairs", "tell_of_other_questions"]

_ANOTHER = "give the run another name"  # ends what the harness says of answers to other questions


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """What the command was given."""

    folder: Path
    judges: str
    mode: str
    orders: Orders
    repetitions: int
    fraction: float
    sample: Path | None
    states: str
    seed: int
    documents: bool
    models: Path | None
    spending: Spending
    max_concurrency: int
    yes: bool
    as_json: bool


def judge_pairs(request: JudgeRequest) -> int:
    """Ask judges about the pairs of a benchmark, or go on with it, and return the exit code."""
    folder = BenchmarkFolder(request.folder)
    folder.check()
    models = read_model_file(request.models)
    judges = judge_models(request.judges, models)
    budget = request.spending.budget(models)
    for model in judges.values():
        budget.check_price(model.name)
    with folder.held():
        folder.check_documents()
        pairs = in_states(folder.pairs(), states_named(request.states), where=str(folder.path))
        asked = _asked(folder, _sampled(pairs, request.sample), judges, request)
        with folder.log() as log:
            going = _Going(
                request=request, folder=folder, models=models, pairs=len(pairs), asked=asked, budget=budget, log=log
            )
            return going.go()


def _sampled(pairs: list[Pair], file: Path | None) -> list[Pair]:
    return pairs if file is None else in_sample(pairs, sampled_ids(file), where=str(file))


def _asked(
    folder: BenchmarkFolder, pairs: Sequence[Pair], judges: Mapping[str, ChatModel], request: JudgeRequest
) -> list[Asked]:
    """Build everything that is asked: what cannot be is known before the first call."""
    taxonomy, documents = folder.taxonomy(), {document.document_id: document for document in folder.documents()}
    names = [pair.pair_id for pair in pairs]
    found = []
    for design in designs_of(request.mode, orders=request.orders, repetitions=request.repetitions):
        cases = {
            pair.pair_id: cases_of(design.mode, pair, documents, show_documents=request.documents) for pair in pairs
        }
        for name, model in judges.items():
            chosen = chosen_pairs(names, judge=name, fraction=request.fraction, seed=request.seed)
            found.append(
                Asked(
                    design=design,
                    judge=judge_of(design.mode, model, taxonomy, name=name),
                    model=model,
                    pairs=chosen,
                    cases=[case for pair_id in chosen for case in cases[pair_id]],
                )
            )
    return found


@dataclass(frozen=True, kw_only=True)
class _Going:
    """Judges about to be asked; `pairs` is how many could be judged."""

    request: JudgeRequest
    folder: BenchmarkFolder
    models: ModelFile
    pairs: int
    asked: Sequence[Asked]
    budget: Budget
    log: SqlLog
    down: dict[str, None] = field(default_factory=dict)  # why judges that are down were asked nothing more

    def go(self) -> int:
        """Say what it takes, ask, write everything down, and return the exit code."""
        left = [one.unanswered(one.rows(self.log)) for one in self.asked]
        print_plan(
            list(zip(self.asked, left, strict=True)),
            pairs=self.pairs,
            request=self.request,
            stderr=self.request.as_json,
        )
        if any(left):
            confirm(sum(left), yes=self.request.yes)
        stopped = self._ask()
        with undisturbed():
            write_judgments(read_results(self.folder), self.folder)
            if isinstance(stopped, JudgeHarnessError):
                raise stopped
            document = self._document(stopped)
            self._tell(document)
        return self._ended(document, stopped)

    def _ask(self) -> BaseException | None:
        """Ask every judge, also one all of whose answers are known: they are checked; return what ended that early."""
        try:
            with terminable(), finishing(self.budget):
                for one in self.asked:
                    if not self.budget.exhausted:
                        self._ask_one(one)
        except (JudgeHarnessError, KeyboardInterrupt, Terminated) as error:
            return error
        return KeyboardInterrupt() if self.budget.ended else None

    def _ask_one(self, one: Asked) -> None:
        self.log.set_failed_aside(run=one.design.mode, judge=one.judge.name, case_ids=one.case_ids)
        spending = self.request.spending
        harness = JudgeHarness(
            perturbations=one.design.perturbations,
            repetitions=one.design.repetitions,
            aggregation_rule=one.design.rule,
            max_concurrency=self.request.max_concurrency,
            timeout_s=spending.timeout_s,
            max_attempts=spending.max_attempts,
            budget=self.budget,
            log=self.log,
            run=one.design.mode,
            reuse=False,
        )
        try:
            for result in harness.evaluate_many(one.judge, one.cases):  # its rows are in the log
                if result.ended is not None:
                    self.down[safe_text(without_secrets(result.ended, self.models.options))] = None
        except UsageError as error:
            tell_of_other_questions(error, one.judge.name)
            raise

    def _document(self, stopped: BaseException | None) -> JudgeDocument:
        request = self.request
        state: Literal["complete", "budget_exhausted", "interrupted", "judge_down"] = "complete"
        if stopped is not None:
            state = "interrupted"
        elif self.down:
            state = "judge_down"
        elif self.budget.exhausted:
            state = "budget_exhausted"
        return JudgeDocument(
            state=state,
            budget_reason=self.budget.reason if state == "budget_exhausted" else None,
            pairs=self.pairs,
            states=states_named(request.states),
            sample=None if request.sample is None else str(request.sample),
            fraction=request.fraction,
            seed=request.seed,
            orders=request.orders,
            repetitions=request.repetitions,
            documents=request.documents,
            rules={one.design.mode: one.design.rule for one in self.asked},
            informal=request.orders == "one" and any(one.design.mode == "pairwise" for one in self.asked),
            planned_calls=sum(one.planned for one in self.asked),
            whole_calls=sum(self.pairs * one.design.calls for one in self.asked),
            judges=tuple(summary_of(one, self.log, self.models) for one in self.asked),
        )

    def _tell(self, document: JudgeDocument) -> None:
        if self.request.as_json:
            print_json(document.to_dict())
        else:
            print_summary(document, folder=self.folder.path)

    def _ended(self, document: JudgeDocument, stopped: BaseException | None) -> int:
        """Say on standard error how it ended and why calls failed, and return the exit code."""
        for one in document.judges:
            name = one.judge if len(document.rules) == 1 else f"{one.judge} ({one.mode})"
            for line in told(name, [kind.to_dict() for kind in one.failures]):
                typer.echo(line, err=True)
        left, kept = document.unanswered, "what was answered is kept, and the same command goes on from there."
        of = f"{left} of {document.planned_calls} calls"
        if stopped is not None:
            how = "terminated" if isinstance(stopped, Terminated) else "interrupted"
            typer.echo(f"{how}: {of} are left; {kept}", err=True)
            return TERMINATED if how == "terminated" else INTERRUPTED
        if not left:
            return OK
        why = document.budget_reason or "; ".join(self.down)
        reason = f" ({why})" if why else ""
        typer.echo(f"{of} have no answer{reason}: {kept}", err=True)
        return NOT_GRADED


def tell_of_other_questions(error: UsageError, judge: str) -> None:
    """Let an error that advises another name for the run advise what can be done here, where runs have one name."""
    if _ANOTHER in str(error):
        other = f"judge {judge!r} was asked before with other options, another taxonomy or other documents"
        file = "or before its file was changed: ask as before, give a changed function another name"
        error.args = (f"{other}, {file}, or judge in a copy of the folder without verdicts.sqlite.",)
