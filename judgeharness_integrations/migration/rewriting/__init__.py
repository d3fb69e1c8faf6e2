"""Rewrites single-call judges: the same code with a harness around each judge, everything else as it was.

`rewritten(source, level)` is a pure function of a file's text; writing is the command's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path

from ..discovery import ScannedTree
from ..frameworks import is_registered, unregistered
from ..modules import (
    ConfigSource,
    Source,
    SourceError,
    check_parser,
    config_files,
    excluded,
    python_files,
    unread_files,
)
from .adk import needs_registration, registered, rewritten_config
from .changes import REGISTER, ByHand, Level, Rewrite
from .pythonfile import rewritten_python


def rewritten(source: Source | ConfigSource, level: Level = "single", *, registered: bool = False) -> Rewrite:
    """Return a file with every judge that can be wrapped mechanically at a level.

    `single` asks what was asked before and gives the same verdicts; `measured` turns the harness on, also where
    `single` was written earlier. A file that is at the level, or above it, comes back as it is.

    Args:
        source: a Python file, or a config of ADK.
        level: `single` or `measured`.
        registered: of a config: its agent calls `judgeharness_adk.register()` already.

    Raises:
        SourceError: the file cannot be parsed.
        NotInstalledError: libcst is missing.

    """
    if isinstance(source, ConfigSource):
        try:
            return rewritten_config(source.text, level, registered=registered)
        except ValueError as error:
            raise SourceError(source.path, getattr(error, "lineno", None), f"it is not JSON ({error}).") from None
    return rewritten_python(source, level)


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
        return tuple(file for file in self.files if file.rewrite.changed)


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
            found[path.absolute()] = _config(path, level, found, tree, exclude)
        except SourceError as error:
            unreadable += [error] if str(error) not in map(str, unreadable) else []
    unreadable += unread_files(paths)
    files = tuple(one for one in _without_served(found.values()) if _says(one.rewrite))
    return Migration(
        level=level,
        files=files,
        seen=len({*modules, *configs, *(error.path for error in unreadable)}),
        unreadable=tuple(unreadable),
    )


@dataclass(frozen=True, kw_only=True)
class NextStep:
    """What comes after a scan: a migration that has something to write, else what is left by hand, and where."""

    migrates: bool
    path: Path
    by_hand: ByHand | None = None


def next_step(paths: Iterable[Path], tree: ScannedTree, *, exclude: Sequence[str] = ()) -> NextStep | None:
    """Return what `migrate` would do about files; None where it has nothing to say about them.

    Args:
        paths: the files with judges that no harness asks.
        tree: the files that are scanned.
        exclude: as of `migrated`.

    """
    found: dict[Path, FileRewrite] = {}
    for path in sorted(paths, key=lambda one: one.suffix == ".json"):
        one = _config(path, "single", found, tree, exclude) if path.suffix == ".json" else _python(path, "single", tree)
        if one.rewrite.changed:
            return NextStep(migrates=True, path=path)
        found[path.absolute()] = one
    left = ((one.path, hand) for one in _without_served(found.values()) for hand in one.rewrite.by_hand)
    return next((NextStep(migrates=False, path=path, by_hand=hand) for path, hand in left), None)


def _without_served(files: Iterable[FileRewrite]) -> Iterator[FileRewrite]:
    """Yield the files without the judges that are left to their author there and that all others harness, or will."""
    every, states = list(files), dict[tuple[Path, int], set[str]]()
    for use in (use for one in every for use in one.rewrite.uses):
        states.setdefault((use.path.absolute(), use.line), set()).add(use.state)
    for one in every:
        rewrite, left, done = one.rewrite, list[ByHand](), 0
        for found in rewrite.by_hand:
            state = states.get((one.path.absolute(), found.line), {"bare"})
            if found.framework != "handwritten" or "bare" in state:
                left.append(found)
            else:
                done += state.isdisjoint({"changed", "listed"})
        calls = (*rewrite.harnessed_calls, *(None for _ in range(done)))
        yield replace(one, rewrite=replace(rewrite, by_hand=tuple(left), harnessed_calls=calls))


def _says(rewrite: Rewrite) -> bool:
    return bool(rewrite.changed or rewrite.by_hand or rewrite.harnessed or rewrite.problem or rewrite.line_notes)


def _python(path: Path, level: Level, tree: ScannedTree | None = None) -> FileRewrite:
    source = Source.read(path) if tree is None else tree.source(path)
    return FileRewrite(source=source, rewrite=rewritten(source, level))


def _config(
    path: Path, level: Level, found: dict[Path, FileRewrite], tree: ScannedTree, exclude: Sequence[str]
) -> FileRewrite:
    """Return a config's rewrite; its agents are made to register, once, where no file of their apps does."""
    source = ConfigSource.read(path, tree=tree)
    known = is_registered(source)
    rewrite = rewritten(source, level, registered=known)
    if known or not needs_registration(source.text):
        return FileRewrite(source=source, rewrite=rewrite)
    agents = unregistered(source)
    if not agents or any(one.absolute() not in found and excluded(one, exclude) for one in agents):
        hand = ByHand(
            line=1,
            framework="adk",
            kind=REGISTER,
            why="no agent.py that may be changed stands near it, is evaluated with it by a test named here or is the "
            "only one",
            todo=_TODO,
        )
        return FileRewrite(source=source, rewrite=replace(rewrite, by_hand=(*rewrite.by_hand, hand)))
    for agent in agents:
        _register(agent, level, found)
    return FileRewrite(source=source, rewrite=rewrite)


