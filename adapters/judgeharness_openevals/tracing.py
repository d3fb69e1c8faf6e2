"""One verdict is one trace and, in a test marked `@pytest.mark.langsmith`, one feedback row a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

from langsmith import testing, trace

from judgeharness_integrations.execution.observing import Observer, is_private, is_rooted
from judgeharness_integrations.notgraded import OnNotGraded, raise_where_all_failed
from judgeharness_integrations.result import HarnessResult
from judgeharness_integrations.structured import without_content
from judgeharness_integrations.watching import watchers
from judgeharness_openevals._seams import in_test_case
from judgeharness_openevals.results import Native

__all__ = ["Ending", "one_verdict"]

Ending: TypeAlias = Callable[[Native, HarnessResult], Native]


@contextmanager
def one_verdict(
    run_name: str,
    arguments: Mapping[str, Any],
    *,
    key: str,
    on_not_graded: OnNotGraded,
    observers: Sequence[Observer] | None = None,
    logs: bool = True,
) -> Iterator[Ending]:
    """Open the run that the samples nest below; what is yielded ends it with the result, and returns that.

    There is none where an observer of the harness makes the measurement a run, since that is the root of its samples.

    A result that was not graded stands in the run and in the feedback before an error is raised for it.

    Args:
        run_name: as openevals names the run of its judge.
        arguments: what the evaluator was called with.
        key: the feedback key of a result that names none.
        on_not_graded: whether to raise where all samples failed.
        observers: those of the harness; where one is private no run is opened, since it would hold what is judged, and
            no reasons are logged.
        logs: whether feedback is logged in a test case; openevals logs none for the output of a model by its schema.

    Raises:
        NotGradedError: all samples failed with errors, and `on_not_graded` is `raise`.

    """
    stamp = {"__ls_framework": "openevals", "__ls_evaluator": run_name, "__ls_language": "python"}
    tested, ended = in_test_case(), list[tuple[Native, HarnessResult]]()
    opened = trace(name=run_name, inputs=_inputs(arguments), metadata=stamp, tags=["judge-harness"])
    watching = watchers(observers)
    private = is_private(watching)
    unopened = private or is_rooted(watching, "langsmith")
    with testing.trace_feedback(name=run_name) if tested else nullcontext():
        with nullcontext() if unopened else opened as run:

            def end(native: Native, result: HarnessResult) -> Native:
                if run is not None:
                    run.end(outputs=native if isinstance(native, dict) else {"output": native})
                ended.append((native, result))
                return native

            yield end
        if tested and logs:
            _log(ended[0][0], key, reasons=not private)
    if on_not_graded == "raise":
        raise_where_all_failed([ended[0][1]], private=private)


def _inputs(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {n: without_content(value) if n == "attachments" else value for n, value in arguments.items()}


def _log(native: Native, key: str, *, reasons: bool) -> None:
    for result in native if isinstance(native, list) else [native]:
        if not {"score", "value"} & result.keys():
            continue  # a mapping of a function's own, of which LangSmith would log nothing either
        label, status = result.get("value"), result["metadata"]["status"]
        score = label if result.get("score") is None else result["score"]
        said: dict[str, Any] = {"value": score} if isinstance(score, str) else {"score": score}
        if score is None:
            said = {"value": "ABSTAIN" if status == "abstained" else "NOT GRADED"}
        comment = result.get("comment") if reasons else None
        testing.log_feedback(key=result.get("key") or key, comment=comment, **said)
