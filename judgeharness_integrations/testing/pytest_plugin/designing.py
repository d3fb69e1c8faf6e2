"""Options and markers -> the harness that measures a case."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.cases import Case, PairwiseCase
from judgeharness_integrations.config.building import build_calibration, build_certificate, build_harness_options
from judgeharness_integrations.defaulting import shape_of, standard_for
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge
from judgeharness_integrations.presets import Shape
from judgeharness_integrations.testing.pytest_plugin.schema import (
    BY_PRESET,
    finished_harness,
    layered,
    read_marker,
)

if TYPE_CHECKING:
    import pytest

    from judgeharness_integrations.calibration.labels import CalibrationSet
    from judgeharness_integrations.config.schema import Config
    from judgeharness_integrations.execution.budget import Budget

__all__ = ["Designer", "marker_keys"]

_ASKING = ("calibration", "certificate", "max_calls")  # of the harness, but not of its design
_CHECKING = ("on_abstain", "min_consistency")  # not of the harness


def marker_keys(item: pytest.Item) -> dict[str, Any]:
    """Return the keys of a test's markers, module before class before function.

    Raises:
        UsageError: one of them cannot be used.

    """
    merged: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("judgeharness"))):
        where = f"{item.nodeid}: @pytest.mark.judgeharness"
        if marker.args:
            raise UsageError(f"{where} takes keys, as in judgeharness(repetitions=3), not {marker.args[0]!r:.60}.")
        merged = layered(merged, read_marker(marker.kwargs, where=where))
    return merged


class Designer:
    """Makes the harnesses of a session, each design once."""

    def __init__(self, *, file: Config, design: Mapping[str, Any], root: Path, budget: Budget) -> None:
        """Take the session's options; `root` is where paths of markers start."""
        self._file, self._design, self._root = file, design, root
        self.budget = budget
        self._made: dict[str, JudgeHarness] = {}
        self._labels: dict[str, CalibrationSet] = {}  # candidate -> its labels, with the number of candidates

    def harness(
        self, keys: Mapping[str, Any], judge: Judge | None = None, case: Case = None, model: str | None = None
    ) -> JudgeHarness:
        """Return the harness for a judge and case; a judge is counted among the candidates of its labels.

        Args:
            keys: those of the test's markers.
            judge: what it declares to answer tells the shape where no key does.
            case: a pair is asked in both orders.
            model: the model behind the judge, where the test names it.

        Raises:
            UsageError: the keys make no harness, or candidates cannot be counted.

        """
        told = {name: value for name, value in keys.items() if name not in _CHECKING}
        shape: Shape = "pairwise" if isinstance(case, PairwiseCase) else "any" if judge is None else shape_of(judge)
        discrete = bool(getattr(judge, "discrete", False))
        key = json.dumps([told, shape, discrete], sort_keys=True)
        if key not in self._made:
            self._made[key] = self._build(told, judge, shape)
        made = self._made[key]
        return made if judge is None or made.calibration_set is None else self._counted(made, judge, model)

    def _counted(self, harness: JudgeHarness, judge: Judge, model: str | None) -> JudgeHarness:
        """Return the harness with how many candidates its labels were looked at for, as `judgeharness run` counts."""
        from judgeharness_integrations.labelling.candidates import asked_candidate, counted  # noqa: PLC0415 - few have labels

        candidate = asked_candidate(judge, harness.design_for(judge), model)
        labels = self._labels.get(candidate)
        if labels is None and harness.calibration_set is not None:
            labels = self._labels[candidate] = counted(self._file, harness.calibration_set, [candidate])
        return harness if labels is None else harness.with_labels(labels)

    def borrowed(self, harness: JudgeHarness) -> JudgeHarness:
        """Return a harness of the test's own, which spends from the session's budget unless it has one."""
        if harness.budget is not None:
            return harness
        mine = copy.copy(harness)
        mine.budget = self.budget
        return mine

    def _build(self, told: Mapping[str, Any], judge: Judge | None, shape: Shape) -> JudgeHarness:
        design = {name: value for name, value in told.items() if name not in _ASKING}
        keys = {"shape": shape} | layered(self._design, design)
        finished = finished_harness(keys, where="the design in force")
        file = self._file.model_copy(update={"harness": finished})
        options: dict[str, Any] = {"on_unfit": "skip"} | build_harness_options(file) | self._anchor(told)
        options |= {"budget": self.budget}
        options["max_calls"] = told.get("max_calls", file.execution.max_calls)
        standard = finished.preset in (None, "standard") and not any(name in keys for name in BY_PRESET)
        if judge is None or not standard:
            return JudgeHarness(**options)
        return standard_for(
            judge, finished.shape, **{name: value for name, value in options.items() if name not in BY_PRESET}
        )

    def _anchor(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """Return the calibration and the certificate: the marker's, else the file's."""
        given = {
            name: self._root / Path(told[name]).expanduser() for name in ("calibration", "certificate") if name in told
        }
        calibration = {} if "calibration" in given else build_calibration(self._file)
        return calibration | ({} if "certificate" in given else build_certificate(self._file)) | given
