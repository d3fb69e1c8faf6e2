"""What a check of a configuration asks: judges, cases and plans."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.cli._asking import judge_model
from judgeharness_integrations.cli._run_place import run_parts
from judgeharness_integrations.cli.check import CheckRequest
from judgeharness_integrations.judging.config import (
    Config,
    SendableJudge,
    build_cases,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
)
from judgeharness_integrations.judging.harness import JudgeHarness, preset
from judgeharness_integrations.testing.checking.asking import RULE, usual_perturbations
from judgeharness_integrations.testing.checking.judge import plan_check
from judgeharness_integrations.verdictlog.row import is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.judging.cases import AnswerCase
    from judgeharness_integrations.judging.judge import Judge
    from judgeharness_integrations.judging.plan import Plan


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
        "probes": request.attacks,
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
