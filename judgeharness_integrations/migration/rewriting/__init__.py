"""Rewrites single-call judges: the same code with a harness around each judge, everything else as it was.

`rewritten(source, level)` is a pure function of a file's text; writing is the command's business.
"""

from __future__ import annotations

from judgeharness_integrations.migration.rewriting.adk import rewritten_config
from judgeharness_integrations.migration.rewriting.changes import Level, Rewrite
from judgeharness_integrations.migration.rewriting.pythonfile import rewritten_python
from judgeharness_integrations.migration.sources import ConfigSource, Source, SourceError

__all__ = ["rewritten"]


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
