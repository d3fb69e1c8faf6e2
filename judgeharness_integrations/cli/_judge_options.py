"""The options of `judgeharness rank`, `agreement`, `check` and `audit`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Literal, TypeAlias

import typer

from judgeharness_integrations._errors import UsageError

from ._command import (
    SEVERAL,
    CutTies,
    Labels,
    LabelSet,
    LabelSource,
    Ledger,
    PanelCluster,
    PanelColumns,
    PanelCriterion,
    PanelItem,
    PanelLogs,
    PanelRater,
    PlanLimit,
    PlotFolder,
    WhichJudge,
    Yes,
    command,
)


@dataclass(frozen=True, kw_only=True)
class KappaRequest:
    """Say who agrees with whom beyond chance: Cohen, Fleiss, Krippendorff, Gwet, with bootstrap intervals."""

    logs: PanelLogs
    raters: Annotated[
        tuple[str, ...],
        typer.Option(help="Who is compared: names, comma lists, globs ('author_*'); without it everybody else."),
    ] = ()
    candidates: Annotated[
        tuple[str, ...],
        typer.Option(
            "--candidate", help="Who is compared with each rater and with their most frequent answer; globs too."
        ),
    ] = ()
    coefficient: Annotated[str, typer.Option(help="Of the pairs: cohen, fleiss, alpha or gwet.")] = "cohen"
    weights: Annotated[
        str | None,
        typer.Option(
            help="Whether near answers agree in part: none, linear or quadratic.",
            show_default="quadratic for numbers, else none",
        ),
    ] = None
    order: Annotated[
        str | None, typer.Option(help="All labels from one end of the scale to the other, as low,mid,high.")
    ] = None
    criterion: PanelCriterion = None
    cluster: PanelCluster = None
    resamples: Annotated[int, typer.Option(help="Resamples of an interval; 0: no intervals.")] = 2000
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0
    plot: PlotFolder = None
    item: PanelItem = None
    rater: PanelRater = None
    columns: PanelColumns = ()
    pairs: Annotated[bool, typer.Option("--pairs", help="List every pair, also of more than 12 raters.")] = False
    labels: Labels = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.kappa/1).")] = False


kappa = command(KappaRequest, "judgeharness_integrations.cli.rank:kappa_of_logs")
_NAMES = "may be given several times"
Method: TypeAlias = Annotated[str, typer.Option(help="bradley-terry, conditional or eip.")]
JudgesInfo: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="What is known of judges, as CSV, JSON or YAML: judge, provider, family, open, input_price, output_price "
        "(money per million tokens)."
    ),
]


@dataclass(frozen=True, kw_only=True)
class RankOutput:
    """What becomes of a ranking.

    Raises:
        UsageError: `out` is a file, or `draws` cannot be drawn.
        NotInstalledError: pictures are wanted and matplotlib is missing.

    """

    draws: Annotated[
        int, typer.Option(help="Samples of the matches, for each share of them, to see how stable ranks are.")
    ] = 50
    seed: Annotated[int, typer.Option(help="Of the samples of matches.")] = 0
    out: Annotated[Path | None, typer.Option(help="A folder for tables, and, with [report], pictures.")] = None
    whole: Annotated[bool, typer.Option("--all", help="List every judge, also of more than 50.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.rank/1).")] = False

    def __post_init__(self) -> None:
        """Refuse what would fail after everything was computed."""
        if self.draws < 1:
            raise UsageError(f"--draws must be at least 1, not {self.draws}.")
        if self.seed < 0:
            raise UsageError(f"--seed must be at least 0, not {self.seed}.")
        if self.out is not None:
            _check_folder(self.out)


def _check_folder(folder: Path) -> None:
    """Make the folder and a file in it, which is gone at once."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {str(folder)!r:.200} is a file: name a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"--out {str(folder)!r:.200} cannot be written to ({why}): name another folder.") from error


