"""What failed on a worker, as plain data on the wire and as an error on the driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from judgeharness_integrations.execution.retrying import remedy_of, retry_after_s, status_of
from judgeharness_integrations.modelanswer import EmptyAnswerError, ModelAnswer
from judgeharness_integrations.redacting import Redactor

__all__ = ["ClusterLost", "Failure", "RemoteFailure", "WorkerDied", "as_error"]

_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception a judge raised: foreign classes need not exist on the driver, nor survive pickling.

    `transient` is what the run's policy said of the exception itself, `remedy` what mends it if nothing heals it;
    `billed` is the reply without an answer that was billed all the same.
    """

    kind: str
    text: str
    transient: bool = False
    status: int | None = None
    code: str | None = None
    retry_after_s: float | None = None
    remedy: str | None = None
    billed: ModelAnswer | None = None

    @classmethod
    def of(
        cls, error: BaseException, transient: Callable[[BaseException], bool], redact: Redactor | None = None
    ) -> Failure:
        """Describe an exception on the worker, whose environment may hold other keys than the driver's."""
        status = status_of(error)
        # aiohttp's errors, which have a `status`, warn when their `code` is read
        code = None if hasattr(error, "status") else getattr(error, "code", None)
        return cls(
            kind=type(error).__name__,
            text=(redact or Redactor()).text(str(error))[:_LONGEST_TEXT],
            transient=transient(error),
            status=status,
            code=code if isinstance(code, str) else None,
            retry_after_s=retry_after_s(error),
            remedy=remedy_of(error),
            billed=error.answer if isinstance(error, EmptyAnswerError) else None,
        )


class RemoteFailure(Exception):  # noqa: N818 - its subclasses carry the names of what was raised
    """A failure of a judge on a worker; status and Retry-After stand where those of HTTP clients do."""

    def __init__(self, failure: Failure) -> None:
        """Carry what the worker said."""
        super().__init__(failure.text)
        self.transient, self.remedy = failure.transient, failure.remedy
        self.status_code = failure.status
        self.code = failure.code
        wait_s = failure.retry_after_s
        self.headers = {} if wait_s is None else {"retry-after": repr(wait_s)}


class WorkerDied(Exception):  # noqa: N818 - an event, and the text of an error row
    """A worker died while it judged a probe, for the `times`-th time; `final`: the probe is not asked again."""

    def __init__(self, times: int, *, final: bool) -> None:
        """Note how often it happened to the probe."""
        super().__init__(f"the worker died {times} time{'s' * (times > 1)} while it judged this probe")
        self.final = final


class ClusterLost(BaseException):  # no Exception: it ends the run instead of becoming a row
    """No worker is left and none can be started: what was not answered is asked when the run is resumed."""


@lru_cache(maxsize=256)
def _kind(name: str) -> type[RemoteFailure]:
    return type(name, (RemoteFailure,), {})


def as_error(failure: Failure) -> RemoteFailure | EmptyAnswerError:
    """Return a failure as an exception that is named like the one the judge raised."""
    return _kind(failure.kind)(failure) if failure.billed is None else EmptyAnswerError(failure.billed)
