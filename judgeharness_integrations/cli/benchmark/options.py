"""The options of `judgeharness benchmark`: a class for each command; what it does is imported when it is called."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from judgeharness_integrations._errors import UsageError

from .._command import (
    SEVERAL,
    AnswerMode,
    BenchmarkDir,
    CutTies,
    ForTaxonomy,
    JsonResult,
    OnlyJudges,
    OnlyPairs,
    PairStates,
    Unparsed,
    Yes,
    command,
)
from .._judge_options import JudgesInfo, Method, RankOutput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from judgeharness_integrations.analysis.usage import Price
    from judgeharness_integrations.judging.execution.attempting import CallPolicy
    from judgeharness_integrations.judging.execution.retrying import Budget


Models = Annotated[
    Path | None, typer.Option("--models", help="YAML: model -> options (temperature, base_url ...), prices; * is any.")
]
Concurrency = Annotated[int, typer.Option("--max-concurrency", min=1, help="Calls of each model at a time.")]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Which options models are asked with, how many at a time, and what a command may spend."""

    models: Models = None
    max_calls: Annotated[
        int | None, typer.Option(min=0, help="Calls at most, retries included.", show_default="no limit")
    ] = None
    max_cost: Annotated[float | None, typer.Option(help="Money at most, by the prices of --models.")] = None
    timeout_s: float = 300.0
    max_attempts: int = 4
    max_concurrency: Concurrency = 8

    def budget(self, prices: Mapping[str, Price]) -> Budget:
        """Return the budget of one go.

        Raises:
            UsageError: money is limited and no price is known.

        """
        from judgeharness_integrations.judging.execution.retrying import Budget  # noqa: PLC0415

        if self.max_cost is not None and not prices:
            raise UsageError(
                "--max-cost needs prices per million tokens: write them into a file for --models, as in "
                "prices: {gpt-4o: {input: 2.5, output: 10}}."
            )
        return Budget(
            max_calls=self.max_calls,
            max_cost=self.max_cost,
            prices=dict(prices) or None,
            named={"max_calls": "--max-calls", "max_cost": "--max-cost"},
        )

    @property
    def limit_line(self) -> str:
        """What a plan says of it."""
        limits = [] if self.max_calls is None else [f"{self.max_calls} calls, retries included"]
        limits += [] if self.max_cost is None else [f"{self.max_cost:g} of money, by the prices of --models"]
        if not limits:
            return "no upper limit given; a call that fails is tried again"
        return f"upper limit: {' and '.join(limits)}"

    @property
    def policy(self) -> CallPolicy:
        """How long and how often each call is tried."""
        from judgeharness_integrations.judging.execution.attempting import CallPolicy  # noqa: PLC0415

        return CallPolicy(timeout_s=self.timeout_s, max_attempts=self.max_attempts)


@dataclass(frozen=True, kw_only=True)
class GenerateRequest:
    """Write pairs of conversations on your documents, one of each with a single flaw in one turn, and verify them.

    The plan and its calls are printed first. The same command goes on with what was cut off, and with a higher --n it
    adds pairs; no answer is asked for twice. The same --seed and documents with another --generator and --out make the
    parallel set on which self-preference shows.
    """

    docs: Annotated[tuple[Path, ...], typer.Argument(help="PDF, Markdown, text or JSONL files, or folders of them.")]
    generator: Annotated[str, typer.Option(help="Writes: provider:model, or file.py:function of yours.")]
    out: Annotated[Path, typer.Option(help="The benchmark's folder; one of its own for each generator.")]
    verifier: Annotated[
        str | None,
        typer.Option(
            help="Checks plans and conversations; another model than the generator is better.",
            show_default="none: pairs stay unverified",
        ),
    ] = None
    n: Annotated[int, typer.Option("--n", min=1, help="Pairs to plan; more of them later leave these as they are.")] = (
        400
    )
    seed: Annotated[int, typer.Option(help="Of what is drawn: failure type, behaviour, rounds, side, documents.")] = 0
    rounds: Annotated[str, typer.Option(help="Rounds of a conversation: from-to, or one number.")] = "3-7"
    documents_per_pair: Annotated[int, typer.Option(min=1, help="Documents a pair draws on.")] = 1
    taxonomy: ForTaxonomy = None
    domain: Annotated[
        str | None, typer.Option(help="Domain of all documents.", show_default="each document's, else its folder")
    ] = None
    weights: Annotated[
        Path | None,
        typer.Option(help="YAML: failure type, behaviour or document -> weight, 0: never.", show_default="all alike"),
    ] = None
    min_grounded: Annotated[
        float | None,
        typer.Option(
            min=0, max=1, help="Share of a turn's claims that must be grounded.", show_default="the folder's, else 1.0"
        ),
    ] = None
    asking: Asking = field(default_factory=Asking)
    yes: Yes = False
    as_json: JsonResult = False


