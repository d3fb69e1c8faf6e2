"""A LangChain evaluator as a judge of the harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judgeharness_integrations.cases import AnswerCase, Case, Criterion, PairwiseCase
from judgeharness_integrations.judging import Answer, JudgeIdentity, Judgment, Probe
from judgeharness_integrations.parsing import only_quotes
from judgeharness_integrations.presets import Shape
from judgeharness_integrations.verdictlog.row import Verdict
from judgeharness_langchain.caching import UNREACHABLE, active_cache, isolated, namespace_of
from judgeharness_langchain.fitting import fitting_case, misfit
from judgeharness_langchain.kinds import Kind, kind_of
from judgeharness_langchain.messages import Capture, ModelAnswer, judgment_of
from judgeharness_langchain.models import family_of, model_name
from judgeharness_langchain.options import CallOptions
from judgeharness_langchain.parameters import model_parameters
from judgeharness_langchain.prompting import prompt_hash, relabelled

__all__ = ["EvaluatorJudge", "Sample"]

_RUN = "__run"


@dataclass
class Sample:
    """What one call of the evaluator itself returned or raised."""

    answer: dict[str, Any] | None = None
    error: Exception | None = None


@dataclass(frozen=True, kw_only=True)
class EvaluatorJudge:
    """Asks an evaluator with `evaluate_string_pairs` or `evaluate_strings`.

    Its text is read by our grammar where the evaluator has its stock parser, and every difference is counted as a
    parser conflict; with `own_parser` the evaluator's reading is taken as it is. Build it with `EvaluatorJudge.of`.
    """

    evaluator: Any
    kind: Kind
    name: str
    identity: JudgeIdentity
    criteria: tuple[Criterion, ...]
    options: CallOptions = field(default_factory=CallOptions)
    own_parser: bool = False
    samples: dict[tuple[str, str, int], Sample] = field(default_factory=dict, compare=False, repr=False)
    _variants: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, evaluator: Any, *, name: str | None = None, shape: Shape | None = None) -> EvaluatorJudge:
        """Wrap an evaluator.

        Args:
            evaluator: the evaluator.
            name: the judge's name in the log; the evaluation's name by default.
            shape: `labels` or `scores` for a string evaluator of the caller's own.

        Raises:
            UnsupportedEvaluatorError: it cannot be harnessed; the sentence says why.

        """
        kind = kind_of(evaluator, shape)
        model = getattr(evaluator, "llm", None)
        criterion = str(getattr(evaluator, "criterion_name", None) or "verdict")
        judge_name = name or str(getattr(evaluator, "evaluation_name", None) or type(evaluator).__name__)
        return cls(
            evaluator=evaluator,
            kind=kind,
            name=judge_name,
            identity=JudgeIdentity(
                name=type(evaluator).__name__,
                model=model_name(model) if model is not None else None,
                parameters=model_parameters(model, getattr(evaluator, "llm_kwargs", None)),
                prompt_hash=prompt_hash(getattr(evaluator, "prompt", None)),
                family=family_of(model) if model is not None else None,
            ),
            criteria=(Criterion(name=criterion, labels=kind.labels, scale=_scale(evaluator, kind)),),
        )

    @property
    def supports(self) -> frozenset[str]:
        """`slot_names`, where the evaluator's prompt names the two answers Assistant A and Assistant B."""
        prompt = getattr(self.evaluator, "prompt", None)
        renamed = prompt is not None and relabelled(prompt, ("1", "2")) is not None
        return frozenset({"slot_names"}) if renamed else frozenset()

    def bound(self, options: CallOptions, *, own_parser: bool) -> EvaluatorJudge:
        """Return the judge for one evaluation: with the caller's options and its own samples."""
        return replace(self, options=options, own_parser=own_parser, samples={})

    def fits(self, case: Case) -> str | None:
        """Return why the evaluator cannot judge a case, None when it can."""
        return misfit(case, self.evaluator, pairwise=self.kind.shape == "pairwise")

    async def judge(self, probe: Probe) -> Judgment:
        """Ask the evaluator once."""
        case, capture = fitting_case(self, probe.case), Capture()
        sample = self.samples[probe.case_id, probe.perturbation.name, probe.repetition] = Sample()
        evaluator, warning = self._isolated(probe, case.presentation.slot_names)
        try:
            sample.answer = await self._evaluate(evaluator, probe, capture)
        except Exception as error:
            sample.error = error
            if capture.answer is None:  # the call failed, not the reading of its answer
                raise
        return self._judgment(case, sample, capture.answer, warning)

    async def _evaluate(self, evaluator: Any, probe: Probe, capture: Capture) -> dict[str, Any]:
        config = self.options.for_sample(probe, capture)
        arguments: dict[str, Any] = {**_texts(probe.case), **self.options.extra}
        arguments |= {key: config.get(key) for key in ("callbacks", "tags", "metadata")}
        arguments["include_run_info"] = True
        name = "aevaluate_string_pairs" if self.kind.shape == "pairwise" else "aevaluate_strings"
        # The harnessed evaluator has checked and warned about the arguments once; the samples need not again.
        call = getattr(evaluator, f"_{name}", None) or getattr(evaluator, name)
        return dict(await call(**arguments))

    def _isolated(self, probe: Probe, slots: tuple[str, str] | None) -> tuple[Any, str | None]:
        """Return the evaluator for one sample: its own cache entries, and the answers' names."""
        model = getattr(self.evaluator, "llm", None)
        cache = active_cache(model)
        if cache is None and slots is None:
            return self.evaluator, None
        key = (id(cache), probe.perturbation.name, probe.repetition, slots)
        if key not in self._variants:
            self._variants[key] = self._variant(model, namespace_of(probe), slots)
        return self._variants[key]  # type: ignore[no-any-return]

    def _variant(self, model: Any, namespace: str, slots: tuple[str, str] | None) -> tuple[Any, str | None]:
        changes: dict[str, Any] = {} if slots is None else {"prompt": relabelled(self.evaluator.prompt, slots)}
        own = isolated(model, namespace)
        copy = getattr(self.evaluator, "model_copy", None)
        if own is None or copy is None:
            return (copy(update=changes) if copy and changes else self.evaluator), UNREACHABLE
        return copy(update=changes | {"llm": own}), None

    def _judgment(self, case: AnswerCase, sample: Sample, answer: ModelAnswer | None, warning: str | None) -> Judgment:
        native = sample.answer or {}
        theirs = self.kind.verdict(native) if sample.answer is not None else None
        verdict, conflict = self._read(case, theirs, answer)
        refused = verdict is None and answer is not None and answer.refusal is not None
        reasoning, run = native.get("reasoning"), native.get(_RUN)
        read = Answer(
            criterion=self.criteria[0].name,
            verdict=verdict,
            outcome="ok" if verdict is not None else "refused" if refused else "unparsed",
            reasoning=None if reasoning is None else str(reasoning),
        )
        return judgment_of(
            [read],
            answer,
            warning,
            parser_conflict=1 if conflict else None,
            run_id=None if run is None else str(run.run_id),
        )

    def _read(
        self, case: AnswerCase, theirs: Verdict | None, answer: ModelAnswer | None
    ) -> tuple[Verdict | None, bool]:
        """Return the verdict, and whether our reading of the text differs from the evaluator's."""
        stock = type(getattr(self.evaluator, "output_parser", None)).__name__ == self.kind.parser
        if self.own_parser or answer is None or not stock:
            return theirs, False
        judged = case.all_texts()
        # what a half answer says is not where it would have ended
        if answer.refusal is not None or answer.truncated or only_quotes(answer.text, judged):
            return None, theirs is not None
        ours = self.kind.reread(answer.text, judged)
        divisor = getattr(self.evaluator, "normalize_by", None)
        if isinstance(ours, (int, float)) and divisor:
            ours = ours / divisor
        return ours, ours != theirs


def _scale(evaluator: Any, kind: Kind) -> tuple[float, float] | None:
    if kind.shape != "scores" or kind.grammar is None:
        return None
    divisor = getattr(evaluator, "normalize_by", None) or 1.0
    return (1.0 / divisor, 10.0 / divisor)


def _texts(case: AnswerCase) -> Mapping[str, Any]:
    texts = {"prediction": case.output, "reference": case.reference, "input": case.input}
    return texts | ({"prediction_b": case.output_b} if isinstance(case, PairwiseCase) else {})