@dataclass(frozen=True, kw_only=True)
class RankOptions:
    """Rank the judges of a log with gold labels: which should I use? Nothing is asked."""

    log: Annotated[
        Path,
        typer.Argument(
            help="A verdict log with gold: .sqlite, .parquet, .csv or .jsonl (.gz), or the folder of a run."
        ),
    ]
    method: Method = "bradley-terry"
    rule: Annotated[
        str | None,
        typer.Option(
            help="What is right: one_order, both_orders, or the decision of a rule, as net_preference or "
            "module:function.",
            show_default="both_orders where the log shows both, else one_order",
        ),
    ] = None
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion", help=f"Right about this, strictly; {_NAMES}.", show_default="all that have gold, jointly"
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        typer.Option(
            help=f"A column of pairs (subset, domain): also rank in each group; {SEVERAL}: in each group of them "
            "together."
        ),
    ] = ()
    judges_info: JudgesInfo = None
    failures: Annotated[str, typer.Option(help="What a failed answer is: wrong, or missing as if never asked.")] = (
        "wrong"
    )
    ties: Annotated[
        str | None,
        typer.Option(
            help="What a tie, or no decision, earns where gold names a side: wrong or half.",
            show_default="half for verdicts from scores, else wrong",
        ),
    ] = None
    cut: Annotated[float, typer.Option(help="Share of the hardest pairs to leave out, as 0.05.")] = 0.0
    cut_ties: CutTies = "keep"
    flagged: Annotated[str | None, typer.Option(help="A column that marks pairs people found wanting: left out.")] = (
        None
    )
    audit: Annotated[
        str | None,
        typer.Option(help="A column of audit labels: are they among the hardest pairs?", show_default="--flagged"),
    ] = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="The column of what pairs come from, for the errors.", show_default="cluster, else each pair"
        ),
    ] = None
    judges: Annotated[tuple[str, ...], typer.Option("--judge", help=f"Only this judge; {_NAMES}.")] = ()
    run: Annotated[str | None, typer.Option(help="Only this run of the log.", show_default="all")] = None
    labels: Labels = False
    pointwise: Annotated[
        Path | None, typer.Option(help="The same judges' scores of single answers (columns pair, side).")
    ] = None
    cases: Annotated[
        Path | None, typer.Option(help="The cases with their texts: a judged system that never varies is named.")
    ] = None
    against: Annotated[
        Path | None, typer.Option(help="A log of the same judges on other pairs: does the order hold there?")
    ] = None
    alpha: Annotated[float, typer.Option(help="EIP: damping.")] = 0.85
    tolerance: Annotated[float, typer.Option(help="EIP: change at which to stop.")] = 1e-10
    score_range: Annotated[str, typer.Option(help="EIP: the scores' range.", metavar="LOW:HIGH")] = "0:1"
    all_equal: Annotated[float, typer.Option(help="EIP: score of everybody where all are equal.")] = 0.5
    output: RankOutput = field(default_factory=RankOutput)


