"""What a run spent, noted in its log meanwhile: rows say nothing of rewordings and of calls that were cut off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from judgeharness_integrations._errors import JudgeHarnessError

if TYPE_CHECKING:
    from judgeharness_integrations.execution.budget import Budget
    from judgeharness_integrations.verdictlog import SqlLog

__all__ = ["noting_spent"]

_EVERY_S = 0.5


@contextmanager
def noting_spent(log: SqlLog, run: str, budget: Budget | None, *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Note the attempts a budget counted twice a second, those in flight included: a kill loses no more of them."""
    if budget is None:
        yield
        return
    over = threading.Event()

    def work() -> None:
        noted = budget.spent
        while not over.wait(every_s):
            if (spent := budget.spent) != noted:
                with suppress(JudgeHarnessError):  # whoever writes rows will say so
                    log.note(run, attempts_spent=spent)
                    noted = spent

    thread = threading.Thread(target=work, name="judgeharness-spent", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
