"""Where a run stands: its folder, its log, its batches."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from rich.text import Text

from judgeharness_integrations._errors import ConfigError, JudgeHarnessError, RunBusyError, UsageError
from judgeharness_integrations.analysis.spending import bill_of
from judgeharness_integrations.analysis.usage import Price, Spent, billed
from judgeharness_integrations.judging.config import Config, JudgeConfig
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.harness import JudgeHarness
from judgeharness_integrations.judging.judge import Judge, text_hash
from judgeharness_integrations.judging.tiers import prices_of
from judgeharness_integrations.redacting import redacted, without_secrets
from judgeharness_integrations.reporting.terminal import safe
from judgeharness_integrations.verdictlog.encoding import calibration_run, fixed, share
from judgeharness_integrations.verdictlog.runfolder import EXPORTS, LOG, MARK, read_mark
from judgeharness_integrations.verdictlog.sql.batches import BatchJournal, BatchRecord
from judgeharness_integrations.verdictlog.sql.log import SqlLog

from ._output import check_folder
from ._run_options import RunLimits

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.row import ModelUsage
    from judgeharness_integrations.verdictlog.sql.runs import RunRecord

LOCK = "run.lock"


@dataclass(frozen=True, kw_only=True)
class RunPlace:
    """A folder for a run's files, and its log: a file in that folder unless another one is named."""

    folder: Path
    log: str | None

    @classmethod
    def of(cls, config: Config, *, out: Path | None, log: str | None, default: str) -> RunPlace:
        """Return where a configuration's run stands; options go before the configuration."""
        folder = out or config.resolve(config.out or default)
        if log is None and config.log is not None:
            log = config.log if "://" in config.log else str(config.resolve(config.log))
        return cls(folder=folder, log=log)

    @property
    def holds_run(self) -> bool:
        """Whether a run was begun here."""
        return self._has(LOG) or self._has(MARK)

    def _has(self, name: str) -> bool:
        return os.path.exists(self.folder / name)  # noqa: PTH110 - False for any path

    @property
    def _marked_log(self) -> str:
        """The log as another command finds it, without the password."""
        if self.log is None:
            return LOG
        return without_secrets(self.log, None) if "://" in self.log else str(Path(self.log).absolute())

    def check(self, *, overwrite: bool) -> None:
        """Raise a ConfigError unless files can be written, over those of something else only if so wished."""
        check_folder(self.folder, EXPORTS, overwrite=overwrite or self.holds_run or self._has(LOCK))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out of the folder, which is made for it; if it stays empty, it goes again.

        Raises:
            RunBusyError: another process holds it.

        """
        made = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _locked(self.folder):
                yield
        finally:
            for path in made:
                with suppress(OSError):  # something is in it
                    path.rmdir()

    def open(self) -> SqlLog:
        """Open the log, making it if need be."""
        from judgeharness_integrations.verdictlog import SqlLog  # noqa: PLC0415 - loads SQLAlchemy

        return SqlLog(self.log or self.folder / LOG)

    def run_of(self, log: SqlLog, run: str | None) -> tuple[str | None, RunRecord | None]:
        """Return the run to go on with and its record: the named one, else the one begun here.

        A run whose rows were imported has no record, one that is new neither.

        Raises:
            UsageError: the folder's run is not in this log.

        """
        if run is not None:
            return run, log.record(run)
        if not self._has(MARK):  # only the log was kept
            records = log.records() if self.log is None else []
            return (records[-1].run, records[-1]) if records else (None, None)
        begun = str(read_mark(self.folder / MARK).get("run"))
        record = log.record(begun)
        if record is None and not log.has_rows(run=begun):
            raise UsageError(
                f"{self.folder} holds the files of run {begun}, which {log.name} does not know: "
                "give its --log, another --out, another --run, or --new-run."
            )
        return begun, record

    def mark(
        self, run: str, *, planned_cases: Mapping[str, int], start: Path, **held: Mapping[str, Any] | None
    ) -> None:
        """Note which run stands here, and how many cases each judge is to be asked, before anything is asked.

        `held`, certificate or cascade and passport, is what decisions stand under: results cannot be read without it.
        `start` is the folder from which the configuration names files; it is noted as seen from here.
        """
        noted: dict[str, Any] = {"run": run, "log": self._marked_log, "planned_cases": dict(planned_cases)}
        noted |= {name: one for name, one in held.items() if one is not None}
        with suppress(ValueError):  # on another drive
            noted["configured_in"] = Path(os.path.relpath(start.resolve(), self.folder.resolve())).as_posix()
        text = json.dumps(noted, indent=2)
        part = self.folder / f".{MARK}.{os.getpid()}"
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(self.folder / MARK)  # a kill leaves the old or the new one


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; the system ends that of a process that was killed."""
    path = folder / LOCK
    lock = FileLock(path, timeout=0)
    try:
        while not _lock(lock, path):
            pass
    except Timeout:
        raise RunBusyError(
            f"{folder} is being written by another process: wait for it, or give another --out; nothing was asked."
        ) from None
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(f"{path} cannot be locked ({reason}): give another --out; nothing was asked.") from error
    try:
        yield
    finally:
        with suppress(OSError):  # while it is locked: whoever locks it later finds another file there, or none
            path.unlink()
        lock.release()


