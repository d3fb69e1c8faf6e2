"""Every judge of a file, whatever framework makes it."""

from __future__ import annotations

from judgeharness_integrations.migration.prefilter import may_hold_judges
from judgeharness_integrations.migration.site import Framework, JudgeShape, JudgeSite
from judgeharness_integrations.migration.sources import ConfigSource, Source

__all__ = ["Framework", "JudgeShape", "JudgeSite", "find_sites"]


def find_sites(source: Source | ConfigSource) -> tuple[JudgeSite, ...]:
    """Return the judges of a file in the order they stand there, deterministic evaluators and harnessed ones too.

    Raises:
        SourceError: the file cannot be parsed.

    """
    if isinstance(source, ConfigSource):
        from judgeharness_integrations.migration.recognising.adk import config_sites  # noqa: PLC0415 - few have configs

        return config_sites(source)
    if not may_hold_judges(source.text) and (source.tree is None or not source.tree.concerns(source.path, source.text)):
        return ()
    from judgeharness_integrations.migration.recognising import handwritten_sites, made_sites  # noqa: PLC0415

    view = source.view
    made = made_sites(view)
    found = [*made, *handwritten_sites(view, made)]
    return tuple(sorted(found, key=lambda site: (site.line, site.column)))
