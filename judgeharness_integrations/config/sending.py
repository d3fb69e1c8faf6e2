"""Judges of a configuration that travel as the place where they are written: every worker builds its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations.config.building import build_judge
from judgeharness_integrations.config.reading import load_config

if TYPE_CHECKING:
    from judgeharness_integrations.cases import Criterion
    from judgeharness_integrations.config.schema import Config
    from judgeharness_integrations.judging import Judge, JudgeIdentity, Judgment, Probe

__all__ = ["SendableJudge"]


class SendableJudge:
    """A judge that is pickled as (configuration file, place in its list), so that clients and keys stay where they are.

    Whoever unpickles it must find the file under the same path, and the judge's module beside it.
    """

    def __init__(self, judge: Judge, config: Config, place: int) -> None:
        """Stand for the judge at a place of a configuration."""
        self._judge, self._path, self._place = judge, str(config.path.resolve()), place

    @property
    def name(self) -> str:
        """The judge's name."""
        return self._judge.name

    @property
    def identity(self) -> JudgeIdentity | None:
        """The judge's identity."""
        return self._judge.identity

    @property
    def criteria(self) -> tuple[Criterion, ...] | None:
        """The questions the judge answers."""
        return self._judge.criteria

    async def judge(self, probe: Probe) -> Judgment:
        """Answer one probe."""
        return await self._judge.judge(probe)

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the judge, such as `supports`."""
        return getattr(self._judge, name)

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        """Be built anew."""
        return _built, (self._path, self._place)


def _built(path: str, place: int) -> Judge:
    return build_judge(load_config(Path(path)), place)