generate = command(GenerateRequest, "judgeharness_integrations.cli.benchmark.generate:generate_pairs")


@dataclass(frozen=True, kw_only=True)
class VerifyRequest:
    """Check every pair that has conversations, layer by layer.

    Form: rounds, texts, lengths; nobody is asked. Coherence: behaviour, flaw and round of the plans do not conflict.
    Adherence: the declared flaw in the declared turn and nothing else that tells the two apart. Grounding: what the
    assistant states outside the flawed turn stands in the documents, claim by claim. A layer that fails ends a pair,
    its reasons are kept.

    Another verifier replaces the verification; answers are kept and none is asked for twice, so that another
    --min-grounded alone costs nothing. Interrupted or out of budget, the same command goes on.
    """

    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The benchmark's folder.")]
    verifier: Annotated[
        str | None,
        typer.Option(
            help="Who checks: provider:model, or path/to/file.py:name of a model or function of yours.",
            show_default="the one before, whose answers are kept; nothing new is asked",
        ),
    ] = None
    min_grounded: Annotated[
        float | None,
        typer.Option(help="Share of a turn's claims that must be grounded.", show_default="as before, at first 1.0"),
    ] = None
    asking: Asking = field(default_factory=Asking)
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the cascade as JSON; the plan goes to stderr.")] = False


verify = command(VerifyRequest, "judgeharness_integrations.cli.benchmark.verify:verify_benchmark")


@dataclass(frozen=True, kw_only=True)
class ManyAsking(Asking):
    """The same, of short answers."""

    max_concurrency: Concurrency = 16


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """Ask judges which conversation of each pair is better, in which turn the other one fails, and how.

    The plan and what --fraction and --sample save are printed first. Every answer is a row of the folder's log: the
    same command goes on with what was cut off, asks again what failed, and asks nothing twice.
    """

    folder: Annotated[Path, typer.Argument(help="The benchmark's folder.")]
    judges: Annotated[
        str,
        typer.Option(
            help="Who judges: provider:model, decisions:provider:model of a decision model, or file.py:function of "
            "yours, commas between."
        ),
    ]
    mode: Annotated[
        Literal["pairwise", "pointwise", "both"],
        typer.Option(help="Both conversations at once, each by itself, or one after the other."),
    ] = "pairwise"
    orders: Annotated[
        Literal["both", "one"],
        typer.Option(help="Show each pair in both orders, which must agree, or in one (informal)."),
    ] = "both"
    repetitions: Annotated[int, typer.Option(min=1, help="Times each is asked.")] = 1
    fraction: Annotated[float, typer.Option(help="Share of the pairs each judge is asked about, drawn uniformly.")] = (
        1.0
    )
    sample: OnlyPairs = None
    states: PairStates = "accepted"
    seed: Annotated[int, typer.Option(help="Of the choice of --fraction.")] = 0
    no_documents: Annotated[bool, typer.Option("--no-documents", help="Do not show judges the reference text.")] = False
    asking: ManyAsking = field(default_factory=ManyAsking)
    yes: Yes = False
    as_json: JsonResult = False


judge = command(JudgeRequest, "judgeharness_integrations.cli.benchmark.judge:judge_pairs")


