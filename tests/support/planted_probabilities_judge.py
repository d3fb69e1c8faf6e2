"""A judge whose probabilities are known in closed form: the logistic of the number it is shown, made surer or less."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from judgeharness_integrations import AnswerCase, Criterion, JudgeIdentity, Judgment
from judgeharness_integrations.judging.judge import Answer, Probe

__all__ = ["PlantedJudge", "planted_cases"]

CORRECT = Criterion(name="correct", labels=("PASS", "FAIL"))


@dataclass
class PlantedJudge:
    """Says how probable PASS is.

    Attributes:
        temperature: What log odds are divided by; below 1 the judge is surer than it should be.
        noise: Standard deviation of what is added to the log odds of every answer.
        shift: What is added to all of them, as by another model of the same name.
        constant: The probability of every answer, whatever the case.
        wordings: Perturbation -> what it adds to the log odds.
        resolved: The model that answers say they came from, as where `model` is an alias.
    """

    temperature: float = 1.0
    noise: float = 0.0
    shift: float = 0.0
    constant: float | None = None
    wordings: dict[str, float] = field(default_factory=dict)
    seed: int = 0
    model: str = "planted-1"
    resolved: str | None = None
    name: str = "planted"
    retested: float = 0.05
    supports: frozenset[str] = frozenset({"negated", "two_way_choice", "irrelevant_sentence"})
    criteria: tuple[Criterion, ...] | None = (CORRECT,)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 - noise, no secret

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(name="planted", model=self.model)

    async def judge(self, probe: Probe) -> Judgment:
        assert isinstance(probe.case, AnswerCase)
        name = probe.perturbation.name
        odds = float(probe.case.output) / self.temperature + self.shift
        odds += self._random.gauss(0, self.noise) + self.wordings.get(name, 0.0)
        share = 1 / (1 + math.exp(-odds)) if self.constant is None else self.constant
        share = round(1 - share if name == "negated" else share, 2)
        shares = {"PASS": share, "FAIL": round(1 - share, 2)}
        verdict = "PASS" if share >= 0.5 else "FAIL"
        answer = Answer(criterion="correct", verdict=verdict, probabilities=shares)
        return Judgment(answers=(answer,), model=self.resolved)


def planted_cases(count: int, *, labelled: int | None = None, seed: int = 1, spread: float = 4.0) -> list[AnswerCase]:
    """Cases whose log odds are normal around .8; the first `labelled` of them have a label drawn by them."""
    source = random.Random(seed)  # noqa: S311 - cases, no secret
    cases = []
    for number in range(count):
        odds = source.gauss(0.8, spread)
        gold = "PASS" if source.random() < 1 / (1 + math.exp(-odds)) else "FAIL"
        known = gold if labelled is None or number < labelled else None
        cases.append(AnswerCase(case_id=f"c{number}", output=repr(odds), gold=known))
    return cases
