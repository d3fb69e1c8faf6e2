"""ADK's `hallucinations_v1`: is every sentence of the agent supported by what it had seen?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from google.adk.evaluation.eval_metrics import HallucinationsCriterion
from google.adk.evaluation.hallucinations_v1 import EvaluationStep, HallucinationsV1Evaluator

from judgeharness_adk import _seams
from judgeharness_adk.invocations import InvocationCase, Question
from judgeharness_adk.judges.base import LABELS, Ask, MetricJudge, Settled, Unready
from judgeharness_adk.reading import read_sentences, split_sentences
from judgeharness_integrations.judging.answer import ModelAnswer
from judgeharness_integrations.judging.cases import Case, Criterion
from judgeharness_integrations.judging.judge import Answer

_PROMPTS = ("segmenter_prompt", "sentence_validator_prompt")
_LEAST_SHARE = 0.8  # of the letters and digits of a response; marks of lists and tables get lost


@dataclass(frozen=True, kw_only=True)
class SentencesCase(InvocationCase):
    """What the agent said at one step, sentence by sentence, and the context it must be supported by.

    The sentences are the judged texts. Changing one keeps its id.
    """

    context: str | None = None

    def texts(self) -> tuple[str, ...]:
        """Return the sentences."""
        return tuple(question.text for question in self.questions)

    def all_texts(self) -> tuple[str, ...]:
        """Return the sentences and the context."""
        return (*self.texts(), self.context or "")

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with every sentence changed."""
        return replace(self, questions=tuple(q._replace(text=change(q.text)) for q in self.questions))

    def with_all_texts(self, change: Callable[[str], str]) -> Self:
        """Return the case with sentences and context changed."""
        return replace(self.with_texts(change), context=change(self.context or ""))


class HallucinationsJudge(MetricJudge[HallucinationsCriterion]):
    """`hallucinations_v1`: sentences are segmented once, and each is a criterion of its own."""

    metric = "hallucinations_v1"
    evaluator = HallucinationsV1Evaluator
    pooled = "sentences"
    adk_only = "sentences that only adk's own evaluation segments"

    def _set_up(self) -> None:
        self._adk = HallucinationsV1Evaluator(self.shown_to_adk())

    def take_prompts(self, evaluator: HallucinationsV1Evaluator) -> None:
        """Ask with the prompts of an evaluator, which a class of the user's may have set."""
        for name in _PROMPTS:
            setattr(self._adk, name, getattr(evaluator, name, getattr(self._adk, name)))

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """None: the sentences of an invocation are questions about it alone."""
        return ()

    def _settings(self) -> dict[str, Any]:
        name = "evaluate_intermediate_nl_responses"
        return {"segmenter": self._adk.segmenter_prompt} | ({name: True} if getattr(self.criterion, name) else {})

    def _sample(self) -> InvocationCase:
        return SentencesCase(case_id="-", output="-", conversation=(), questions=(Question("1", "-"),), context="-")

    def view(self, case: Case) -> Any:
        """Return the case; its sentences must have been segmented before."""
        return case

    def fits(self, case: Case) -> str | None:
        """Return why a case cannot be judged, or None."""
        if isinstance(case, SentencesCase):
            return None
        return f"it judges {self.adk_only}"

    async def cases(self, case: InvocationCase, ask: Ask) -> list[InvocationCase | Unready | Settled]:
        """Return one case a step of the agent; the judge's model segments what was said, once."""
        steps = _seams.steps_of(self._adk, case.judged)
        return [
            await self._segmented(case, step, place if len(steps) > 1 else None, ask)
            for place, step in enumerate(steps, start=1)
        ]

    async def _segmented(
        self, case: InvocationCase, said: EvaluationStep, step: int | None, ask: Ask
    ) -> InvocationCase | Unready:
        reply = await ask(self._adk.segmenter_prompt.format(response=said.nl_response))
        sentences = () if isinstance(reply, Exception) else split_sentences(reply.text)
        if problem := _problem(reply, sentences, said.nl_response):
            return Unready(f"the response could not be segmented ({problem})")
        mark = "" if step is None else f"step {step}, "
        questions = tuple(Question(f"{mark}sentence {n}", text) for n, text in enumerate(sentences, start=1))
        return SentencesCase(
            case_id=case.case_id if step is None else f"{case.case_id}#{step}",
            input=case.input,
            output=said.nl_response,
            names=case.names,
            conversation=(case.judged,),
            questions=questions,
            criteria=tuple(Criterion(name=q.id, description=q.text, labels=LABELS) for q in questions),
            context=said.context,
        )

    def prompt(self, case: InvocationCase) -> str:
        """Return ADK's prompt over the sentences in the case's order."""
        sentences = "\n".join(f"<sentence>{question.text}</sentence>" for question in case.questions)
        return self._adk.sentence_validator_prompt.format(context=case.context, sentences=sentences)

    def read(self, text: str | None, case: InvocationCase) -> tuple[Answer, ...]:
        """Return one answer a sentence."""
        asked = [(question.id, question.text) for question in case.questions]
        return read_sentences(text, asked, shown=case.all_texts())


def _problem(reply: ModelAnswer | Exception, sentences: Sequence[str], response: str) -> str | None:
    """Return why sentences cannot stand for a response: what they leave out would pass unjudged."""
    if isinstance(reply, Exception):
        return f"{type(reply).__name__}: {reply}"
    if reply.problem is not None:
        return f"of the judge's model, {reply.problem}"
    if not sentences:
        return "the judge's model named no sentence"
    if reply.text.rfind("<sentence>") > reply.text.rfind("</sentence>"):
        return "the judge's model was cut off"
    share = _letters("".join(sentences)) / max(_letters(response), 1)
    return f"the sentences hold {share:.0%} of it" if share < _LEAST_SHARE else None


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
