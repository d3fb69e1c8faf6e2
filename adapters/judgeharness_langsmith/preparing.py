"""A run and its example as the case a judge is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from langsmith.schemas import Example, Run

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.cases import AnswerCase, case_from_mapping, case_id_of
from judgeharness_integrations.structured import structured_case, value_text

__all__ = ["Prepare", "PreparePair", "default_case", "default_pair", "prepared_case"]

Prepared: TypeAlias = AnswerCase | Mapping[str, Any]
Prepare: TypeAlias = Callable[[Run, Example | None], Prepared]
PreparePair: TypeAlias = Callable[[Sequence[Run], Example | None], Prepared]

# What LangChain's `prepare_data` called the fields of a case.
_RENAMED = {"prediction": "output", "prediction_b": "output_b"}


def default_case(run: Run, example: Example | None, *, values: bool) -> AnswerCase:
    """Return the run's output with the example's input and reference.

    Its id is a digest of what is judged, so that the same output is perturbed alike in every experiment.

    Args:
        run: what is judged.
        example: where input and reference come from; without one the input is the run's and there is no reference.
        values: keep inputs and outputs as they are, for judges that take values; otherwise each must hold one text.

    Raises:
        CaseError: the run has no output, or which of several fields to judge is not clear.

    """
    inputs, outputs, reference = _parts(run, example)
    if values:
        return structured_case(inputs=inputs, outputs=outputs, reference_outputs=reference)
    texts = {
        "input": None if inputs is None else _only(inputs, "the inputs of example", run),
        "output": _only(outputs, "the outputs of run", run),
        "reference": None if reference is None else _only(reference, "the reference outputs of example", run),
    }
    return case_from_mapping({"case_id": case_id_of(texts), **texts})


def default_pair(runs: Sequence[Run], example: Example | None) -> AnswerCase:
    """Return the outputs of two runs of one example, the first as answer A.

    Raises:
        CaseError: a run has no output, or which of several fields to judge is not clear.

    """
    first, second = (default_case(run, example, values=False) for run in runs)
    texts = {"input": first.input, "output": first.output, "output_b": second.output, "reference": first.reference}
    return prepared_case(texts)


def prepared_case(prepared: Prepared, case_id: str | None = None) -> AnswerCase:
    """Return what a `prepare` function returned as a case; a mapping may use the names of `prepare_data`.

    A mapping without a case id gets the given one, or a digest of its content.

    Raises:
        CaseError: it is neither a case nor a mapping with an output.

    """
    if isinstance(prepared, AnswerCase):
        return prepared
    if not isinstance(prepared, Mapping):
        raise CaseError(
            f"prepare returns an AnswerCase, a PairwiseCase or a mapping with 'output', not {type(prepared).__name__}."
        )
    columns = {_RENAMED.get(name, name): value for name, value in prepared.items()}
    return case_from_mapping({"case_id": case_id or case_id_of(columns), **columns}, where="what prepare returned")


def _parts(run: Run, example: Example | None) -> tuple[Any, Any, Any]:
    if not run.outputs or all(value is None for value in run.outputs.values()):
        why = f"it failed with {run.error.splitlines()[0][:200]}" if run.error else "it returned nothing"
        raise CaseError(f"run {run.id} has no outputs to judge: {why}.")
    inputs = example.inputs if example is not None else run.inputs
    return inputs or None, run.outputs, (example.outputs or None) if example is not None else None


def _only(values: Mapping[str, Any], what: str, run: Run) -> str:
    if len(values) > 1:
        raise CaseError(
            f"{what} {run.id if 'run' in what else run.reference_example_id} hold several fields "
            f"({', '.join(sorted(map(str, values)))}): give prepare=lambda run, example: AnswerCase(...)."
        )
    return value_text(values)
