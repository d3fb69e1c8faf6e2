"""What a `judgeharness check` was asked for, and which options go together."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from judgeharness_integrations._errors import UnknownNameError, UsageError
from judgeharness_integrations.adapters import Adapter
from judgeharness_integrations.checking import plan_check
from judgeharness_integrations.checking.asking import RULE, usual_perturbations
from judgeharness_integrations.cli._asking import judge_model
from judgeharness_integrations.cli._printing import safe, table
from judgeharness_integrations.cli._run_parts import run_parts
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.config import (
    Config,
    SendableJudge,
    build_cases,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
)
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.presets import preset
from judgeharness_integrations.verdictlog.row import is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.cases import AnswerCase
    from judgeharness_integrations.judging import Judge
    from judgeharness_integrations.plan import Plan


__all__ = ["CheckParts", "CheckRequest", "JudgeToCheck", "check_parts", "checked", "print_checks"]


_OF_CONFIG = ("out", "repetitions", "cases", "probes", "max_calls", "seed")
_OF_LOG = ("run", "criteria", "labels")
_OPTIONS = {"criteria": "criterion", "probes": "probe"}


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The options of one `judgeharness check`; None leaves a choice to the configuration or a default.

    `probes` None are all of them, an empty tuple none.
    """

    config: Path | None = None
    log: Path | None = None
    judges: tuple[str, ...] = ()
    run: str | None = None
    criteria: tuple[str, ...] = ()
    labels: bool = False
    out: Path | None = None
    repetitions: int | None = None
    cases: int | None = None
    probes: tuple[str, ...] | None = None
    tolerance: float = 0.1
    alpha: float = 0.05
    score_tolerance: float | None = None
    max_calls: int | None = None
    seed: int | None = None
    yes: bool = False
    as_json: bool = False
    html: Path | None = None

    def check(self, *, both_probes: bool = False) -> None:
        """Refuse options that contradict each other, and a page that cannot be written.

        Raises:
            UsageError: neither or both of CONFIG and --log are given, an option is the other one's, or a number is
                out of range.

        """
        if (self.config is None) == (self.log is None):
            raise UsageError("give a configuration, whose judges are asked, or --log with a log: one of the two.")
        if both_probes:
            raise UsageError("--probe names what to attack with, --no-probes nothing: give one of the two.")
        names, other = (_OF_CONFIG, "--log") if self.config is None else (_OF_LOG, "a configuration")
        defaults = {one.name: one.default for one in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                option = "no-probes" if name == "probes" and not self.probes else _OPTIONS.get(name, name)
                raise UsageError(f"--{option.replace('_', '-')} does not go with {other}.")
        self._check_numbers()
        if self.html is not None:
            if self.html.is_dir():
                raise UsageError(f"{self.html} is a folder: give the path of a file as --html.")
            check_file(self.html, option="--html")

    def _check_numbers(self) -> None:
        """Refuse, before a plan is shown, numbers that no report can be made with."""
        for name in ("tolerance", "alpha"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UsageError(f"{name} must be a number between 0 and 1, not {value!r}.")
        if self.score_tolerance is not None and not 0 <= self.score_tolerance < math.inf:
            raise UsageError(f"score_tolerance must be a number of at least 0, not {self.score_tolerance!r}.")


_LONGEST_DETAIL = 1_000


def checked(adapter: Adapter) -> dict[str, Any]:
    """Return whether an installed adapter passed, None when it brings no benches, and every check."""
    from judgeharness_integrations.testing import check_adapter  # noqa: PLC0415 - the suite is not needed to list

    with _quiet():
        try:
            report = check_adapter(adapter)
        except Exception as error:  # noqa: BLE001 - benches that cannot be built are a failure of this adapter alone
            detail = f"{type(error).__name__}: {error}"
            failed = {"bench": "", "check": "benches", "outcome": "fail", "detail": detail}
            return {"passed": False, "checks": [failed]}
    return {"passed": report.passed, "checks": [asdict(result) for result in report.results]}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep off the screen what frameworks say of answers that are meant to fail."""
    silent, root = logging.NullHandler(), logging.getLogger()
    root.addHandler(silent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(silent)


def print_checks(screen: Console, found: Sequence[dict[str, Any]]) -> None:
    """Print a line a bench, and a sentence for each check that failed or was opted out of."""
    rows = [row for facts in found for row in _rows(facts)]
    if rows:
        columns = ("adapter", "bench", "passed", "failed", "opted out")
        screen.print(table("conformance", columns, rows, texts=2))
    for facts in found:
        if facts["passed"] is None:
            why = "not ready" if not facts["ready"] else "every check opted out" if facts["checks"] else "no benches"
            screen.print(f"{facts['name']}: not checked, {why}", soft_wrap=True)
        for check in facts["checks"]:
            if check["outcome"] != "pass":
                parts = " · ".join(filter(None, (facts["name"], check["bench"], check["check"])))
                line = f"{check['outcome']}: {parts}: {check['detail']}"
                screen.print(safe(line, _LONGEST_DETAIL), soft_wrap=True)


def _rows(facts: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    benches = dict.fromkeys(check["bench"] for check in facts["checks"])
    for bench in benches:
        counts = Counter(check["outcome"] for check in facts["checks"] if check["bench"] == bench)
        numbers = (str(counts[outcome]) for outcome in ("pass", "fail", "opted out"))
        yield safe(facts["name"]), safe(bench or "-"), *numbers


_REPETITIONS = 3
_CASES = 50
_ASKED = ("perturbations", "rewriter", "instructions", "keep", "reuse")
_RUNNING = ("max_concurrency", "timeout_s", "max_attempts", "requests_per_minute", "tokens_per_minute")
_ANSWERS_DEPEND_ON = ("seed", "wordings", "rewriter")  # what is asked beyond that are other rows of the same run


@dataclass(frozen=True, kw_only=True)
class JudgeToCheck:
    """A judge, the model behind it, what asking it costs at most, and the run of its rows."""

    judge: Judge
    model: str | None
    plan: Plan
    run: str


@dataclass(frozen=True, kw_only=True)
class CheckParts:
    """Everything `check_judge` takes but the judge: `options` say what is asked, `running` how."""

    config: Config
    cases: Iterable[AnswerCase]
    judges: Sequence[JudgeToCheck]
    options: Mapping[str, Any]
    running: Mapping[str, Any]
    score_tolerance: float | None


def check_parts(config: Config, request: CheckRequest) -> CheckParts:
    """Build all that a configuration names and plan every judge: what cannot be asked is known before the first call.

    Raises:
        UnknownNameError: a judge or probe is asked for that there is none of.

    """
    places = _places(config, request.judges)
    cases = build_cases(config)
    built = build_harness_options(_checked_config(config))
    seed = request.seed if request.seed is not None else built.get("seed", 0)
    options = {name: built[name] for name in _ASKED if name in built} | {
        "probes": request.probes,
        "repetitions": _REPETITIONS if request.repetitions is None else request.repetitions,
        "max_cases": _CASES if request.cases is None else request.cases,
        "seed": seed,
    }
    executor = build_executor(config, built)
    judges = [build_judge(config, place) for place in places]
    if executor is not None:
        judges = [SendableJudge(judge, config, place) for judge, place in zip(judges, places, strict=True)]
    found = [
        JudgeToCheck(
            judge=judge,
            model=judge_model(judge, config.judges[place]),
            plan=plan_check(judge, cases, **options),
            run=_run(config, place, judge, cases_digest(cases), options),
        )
        for judge, place in zip(judges, places, strict=True)
    ]
    score_tolerance = config.harness.tolerance if request.score_tolerance is None else request.score_tolerance
    running = {name: built[name] for name in _RUNNING if name in built} | {"executor": executor}
    return CheckParts(
        config=config,
        cases=cases,
        judges=found,
        options=options,
        running=running,
        score_tolerance=score_tolerance,
    )


def _places(config: Config, names: Sequence[str]) -> list[int]:
    known = [judge.name for judge in config.judges]
    for name in names:
        if name not in known:
            raise UnknownNameError("judge", name, known)
    return [place for place, name in enumerate(known) if not names or name in names]


def _checked_config(config: Config) -> Config:
    """Return the configuration with the perturbations of a check: the usual ones, and its own besides.

    Its own probes are left out: a check attacks the side that lost, and not twice.
    """
    harness = config.harness
    own = harness.perturbations
    if own is None:
        own = list(preset(harness.preset or "standard", str(harness.shape))["perturbations"])
    usual = usual_perturbations(rewriter=harness.rewriter is not None, wordings=len(harness.instructions or ()))
    names = [name for name in dict.fromkeys((*usual, *own)) if name != "none" and not is_probe(name)]
    return config.model_copy(update={"harness": harness.model_copy(update={"perturbations": names})})


def _run(config: Config, place: int, judge: Judge, cases: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the run of a judge's rows: another one as soon as its answers could be others."""
    harness = JudgeHarness(
        perturbations=options["perturbations"],
        repetitions=1,
        aggregation_rule=RULE,
        seed=options["seed"],
        rewriter=options.get("rewriter"),
        instructions=options.get("instructions", ()),
    )
    alone = config.model_copy(update={"judges": [config.judges[place]], "calibration": None})
    parts = run_parts(alone, harness, [judge], cases=cases)
    parts["harness"] = {name: parts["harness"][name] for name in _ANSWERS_DEPEND_ON}
    text = json.dumps(parts, sort_keys=True, default=str)
    return f"check-{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"
