"""Where a run stands: its folder, its log, and which run of the log it is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from judgeharness_integrations._errors import ConfigError, RunBusyError, UsageError
from judgeharness_integrations.cli._writing import check_folder
from judgeharness_integrations.config import Config
from judgeharness_integrations.redacting import without_secrets
from judgeharness_integrations.verdictlog.runfolder import EXPORTS, LOG, MARK, read_mark

if TYPE_CHECKING:
    from judgeharness_integrations.verdictlog import SqlLog
    from judgeharness_integrations.verdictlog.sql.records import RunRecord

__all__ = ["RunPlace"]

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
        self, run: str, *, planned_cases: Mapping[str, int], start: Path, certificate: Mapping[str, Any] | None
    ) -> None:
        """Note which run stands here, and how many cases each judge is to be asked, before anything is asked.

        `certificate` is what its decisions stand under, without which its results cannot be read. `start` is the folder
        from which the configuration names files; it is noted as seen from here.
        """
        noted: dict[str, Any] = {"run": run, "log": self._marked_log, "planned_cases": dict(planned_cases)}
        if certificate is not None:
            noted["certificate"] = certificate
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