def _register(agent: Path, level: Level, found: dict[Path, FileRewrite]) -> None:
    """Add the call to an agent's module, unless another config of the app has done so."""
    held = found.get(agent.absolute()) or _python(agent, level)
    if not any(change.action == "registered" for change in held.rewrite.changes):
        after, change = registered(held.source.with_text(held.rewrite.after))  # type: ignore[arg-type]
        rewrite = replace(held.rewrite, after=after, changes=(*held.rewrite.changes, change))
        found[agent.absolute()] = replace(held, rewrite=rewrite)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Judges that are changed, and their calls a case (of ADK: an invocation), each judge asked once about each.

    `unknown` counts those whose calls cannot be read off the code; the sums leave them out. Where not `exact`, the sums
    are the least there can be. `harnessed` is what judges that are not changed cost, as far as it is known; None where
    it is known of none of them. `by_hand` is how many entries are left to their authors, `steps` of them about an app
    and no judge; `already` counts the judges that are harnessed and not changed.
    """

    judges: int
    before: int
    after: int
    unknown: int = 0
    exact: bool = True
    harnessed: int | None = None
    harnessed_exact: bool = True
    by_hand: int = 0
    steps: int = 0
    already: int = 0

    @property
    def all_judges(self) -> int:
        """How many judges there are."""
        return self.judges + self.by_hand - self.steps + self.already

    @property
    def extra(self) -> int:
        """Calls a case that are added."""
        return self.after - self.before


def cost_of(rewrites: Iterable[Rewrite]) -> Cost:
    """Return the cost of the changes in some files together."""
    every = list(rewrites)
    changes = [change for rewrite in every for change in rewrite.changes if change.action != "registered"]
    others = [calls for rewrite in every for calls in rewrite.harnessed_calls]
    left = [found for rewrite in every for found in rewrite.by_hand]
    known = [change for change in changes if change.extra_calls is not None]
    return Cost(
        judges=len(changes),
        before=sum(change.calls_before or 0 for change in known),
        after=sum(change.calls_after or 0 for change in known),
        unknown=len(changes) - len(known),
        exact=all(change.exact for change in known),
        harnessed=None if set(others) <= {None} else sum(calls or 0 for calls in others),
        harnessed_exact=None not in others,
        by_hand=len(left),
        steps=sum(one.kind == REGISTER for one in left),
        already=len(others),
    )


_LINE = re.compile(r".*?(?:\r\n|\r|\n)|.+\Z", re.DOTALL)
_NO_END = "\\ No newline at end of file\n"


def diff_of(rewrite: Rewrite, path: Path) -> str:
    """Return the diff of a file, empty where nothing changes; line endings are those of the file.

    Notes on its lines stand above it as comments, which are no part of the patch.
    """
    if not rewrite.changed:
        return ""
    before, after = (_LINE.findall(text) for text in (rewrite.before, rewrite.after))
    name = path.as_posix().lstrip("/")
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
    notes = "".join(f"# {name}: {note}\n" for note in rewrite.line_notes)
    return notes + "".join(line if line.endswith("\n") else f"{line}\n{_NO_END}" for line in lines)