@dataclass(frozen=True, kw_only=True)
class BenchmarkRankOptions:
    """Rank the judges of a benchmark by who was right about verdict, turn and type at once. Nothing is asked."""

    folder: BenchmarkDir
    mode: AnswerMode = None
    method: Method = "bradley-terry"
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion",
            help="Right about this alone: verdict, turn or type; may be given several times.",
            show_default="all three, jointly",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Also rank in each group: domain, failure_type, behaviour, n_rounds, document ...; "
            f"{SEVERAL}: in each group of them together."
        ),
    ] = ()
    judges: OnlyJudges = ()
    cut: Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")] = 0.0
    cut_ties: CutTies = "keep"
    flagged: Annotated[bool, typer.Option("--flagged", help="Leave out pairs that people found to be noise.")] = False
    failures: Unparsed = "wrong"
    cluster: Annotated[
        str | None,
        typer.Option(help="The column of what pairs come from, as document.", show_default="cluster, else each pair"),
    ] = None
    judges_info: JudgesInfo = None
    models: Models = None
    rule: Annotated[
        str | None,
        typer.Option(
            help="What makes a pair right: one_order (the order as given), both_orders or a rule of aggregation.",
            show_default="of the orders asked, chosen before the samples",
        ),
    ] = None
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Only the pairs of sample.json, or of a JSONL file as curated.jsonl."),
    ] = None
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The parallel set, of another generator: whose rank depends on who wrote the pairs?"
        ),
    ] = None
    output: RankOutput = field(default_factory=RankOutput)


rank = command(BenchmarkRankOptions, "judgeharness_integrations.cli.benchmark.stats:rank_benchmark")
_GROUPS = ("domain", "failure_type")


@dataclass(frozen=True, kw_only=True)
class CurateRequest:
    """Leave out noise, unanimous and hardest pairs and rank again by the rest: curated.jsonl. Nothing is asked."""

    folder: BenchmarkDir
    mode: AnswerMode = None
    cut: Annotated[
        float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, to leave out.")
    ] = 0.05
    failures: Unparsed = "wrong"
    by: Annotated[
        tuple[str, ...], typer.Option(help=f"Columns to count pairs by; {SEVERAL}.", show_default=",".join(_GROUPS))
    ] = _GROUPS
    drop: Annotated[
        tuple[str, ...],
        typer.Option(
            help="Also leave out pairs that people found ambiguous, or are evenly split about: ambiguous. Noise leaves "
            f"anyway; {SEVERAL}."
        ),
    ] = ()
    cut_ties: CutTies = "keep"
    keep_noise: Annotated[bool, typer.Option("--keep-noise", help="Keep pairs that people found to be noise.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_curate/1).")] = False


curate = command(CurateRequest, "judgeharness_integrations.cli.benchmark.curate:curate_benchmark")


@dataclass(frozen=True, kw_only=True)
class ShowRequest:
    """Show one pair: conditions, verification layer by layer, and what every judge said of verdict, turn and type."""

    folder: BenchmarkDir
    pair_id: Annotated[str, typer.Argument(metavar="ID", help="A pair's id or number: pair-00003, or 3.")]
    full: Annotated[
        bool,
        typer.Option("--full", help="Print both conversations, plans, every claim, and the judges' reasoning too."),
    ] = False


show = command(ShowRequest, "judgeharness_integrations.cli.benchmark.tables:show_pair")
_CASCADE_GROUPS = ("failure_type", "behaviour", "domain", "n_rounds")


@dataclass(frozen=True, kw_only=True)
class StatsRequest:
    """Say what became of the pairs, from the plan to those that are kept, and what each step cost. Nothing is asked."""

    folder: BenchmarkDir
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"Columns to count pairs by: domain, failure_type, behaviour, n_rounds; {SEVERAL}.",
            show_default=",".join(_CASCADE_GROUPS),
        ),
    ] = _CASCADE_GROUPS
    mode: AnswerMode = None
    cut: Annotated[
        float, typer.Option(help="Share of the hardest of the pairs that tell judges apart, as curate cuts.")
    ] = 0.05
    models: Models = None
    cut_ties: CutTies = "keep"
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_stats/1).")] = False