def _lock(lock: FileLock, path: Path) -> bool:
    """Lock the file that stands at the path; False where its holder has just removed it."""
    with path.open("ab") as opened:
        lock.acquire()
        with suppress(OSError):
            if os.path.samestat(os.fstat(opened.fileno()), path.stat()):
                return True
    lock.release()
    return False


_MOST_CHANGES = 4
_LONGEST_VALUE = 60


def run_parts(
    config: Config, harness: JudgeHarness, judges: Sequence[Judge], *, cases: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the answers depend on, as JSON without secrets.

    How fast, how far and at which tier is asked (limits, budgets, the engine) is no part of it: it may change from one
    go to the next.
    """
    given = {one.name: one for one in config.judges}  # a cascade asks only those that have a certificate
    asked = {judge.name: _judge(given[judge.name], judge) for judge in judges}
    design, anchor = harness.design, config.calibration
    return {
        "judges": redacted(asked),
        "cases": dict(cases),
        "harness": {
            "perturbations": list(design.perturbations),
            "repetitions": design.repetitions,
            "aggregation_rule": design.rule.name,
            "min_valid": design.min_valid,
            "tolerance": design.tolerance,
            "curtail": design.curtail,
            "on_unfit": harness.on_unfit,
            "seed": harness.seed,
            "wordings": list(design.wordings),
            "rewriter": None if config.harness.rewriter is None else redacted(config.harness.rewriter.model_dump()),
        },
        "keep": config.keep,
        "calibration": _measured(
            config, None if anchor is None else anchor.model_dump(exclude_none=True, exclude={"ledger"})
        ),
        "certificate": _measured(config, None if config.certificate is None else {"file": config.certificate}),
    }


def cancel_advice(run: str, asked: str) -> str:
    """Return what to know of batches of a run that another one does not collect, `asked` being what they ask."""
    return f"run {run} has {asked} (`judgeharness runs --cancel {run}` cancels what is open)"


def check_unchanged(record: RunRecord, now: Mapping[str, Any], *, asked: str = "") -> None:
    """Raise a UsageError that says what changed since the run began, and what its batches ask."""
    run, old = record.run, dict(_flat(json.loads(json.dumps(record.parts))))
    new = dict(_flat(json.loads(json.dumps(now))))
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    if not names:
        return
    changes = [
        f"{name} was {_value_text(old.get(name))}, is {_value_text(new.get(name))}" for name in names[:_MOST_CHANGES]
    ]
    more = f"; {len(names) - _MOST_CHANGES} more" if len(names) > _MOST_CHANGES else ""
    named = ["identity" in judge for judge in now["judges"].values()]
    over = ", which takes over every answer that still fits" if any(named) else ""
    over += "" if all(named) or not over else " of judges that name a model"
    raise UsageError(
        f"the configuration is not that of run {run} any more ({'; '.join(changes)}{more}): undo the change, or start "
        f"a new run with --new-run{over}; {cancel_advice(run, asked) if asked else 'nothing was asked'}."
    )


def _judge(config: JudgeConfig, judge: Judge) -> dict[str, Any]:
    given = config.model_dump(mode="json", exclude_none=True, exclude={"name", "tier"})
    identity = judge.identity
    if identity is not None and identity.source is None:
        return {**given, "identity": identity.to_dict()}
    return {**given, "source": _source(judge)}


def _source(judge: Judge) -> str | None:
    """Return a digest of the file a judge that declares no identity is written in."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(getattr(judge, "function", type(judge))))
        return text_hash(Path(path or "").read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError):
        return None


def _measured(config: Config, given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what is given as a calibration or certificate, with a digest of its file."""
    if given is None:
        return None
    path = config.resolve(str(given.get("file") or given["labels"]))
    return {**given, "content": hashlib.sha256(path.read_bytes()).hexdigest()[:16]}


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what stands where; an empty mapping says nothing, as where an older version wrote none."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _flat(part, f"{name}.{key}" if name else str(key))
    else:
        yield name, value


def _value_text(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


_EVERY_S = 0.5
_LIMITS = ("calls", "tokens", "cost")


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a run may spend as a whole, over all its goes; `planned` refuses a larger plan before the first call.

    `named` are the limits as they were given: by options of the command, or by keys.
    """

    planned: int | None
    calls: int | None
    tokens: int | None
    cost: float | None
    prices: dict[str, Price]
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config, limits: RunLimits) -> Spending:
        """Return the limits of a configuration and of options, which go first."""
        execution, budget = config.execution, config.execution.budget
        found: dict[str, Any] = {}
        named: dict[str, str] = {}
        for name, option, key in (
            ("planned", limits.max_calls, execution.max_calls),
            ("calls", limits.budget_calls, budget.calls),
            ("tokens", limits.budget_tokens, budget.tokens),
            ("cost", limits.budget_cost, budget.cost),
        ):
            found[name] = key if option is None else option
            word = "max_calls" if name == "planned" else f"budget.{name}"
            named[name] = word if option is None else "--" + word.replace("_", "-").replace(".", "-")
        return cls(**found, prices=prices_of(config), named=named)

    @property
    def shown(self) -> str | None:
        """The budget in words; None without one."""
        calls = self.calls if self.planned is None else min(self.planned, self.calls or self.planned)
        if self.calls is None and self.tokens is None and self.cost is None:
            return None
        parts = [] if calls is None else [f"{calls} calls, retries included"]
        parts += [] if self.tokens is None else [f"{self.tokens} tokens"]
        parts += [] if self.cost is None else [f"{self.cost:g} by the prices given"]
        return ", ".join(parts)

    def budget(self, usage: Sequence[ModelUsage] = (), *, spent: int | None = None) -> Budget:
        """Return the budget of a run that has used this much before; `spent` attempts were noted of it.

        Raises:
            UsageError: there is a limit of money without prices, or what was used of it is not known.

        """
        if self.cost is not None and not self.prices:
            raise UsageError(
                f"{self.named['cost']} needs prices, per million tokens: add execution.prices to the configuration, as "
                "in prices: {gpt-4o: {input: 2.5, output: 10}}."
            )
        limits = [(limit, name) for name in ("planned", "calls") if (limit := getattr(self, name)) is not None]
        calls, named = min(limits, default=(None, "calls"))
        bill = bill_of(usage, self.prices)
        if self.tokens is not None and any(one.unreported_calls for one in usage):
            silent = sum(one.unreported_calls for one in usage)
            raise UsageError(_unknown("tokens", f"{silent} of its answers did not report their tokens"))
        if self.cost is not None and bill.cost is None:
            raise UsageError(_unknown("cost", "; ".join(bill.remarks)))
        return Budget(
            max_calls=calls,
            max_tokens=self.tokens,
            max_cost=self.cost,
            prices=self.prices or None,
            spent=max(spent or 0, sum(one.attempts or 0 for one in usage)),
            tokens=sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in usage),
            cost=bill.cost,
            largest=tuple(_largest(one) for one in usage),
            named={
                f"max_{name}": self.named.get(named if name == "calls" else name, f"max_{name}") for name in _LIMITS
            },
        )


