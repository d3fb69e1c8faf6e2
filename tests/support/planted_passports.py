"""Passports whose thresholds are given, of judges that are asked about a case or two."""

from __future__ import annotations

from dataclasses import replace

from judgeharness_integrations import AnswerCase
from judgeharness_integrations.analysis.probability.maps import ProbabilityMap
from judgeharness_integrations.analysis.probability.passport import Passport, Trust
from judgeharness_integrations.judging.cases import Case
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.passport import PassportOffice

__all__ = ["granted_from"]


def granted_from(threshold: float, judge: Judge, output: str | Case = "It is Paris.") -> Passport:
    """The passport of a judge that is right, unmapped, from a probability on."""
    case = AnswerCase(case_id="c", output=output) if isinstance(output, str) else output
    taken = PassportOffice(judge, [case], forms=(), frozen=0).take()
    questions = (
        replace(
            one,
            trust=Trust(
                labelled=200,
                clusters=200,
                agreement=0.9,
                level=0.1,
                map=ProbabilityMap(kind="none", options=one.options),
                threshold=threshold,
                covered=0.5,
            ),
        )
        for one in taken.questions
    )
    return replace(taken, questions=tuple(questions))
