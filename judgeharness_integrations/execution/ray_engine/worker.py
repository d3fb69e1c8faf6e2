"""What runs in a worker process: one judge, asked one attempt at a time a probe."""

from __future__ import annotations

import os
import sys
from asyncio import CancelledError
from collections.abc import Callable, Mapping, Sequence

from judgeharness_integrations.execution.attempting import own_failure
from judgeharness_integrations.execution.ray_engine.failures import Failure
from judgeharness_integrations.judging import Judge, Judgment, Probe, as_judgment
from judgeharness_integrations.redacting import redactor

__all__ = ["JudgeWorker", "SearchPath"]


class SearchPath:
    """The driver's folders of modules: where it is read, modules are also looked for there, as far as they exist.

    That is in a worker, and behind `ray://` also in the process of the cluster that passes on what the driver sends.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        """Name the folders."""
        self._folders = tuple(folders)

    def __reduce__(self) -> tuple[Callable[[Sequence[str]], SearchPath], tuple[Sequence[str]]]:
        """Be read by `_searched`."""
        return _searched, (self._folders,)


def _searched(folders: Sequence[str]) -> SearchPath:
    sys.path.extend(folder for folder in folders if folder not in sys.path and os.path.isdir(folder))  # noqa: PTH112
    return SearchPath(folders)


class JudgeWorker:
    """An asynchronous actor: one event loop and one judge, whose clients live as long as the worker."""

    def __init__(self, path: SearchPath | None = None) -> None:
        """Start; `path` served its purpose when it was read."""
        del path

    async def prepare(self, judge: Judge, transient: Callable[[BaseException], bool]) -> None:
        """Take the judge, and the rule which failures are worth another attempt."""
        self._judge, self._transient, self._redact = judge, transient, redactor(judge)

    async def judge(self, probe: Probe, lesson: Mapping[str, str | float]) -> Judgment | Failure:
        """Return the judgment of a probe, or how its only attempt failed; the judge learns the lesson of the run."""
        try:
            if lesson:
                self._judge.learn(lesson)  # type: ignore[attr-defined] # whose lesson it is
            # what a judge raises never leaves as an exception: SystemExit would even end the actor
            return as_judgment(await self._judge.judge(probe))
        except (Exception, CancelledError, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001
            return Failure.of(own_failure(error), self._transient, self._redact)