rank = command(RankOptions, "judgeharness_integrations.cli.rank:rank_log")
agreement = typer.Typer(
    help="How far judges and people agree: the alternative annotator test, coefficients of agreement.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)


@agreement.callback()
def _group() -> None:
    """Keep the group a group, however many commands it has."""


@dataclass(frozen=True, kw_only=True)
class AltTestRequest:
    """Test whether a judge may stand in for human annotators (alternative annotator test). Nothing is asked."""

    logs: PanelLogs
    humans: Annotated[tuple[str, ...], typer.Option(help="The humans: names, comma lists or globs (author_*).")]
    candidates: Annotated[
        tuple[str, ...], typer.Option("--candidate", help="The judges to test, named likewise; a glob takes no human.")
    ]
    scores: Annotated[
        tuple[str, ...],
        typer.Option(
            "--score",
            help="accuracy, neg_rmse, jaccard, macro_jaccard, hamming; a list, or given several times.",
            show_default="accuracy; numbers neg_rmse; sets jaccard",
        ),
    ] = ()
    epsilons: Annotated[
        tuple[str, ...],
        typer.Option(
            "--epsilon", help="0.2, a list 0.1,0.2 or a range 0:0.3:0.05, both ends included.", show_default="0.2"
        ),
    ] = ("0.2",)
    multiplicative: Annotated[
        bool, typer.Option("--multiplicative", help="Epsilon is a share of the human's advantage probability.")
    ] = False
    q: Annotated[float, typer.Option(help="Level of the false discovery rate.")] = 0.05
    cluster: PanelCluster = None
    min_instances: Annotated[int, typer.Option(help="Instances an annotator needs to be tested.")] = 30
    labels: Labels = False
    criterion: PanelCriterion = None
    panel_description: Annotated[str, typer.Option("--panel", help="Who the humans were, for the report.")] = "unknown"
    item: PanelItem = None
    rater: PanelRater = None
    columns: PanelColumns = ()
    plot: PlotFolder = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (judgeharness.alttest/1).")] = False


alt_test = command(AltTestRequest, "judgeharness_integrations.cli.rank:run_alt_test")
agreement.command("kappa")(kappa)
agreement.command("alt-test")(alt_test)
_OF_CONFIG = ("out", "repetitions", "cases", "probes", "no_probes", "max_calls", "seed")
_OF_LOG = ("run", "criteria", "labels")
_OPTIONS = {"criteria": "criterion", "probes": "probe"}


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """Is this judge any good? Asks it again under changes and attacks, or reads a log, and says what it passes.

    Of CONFIG every judge is asked; the same command again goes on, and asks nothing twice. Exit code 1 where a
    property fails.
    """

    config: Annotated[
        Path | None, typer.Argument(help="A configuration: .yaml, .toml or .json; its judges are asked.")
    ] = None
    log: Annotated[
        Path | None, typer.Option(help="Instead, a verdict log: .sqlite, .parquet, .csv or .jsonl (.gz), or a folder.")
    ] = None
    judges: Annotated[
        tuple[str, ...],
        typer.Option(
            "--judge", help="Only this judge; may be given several times.", show_default="all of CONFIG, the one of LOG"
        ),
    ] = ()
    run: Annotated[str | None, typer.Option("--run", help="Only this run of LOG.")] = None
    criteria: Annotated[
        tuple[str, ...], typer.Option("--criterion", help="Only this criterion of LOG; may be given several times.")
    ] = ()
    labels: Annotated[bool, typer.Option("--labels", help="Read every verdict of LOG as a label, numbers too.")] = False
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for check.json and verdicts.jsonl.", show_default="judgeharness-check/CONFIG beside CONFIG"
        ),
    ] = None
    repetitions: Annotated[
        int | None,
        typer.Option(help="Samples of every case as it is: the noise to compare with.", min=1, show_default="3"),
    ] = None
    cases: Annotated[int | None, typer.Option(help="How many cases are drawn.", min=1, show_default="50")] = None
    probes: Annotated[
        tuple[str, ...] | None,
        typer.Option(
            "--probe", help="Only this probe or family, as injection; may be given several times.", show_default="all"
        ),
    ] = None
    no_probes: Annotated[bool, typer.Option("--no-probes", help="Attack nothing.")] = False
    tolerance: Annotated[float, typer.Option(help="The largest effect that passes, as a share.")] = 0.1
    alpha: Annotated[float, typer.Option(help="Chance of any false fail in a report.")] = 0.05
    score_tolerance: Annotated[
        float | None,
        typer.Option(
            help="How far two scores lie apart and still agree.", show_default="a ninth of the scale, declared or seen"
        ),
    ] = None
    max_calls: PlanLimit = None
    seed: Annotated[int | None, typer.Option(help="Of the draw of cases and of every change.", show_default="0")] = None
    yes: Yes = False
    as_json: Annotated[bool, typer.Option("--json", help="Print check.json; progress and plan go to stderr.")] = False
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.")] = None
    every: Annotated[bool, typer.Option("--all", help="Every number, and every case that is kept.")] = False

    @property
    def source(self) -> tuple[str, ...]:
        """The arguments that name what is checked, and how it was asked."""
        where = [str(self.config)] if self.log is None else ["--log", str(self.log)]
        options: list[tuple[str, object]] = [
            *(("--judge", name) for name in self.judges),
            *(("--criterion", name) for name in self.criteria),
            *(("--probe", name) for name in self.probes or ()),
            ("--run", self.run),
            ("--out", self.out),
            ("--repetitions", self.repetitions),
            ("--cases", self.cases),
            ("--seed", self.seed),
            ("--tolerance", None if self.tolerance == CheckRequest.tolerance else self.tolerance),
            ("--alpha", None if self.alpha == CheckRequest.alpha else self.alpha),
            ("--score-tolerance", self.score_tolerance),
        ]
        flags = [name for name, given in (("--no-probes", self.no_probes), ("--labels", self.labels)) if given]
        return (*where, *(str(part) for one in options if one[1] is not None for part in one), *flags)

    @property
    def attacks(self) -> tuple[str, ...] | None:
        """The probes to attack with; None are all of them."""
        return () if self.no_probes else self.probes

    def check(self) -> None:
        """Refuse options that contradict each other, and a page that cannot be written.

        Raises:
            UsageError: neither or both of CONFIG and --log are given, an option is the other one's, or a number is
                out of range.

        """
        if (self.config is None) == (self.log is None):
            raise UsageError("give a configuration, whose judges are asked, or --log with a log: one of the two.")
        if self.no_probes and self.probes:
            raise UsageError("--probe names what to attack with, --no-probes nothing: give one of the two.")
        names, other = (_OF_CONFIG, "--log") if self.config is None else (_OF_LOG, "a configuration")
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                option = _OPTIONS.get(name, name).replace("_", "-")
                raise UsageError(f"--{option} does not go with {other}.")
        self._check_numbers()
        if self.html is not None:
            if self.html.is_dir():
                raise UsageError(f"{self.html} is a folder: give the path of a file as --html.")
            from ._output import check_file  # noqa: PLC0415 - keeps --help fast

            check_file(self.html, option="--html")

    def _check_numbers(self) -> None:
        """Refuse, before a plan is shown, numbers that no report can be made with."""
        for name in ("tolerance", "alpha"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UsageError(f"{name} must be a number between 0 and 1, not {value!r}.")
        if self.score_tolerance is not None and not 0 <= self.score_tolerance < math.inf:
            raise UsageError(f"score_tolerance must be a number of at least 0, not {self.score_tolerance!r}.")


check = command(CheckRequest, "judgeharness_integrations.cli.check:check_judges")


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """Serve a page on this machine on which a person labels pairs of a benchmark, or cases blind to judges.

    Pairs are clean, ambiguous or noise; cases get what judges are asked for. Every label is written at once.
    """

    where: Annotated[
        Path,
        typer.Argument(
            metavar="DIR_OR_CASES", help="Folder of a benchmark, folder of a run, or a case file (.csv, .jsonl)."
        ),
    ]
    annotator: Annotated[str | None, typer.Option(help="Who labels.")] = None
    order: Annotated[
        Literal["assigned", "number", "joint", "strong-miss"] | None,
        typer.Option(help="Pairs as they are shown at first.", show_default="assigned, where there is a bundle"),
    ] = None
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0 takes a free one.")] = 0
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address and open nothing.")] = False
    assign: Annotated[
        str | None, typer.Option(help="Share pairs out between these annotators, as anna,ben, and serve nothing.")
    ] = None
    n: Annotated[int | None, typer.Option("--n", help="Pairs of the uniform sample.", show_default="100")] = None
    overlap: Annotated[
        float | None, typer.Option(help="Share of the sample that every annotator labels.", show_default="0.1")
    ] = None
    suspicious: Annotated[
        int | None, typer.Option(help="Further pairs, those that judges make look suspicious.", show_default="20")
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Assign anew where labels are; no label is ever deleted.")
    ] = False
    status: Annotated[bool, typer.Option("--status", help="Print how far annotators are, and the noise rate.")] = False
    only: Annotated[
        Literal["all", "abstained", "not-graded"] | None,
        typer.Option(help="Cases of a run that ended so for any judge.", show_default="all"),
    ] = None
    cases: Annotated[Path | None, typer.Option(help="The cases of a run, where they are not found by themselves.")] = (
        None
    )
    criteria: Annotated[
        tuple[str, ...],
        typer.Option(
            "--criterion", help="What is asked about cases; may be given several times.", show_default="as the judges"
        ),
    ] = ()
    answers: Annotated[
        str | None,
        typer.Option(help="What may be said about cases: PASS,FAIL or a;b or 1..5.", show_default="as the judges"),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Draws the sample, or the order and places of plain cases.", show_default="0")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (with --assign, --status).")] = False

    @property
    def who(self) -> str:
        """The annotator, as the files are named.

        Raises:
            UsageError: nobody was named, or no file can be named so.

        """
        from judgeharness_integrations.audit.labels import check_annotator  # noqa: PLC0415 - brings pydantic

        if self.annotator is None:
            raise UsageError("say who labels: give --annotator NAME.")
        return check_annotator(self.annotator)