def _largest(one: ModelUsage) -> Spent:
    """Return what no call took more than: the most of each kind of tokens, and the fewest from the provider's cache."""
    return Spent(
        one.largest_input,
        one.largest_output,
        one.model,
        one.least_cached_input,
        one.largest_cache_write,
        one.service_tier,
    )


def _unknown(limit: str, why: str) -> str:
    return (
        f"the budget of {limit} cannot be kept, for what the run spent before is not known: {why}; add what is missing "
        "or limit the calls instead; nothing was asked."
    )


@contextmanager
def noting_spent(log: SqlLog, run: str, budget: Budget | None, *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Note the attempts a budget counted twice a second, those in flight included: a kill loses no more of them.

    Those that wait for a batch are left out, since whoever goes on takes them anew.

    Rows say nothing of rewordings and of calls that were cut off.
    """
    if budget is None:
        yield
        return
    over = threading.Event()

    def work() -> None:
        noted = budget.lasting
        while not over.wait(every_s):
            if (spent := budget.lasting) != noted:
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


COLUMNS = ("run", "judge", "batch", "state", "age", "answered,\n% of requests", "cost\nat most")
_STATES = {"intended": "unknown", "tidied": "collected"}


def batch_entries(log: SqlLog, run: str, prices: Mapping[str, Price]) -> list[dict[str, Any]]:
    """Return the batches of a run, those of its labelled cases included, oldest first.

    `unknown` is the state of one that may or may not have been accepted. `cost_at_most` is by the size of its requests,
    a token a byte, and their limit of tokens to write; None where they set none, or there is no price.
    """
    records = [record for name in (run, calibration_run(run)) for record in BatchJournal(log.store).records(run=name)]
    return [
        {
            "judge": record.judge,
            "batch": record.provider_id,
            "provider": record.provider,
            "model": record.model,
            "state": _STATES.get(record.state, record.state),
            "created": record.created_at,
            "requests": record.requests,
            "answered": record.answered,
            "cost_at_most": _cost(record, prices),
        }
        for record in records
    ]


def _cost(record: BatchRecord, prices: Mapping[str, Price]) -> float | None:
    if record.output_tokens is None or not prices:
        return None
    spent = Spent(record.input_tokens, record.output_tokens, record.model, service_tier="batch")
    return billed(spent, prices).cost


def batch_cells(run: str, entry: Mapping[str, Any]) -> list[str | Text]:
    """Return a batch as a line of a table."""
    texts = [safe(text) for text in (run, entry["judge"], entry["batch"] or "-", entry["state"])]
    age = (datetime.now(UTC) - datetime.fromisoformat(entry["created"])).total_seconds()
    answered = share(entry["answered"], entry["requests"])
    return [*texts, f"{age / 3600:.1f} h", answered, fixed(entry["cost_at_most"], 4)]


def open_cost(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return what batches that are not collected will have cost, as a sentence; nothing where there are none."""
    costs = [entry["cost_at_most"] for entry in entries if entry["state"] in ("open", "unknown")]
    if not costs:
        return ""
    known = None if None in costs else sum(costs)
    return "What they cost is unknown" + ("." if known is None else f", up to {fixed(known, 4)}.")
