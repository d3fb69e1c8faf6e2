"""A run and its example as the case a judge is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any, TypeAlias

from langsmith.schemas import Example, Run

from judgeharness_integrations._errors import CaseError, UsageError
from judgeharness_integrations.cases import AnswerCase, PairwiseCase, case_from_mapping, case_id_of
from judgeharness_integrations.structured import Attachments, StructuredCase, attachments_in, structured_case

__all__ = ["Prepare", "PreparePair", "checked_prepare", "default_case", "default_pair", "prepared_case"]

Prepared: TypeAlias = AnswerCase | Mapping[str, Any]
Prepare: TypeAlias = Callable[[Run, Example | None], Prepared]
PreparePair: TypeAlias = Callable[[Sequence[Run], Example | None], Prepared]

# What LangChain's `prepare_data` called the fields of a case.
_RENAMED = {"prediction": "output", "prediction_b": "output_b"}


def checked_prepare(prepare: Any) -> Any:
    """Return `prepare`.

    Raises:
        UsageError: it is neither None nor a plain function.

    """
    if prepare is not None and (not callable(prepare) or iscoroutinefunction(prepare)):
        kind = "an async function" if callable(prepare) else f"a {type(prepare).__name__}"
        raise UsageError(f"prepare is a plain function of a run and its example, not {kind}.")
    return prepare


def default_case(run: Run, example: Example | None, *, values: bool, attachments: bool = False) -> StructuredCase:
    """Return the run's output with the example's input and reference; the attribute `run_id` names the run.

    Its id is a digest of what is judged, so that the same output is perturbed alike in every experiment.

    Args:
        run: what is judged.
        example: where input and reference come from; without one the input is the run's and there is no reference.
        values: the judge takes values, of any number of fields; otherwise each must hold one.
        attachments: the judge takes the example's attachments, too; what they hold is part of the id.

    Raises:
        CaseError: the run has no output, which of several fields to judge is not clear, or an attachment cannot be
            read.

    """
    inputs, outputs, reference = _parts(run, example)
    if not values:
        _check_single(outputs, f"the outputs of run {run.id}")
        _check_single(inputs, f"the inputs of example {run.reference_example_id}")
        _check_single(reference, f"the reference outputs of example {run.reference_example_id}")
    attached = getattr(example, "attachments", None) if attachments else None  # a stand-in may have none
    return structured_case(
        inputs=inputs,
        outputs=outputs,
        reference_outputs=reference,
        attributes={"run_id": str(run.id)},
        extra={"attachments": attached} if isinstance(attached, Mapping) and attached else {},
    )


def default_pair(runs: Sequence[Run], example: Example | None) -> AnswerCase:
    """Return the outputs of two runs of one example, the first as answer A.

    Raises:
        CaseError: a run has no output, or which of several fields to judge is not clear.

    """
    first, second = (default_case(run, example, values=False) for run in runs)
    texts = {"input": first.input, "output": first.output, "output_b": second.output, "reference": first.reference}
    return prepared_case(texts)


def prepared_case(prepared: Prepared) -> AnswerCase:
    """Return what a `prepare` function returned as a case; a mapping may use the names of `prepare_data`.

    A mapping without a case id gets a digest of its content; its `attachments` are for the judge to read.

    Raises:
        CaseError: it is neither a case nor a mapping with an output, two answers have attachments, or one of these
            cannot be read.

    """
    if isinstance(prepared, AnswerCase):
        return prepared
    if not isinstance(prepared, Mapping):
        raise CaseError(
            f"prepare returns an AnswerCase, a PairwiseCase or a mapping with 'output', not {type(prepared).__name__}."
        )
    columns = {_RENAMED.get(name, name): value for name, value in prepared.items()}
    attached = attachments_in(columns.pop("attachments", None))
    told = {**columns, "attachments": attached.compared()} if isinstance(attached, Attachments) else columns
    case = case_from_mapping({"case_id": case_id_of(told), **columns}, where="what prepare returned")
    return _with_attachments(case, attached) if attached else case


def _with_attachments(case: AnswerCase, attached: Any) -> StructuredCase:
    if isinstance(case, PairwiseCase):
        raise CaseError("what prepare returned: attachments go with one answer, not with an output_b.")
    context = {} if case.context is None else {"context": case.context}
    return structured_case(
        case_id=case.case_id,
        inputs=case.input,
        outputs=case.output,
        reference_outputs=case.reference,
        extra={**context, "attachments": attached},
        **{name: getattr(case, name) for name in ("names", "author", "gold", "attributes", "context")},
    )


def _parts(run: Run, example: Example | None) -> tuple[Any, Any, Any]:
    if not run.outputs or all(value is None for value in run.outputs.values()):
        why = f"it failed with {run.error.splitlines()[0][:200]}" if run.error else "it returned nothing"
        raise CaseError(f"run {run.id} has no outputs to judge: {why}.")
    inputs = example.inputs if example is not None else run.inputs
    return inputs or None, run.outputs, (example.outputs or None) if example is not None else None


def _check_single(values: Mapping[str, Any] | None, what: str) -> None:
    if values is not None and len(values) > 1:
        raise CaseError(
            f"{what} hold several fields ({', '.join(sorted(map(str, values)))}): "
            "give prepare=lambda run, example: AnswerCase(...)."
        )