stats = command(StatsRequest, "judgeharness_integrations.cli.benchmark.stats:stats_of_benchmark")


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Draw a stratified sample of the pairs, as many of each kind as its share, for judge --sample.

    The same seed draws the same pairs, whatever was asked since.
    """

    folder: Annotated[Path, typer.Argument(help="The benchmark's folder.")]
    n: Annotated[int, typer.Option("--n", help="Pairs to draw.")]
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"Columns of the strata: domain, failure_type, behaviour, n_rounds ...; '' for none; {SEVERAL}.",
            show_default=",".join(_GROUPS),
        ),
    ] = _GROUPS
    states: PairStates = "accepted"
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 0
    out: Annotated[Path | None, typer.Option(help="File to write.", show_default="sample.json in the folder")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the sample as JSON.")] = False


sample = command(SampleRequest, "judgeharness_integrations.cli.benchmark.tables:draw_sample")


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """Write the pairs by difficulty, those that people found to be clean held out. Training is out of scope."""

    folder: BenchmarkDir
    out: Annotated[Path, typer.Option(help="A folder for the files; empty, or with --overwrite.")]
    format: Annotated[
        str,
        typer.Option("--format", help="native lines of pairs, or rankjudge: the field names of the public release."),
    ] = "native"
    bands: Annotated[int, typer.Option(help="Bands of difficulty, about equally large.")] = 3
    mode: AnswerMode = None
    failures: Unparsed = "wrong"
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over an earlier export.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.benchmark_export/1).")] = False


export = command(ExportRequest, "judgeharness_integrations.cli.benchmark.curate:export_benchmark")


@dataclass(frozen=True, kw_only=True)
class ConvertRequest:
    """Make a benchmark of pairs in the public release's field names. They are unverified: nothing checked them.

    Several files, as the bands of an export, become one benchmark. A conversation is a list of messages with role and
    content, of rounds with user and assistant, or a text with a speaker before each message.
    """

    files: Annotated[
        tuple[Path, ...],
        typer.Argument(
            metavar="FILE...",
            help="JSON or JSONL with id, domain, convo_a, convo_b, better_is_a, plan {good, bad}, metadata "
            "{user_behavior_type, assistant_behavior_type, n_rounds, bad_round_index, context}.",
        ),
    ]
    out: Annotated[Path, typer.Option(help="The benchmark's folder; empty, or new.")]
    generator: Annotated[
        str | None, typer.Option(help="Who wrote the pairs.", show_default="each pair's key generator, else unknown")
    ] = None
    taxonomy: ForTaxonomy = None


convert = command(ConvertRequest, "judgeharness_integrations.cli.benchmark.curate:convert_files")


@dataclass(frozen=True, kw_only=True)
class DiscoverRequest:
    """Find failure types or behaviours in conversations of yours that the taxonomy lacks.

    A model says of each transcript which present type covers it, and proposes new ones for those that none covers.
    Each proposal stands in proposals.yaml beside the type it is most like. You decide: keep, merge or drop, on a
    terminal one by one, or in the file. With --decided the kept ones become a taxonomy for generate --taxonomy. The
    same command goes on where it was cut off.
    """

    transcripts: Annotated[
        tuple[Path, ...],
        typer.Argument(help="Conversations: JSONL (id, and text or messages), .txt and .md files, or folders of them."),
    ] = ()
    model: Annotated[str | None, typer.Option(help="Reads: provider:model, or file.py:function of yours.")] = None
    kind: Annotated[Literal["failure_types", "behaviours"], typer.Option("--of", help="What is looked for.")] = (
        "failure_types"
    )
    taxonomy: Annotated[
        Path | None, typer.Option(help="The present types, as YAML.", show_default="the seven and seven of ours")
    ] = None
    out: Annotated[Path | None, typer.Option(help="Folder for answers and proposals.yaml.")] = None
    decided: Annotated[
        Path | None, typer.Option(help="A proposals.yaml with decisions, to be made a taxonomy; nothing is asked.")
    ] = None
    taxonomy_out: Annotated[Path | None, typer.Option(help="The taxonomy to write (with --decided).")] = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Write over --taxonomy-out.")] = False
    asking: Asking = field(default_factory=Asking)
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: neither before the first call nor for decisions.")
    ] = False
    as_json: JsonResult = False


discover = command(DiscoverRequest, "judgeharness_integrations.cli.benchmark.discover:discover_types")