audit = command(AuditRequest, "judgeharness_integrations.cli.audit:audit_place")


@dataclass(frozen=True, kw_only=True)
class PassportRequest:
    """What a judge's probabilities are worth: forms that must agree, a map and a certified threshold, a canary.

    CONFIG asks the judge; --log reads what it answered. With both, the log is that of CONFIG, for whose judge the
    passport holds. With --check PASSPORT its frozen states are asked once more: has the model behind the name moved?
    Exit code 1: no answer is certified by labels, or the model has moved.
    """

    config: Annotated[
        Path | None, typer.Argument(help="A configuration: .yaml, .toml or .json; its judge is asked.")
    ] = None
    log: Annotated[Path | None, typer.Option(help="A verdict log that holds probabilities: nobody is asked.")] = None
    out: Annotated[Path | None, typer.Option(help="Where to save the passport; answers are kept beside it.")] = None
    check: Annotated[Path | None, typer.Option(help="A passport: ask its frozen states again, and add a round.")] = None
    judge: WhichJudge = None
    run: Annotated[str | None, typer.Option("--run", help="Only this run of LOG.")] = None
    agreement: Annotated[float, typer.Option(help="How often certified answers have to agree with labels.")] = 0.9
    delta: Annotated[float, typer.Option(help="1 - confidence, of all questions together.")] = 0.1
    formed: Annotated[int, typer.Option("--cases", help="Cases that are asked in every form.", min=1)] = 50
    labels: Annotated[
        Path | None, typer.Option("--labels", "--gold", help="A file with case_id and gold, instead of LOG's.")
    ] = None
    name: LabelSet = None
    source: LabelSource = None
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many judges, prompts or seeds were tried on these labels.", show_default="those counted"
        ),
    ] = None
    ledger: Ledger = None
    seed: Annotated[int, typer.Option(help="Of perturbations and folds.")] = 0
    max_calls: PlanLimit = None
    yes: Yes = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON (judgeharness.passport/1; of a check judgeharness.canary/1).")
    ] = False


passport = command(PassportRequest, "judgeharness_integrations.cli.passport:take_passport")
