"""Every file below some paths, read and rewritten in memory: what a migration would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from judgeharness_integrations.migration.named import unread_files
from judgeharness_integrations.migration.recognising.adk import agent_files, registers
from judgeharness_integrations.migration.rewriting import rewritten
from judgeharness_integrations.migration.rewriting.adkconfig import needs_registration
from judgeharness_integrations.migration.rewriting.outcome import ByHand, Level, Rewrite
from judgeharness_integrations.migration.rewriting.registering import registered
from judgeharness_integrations.migration.scannedtree import ScannedTree
from judgeharness_integrations.migration.sources import (
    ConfigSource,
    Source,
    SourceError,
    check_parser,
    config_files,
    excluded,
    python_files,
)

__all__ = ["REGISTER", "FileRewrite", "Migration", "migrated"]

REGISTER = "register"  # the kind of what is to be done by hand about an app, not about a judge
_TODO = "import judgeharness_adk, and call judgeharness_adk.register() where the agent is made"


@dataclass(frozen=True, kw_only=True)
class FileRewrite:
    """One file: as it was read, and what becomes of it."""

    source: Source | ConfigSource
    rewrite: Rewrite

    @property
    def path(self) -> Path:
        """Where the file is."""
        return self.source.path


@dataclass(frozen=True, kw_only=True)
class Migration:
    """The files with something to say about them, and those that could not be read, with a sentence each."""

    level: Level
    files: tuple[FileRewrite, ...]
    seen: int
    unreadable: tuple[SourceError, ...] = ()

    @property
    def changed(self) -> tuple[FileRewrite, ...]:
        """The files that would be written."""
        return tuple(one for one in self.files if one.rewrite.changed)


def migrated(paths: Sequence[Path], level: Level, *, exclude: Sequence[str] = ()) -> Migration:
    """Return what a migration would do; nothing is written.

    Args:
        paths: files and folders.
        level: `single` or `measured`.
        exclude: patterns of files and folders to leave out.

    Raises:
        UsageError: a path does not exist, or libcst is missing.

    """
    check_parser()
    found: dict[Path, FileRewrite] = {}
    unreadable: list[SourceError] = []
    configs, modules = config_files(paths, exclude=exclude), python_files(paths, exclude=exclude)
    tree = ScannedTree(modules)
    for path in modules:
        try:
            found[path.absolute()] = _python(path, level, tree)
        except SourceError as error:
            unreadable.append(error)
    for path in configs:
        try:
            found[path.absolute()] = _config(path, level, found, exclude)
        except SourceError as error:
            unreadable += [error] if str(error) not in map(str, unreadable) else []
    unreadable += unread_files(paths)
    files = tuple(one for one in found.values() if _says(one.rewrite))
    return Migration(
        level=level,
        files=files,
        seen=len({*modules, *configs, *(error.path for error in unreadable)}),
        unreadable=tuple(unreadable),
    )


def _says(rewrite: Rewrite) -> bool:
    return bool(rewrite.changed or rewrite.by_hand or rewrite.harnessed or rewrite.problem or rewrite.line_notes)


def _python(path: Path, level: Level, tree: ScannedTree | None = None) -> FileRewrite:
    source = Source.read(path) if tree is None else tree.source(path)
    return FileRewrite(source=source, rewrite=rewritten(source, level))


def _config(path: Path, level: Level, found: dict[Path, FileRewrite], exclude: Sequence[str]) -> FileRewrite:
    """Return a config's rewrite; its agent is made to register, once, where no file of the app does."""
    source = ConfigSource.read(path)
    agents = list(agent_files(path))
    known = any(registers(agent) for agent in agents)
    rewrite = rewritten(source, level, registered=known)
    if known or not needs_registration(source.text):
        return FileRewrite(source=source, rewrite=rewrite)
    if not agents or (agents[0].absolute() not in found and excluded(agents[0], exclude)):
        hand = ByHand(
            line=1,
            framework="adk",
            kind=REGISTER,
            why="no agent.py that may be changed stands near it",
            todo=_TODO,
        )
        return FileRewrite(source=source, rewrite=replace(rewrite, by_hand=(*rewrite.by_hand, hand)))
    _register(agents[0], level, found)
    return FileRewrite(source=source, rewrite=rewrite)


def _register(agent: Path, level: Level, found: dict[Path, FileRewrite]) -> None:
    """Add the call to an agent's module, unless another config of the app has done so."""
    held = found.get(agent.absolute()) or _python(agent, level)
    if not any(change.action == "registered" for change in held.rewrite.changes):
        after, change = registered(held.source.with_text(held.rewrite.after))  # type: ignore[arg-type]
        rewrite = replace(held.rewrite, after=after, changes=(*held.rewrite.changes, change))
        found[agent.absolute()] = replace(held, rewrite=rewrite)
