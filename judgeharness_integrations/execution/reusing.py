"""Answers other runs paid for: each is taken over for one probe of a run at most."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from judgeharness_integrations.execution.answering import Keep, kept
from judgeharness_integrations.verdictlog.row import TOKENS

if TYPE_CHECKING:
    from judgeharness_integrations.execution.preparing import Pending
    from judgeharness_integrations.execution.sharing import SharedRun, Source
    from judgeharness_integrations.perturbations import Perturbation
    from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CALIBRATION", "FACTS", "KnowingLog", "Reuse", "free_hash"]

CALIBRATION = "/calibration"  # ends the name of the run of a run's labelled cases
# what a row tells of its call that measurements need; its other attributes are those of its case
_NOT_PAID: Mapping[str, Any] = {**dict.fromkeys(TOKENS), "latency_s": None, "attempts": 0}
FACTS = ("response_id", "cached", "warning", "parser_conflict", "output_mode")


class KnowingLog(Protocol):
    """A log that finds answers by what was asked; its methods may wait, so they are called in a thread."""

    def known(self, probe_hashes: Sequence[str], *, except_run: str) -> Mapping[str, Sequence[Sequence[VerdictRow]]]:
        """Return probe hash -> calls of other runs that did not fail, each as its rows, oldest first."""
        ...

    def taken_over(self, probe_hashes: Sequence[str], *, run: str) -> Sequence[VerdictRow]:
        """Return the rows with these hashes that a run took over from others."""
        ...


@dataclass(frozen=True, kw_only=True)
class Reuse:
    """Takes answers of other runs over into a run; rows are kept as the run keeps its own.

    Rows of labelled cases are left where they are: what is measured on them must not vouch for themselves.
    """

    log: KnowingLog
    run: str
    judge: str
    digest: bytes
    keep: Keep
    shared: SharedRun

    async def look_up(self, probes: Iterable[Pending]) -> None:
        """Tell probes which are answered; one whose text a model has to reword first is asked again."""
        wanted: dict[str, list[Pending]] = {}  # two cases may show the same
        for pending in probes:
            if (hashed := await free_hash(pending, self.digest)) is not None:
                wanted.setdefault(hashed, []).append(pending)
        if wanted:
            await asyncio.to_thread(self._hand_out, wanted)

    def _hand_out(self, wanted: Mapping[str, Sequence[Pending]]) -> None:
        with self.shared.handing:
            taken = set(self.shared.handed_out)  # before the log is asked: what leaves it then is in the log
            found = self.log.known(list(wanted), except_run=self.run)
            if not found:
                return
            copies = self.log.taken_over(list(found), run=self.run)
            taken.update(_source(row) for row in copies)
            for hashed, calls in found.items():
                free = {_source(call[0]): call for call in reversed(calls) if not call[0].run.endswith(CALIBRATION)}
                self._share({one: free[one] for one in free if one not in taken}, wanted[hashed])

    def _share(self, free: dict[Source, Sequence[VerdictRow]], probes: Sequence[Pending]) -> None:
        """Give each probe a call, first those whose case was asked itself."""
        for pending in probes:
            own = [one for one in free if one[3] == pending.case_id]
            if own:
                self._give(pending, max(own, key=lambda one: one[2] == self.judge), free)
        for pending in probes:
            if pending.known is None and free:
                self._give(pending, next(iter(free)), free)

    def _give(self, pending: Pending, source: Source, free: dict[Source, Sequence[VerdictRow]]) -> None:
        pending.known = tuple(self._as_mine(row, pending, source) for row in free.pop(source))
        self.shared.handed_out[source] = pending

    def _as_mine(self, row: VerdictRow, pending: Pending, source: Source) -> VerdictRow:
        """Return a row of another run as one of this run, which paid nothing for it."""
        _, run, judge, case_id = source
        facts = {name: row.attributes[name] for name in FACTS if name in row.attributes}
        whose = {"reused_from": run}
        if judge != self.judge:
            whose["reused_judge"] = judge
        if case_id != pending.case_id:
            whose["reused_case"] = case_id
        return replace(
            row,
            run=self.run,
            judge=self.judge,
            case_id=pending.case_id,
            gold=pending.facts.gold_of(row.criterion),
            call_id=None if row.call_id is None else pending.call_id(self.run, self.judge),
            reasoning=kept(row.reasoning, self.keep),
            raw=kept(row.raw, self.keep),
            error=row.error if self.keep == "text" else None,
            **_NOT_PAID,
            attributes={**pending.facts.attributes, **facts, **whose},
        )


def _source(row: VerdictRow) -> Source:
    """Return whose call a row came from."""
    told = row.attributes
    run, judge = told.get("reused_from", row.run), told.get("reused_judge", row.judge)
    return row.probe_hash or "", str(run), str(judge), str(told.get("reused_case", row.case_id))


async def free_hash(pending: Pending, judge: bytes) -> str | None:
    """Return the hash of a probe; None where making it would cost a call, or fails."""
    if not _asks_nobody(pending.perturbation):
        return None
    try:
        await pending.ready()
    except Exception:  # noqa: BLE001 - its row will say why; until then nothing is known of it
        return None
    return pending.hash(judge)


def _asks_nobody(perturbation: Perturbation) -> bool:
    """Whether applying a perturbation costs nothing."""
    parts = perturbation.parts or (perturbation,)
    return not any(part.rewriter is not None or inspect.iscoroutinefunction(part.apply) for part in parts)
