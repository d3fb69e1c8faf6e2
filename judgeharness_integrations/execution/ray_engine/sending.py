"""What is sent to workers: whatever cannot be is said in one sentence, where the run was started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.execution.ray_engine.loading import loaded_ray
from judgeharness_integrations.judging import Judge, Probe
from judgeharness_integrations.perturbations import Perturbation

__all__ = ["check_sendable", "reason", "sent_form", "unsendable"]

_SENDABLE = "give a module-level function, or a judge built by configuration"


def check_sendable(judge: Judge, transient: Callable[[BaseException], bool]) -> None:
    """Raise if Ray could not send a judge and the rule for its failures.

    Raises:
        NotInstalledError: Ray is missing.
        UsageError: the judge cannot be pickled.

    """
    if (problem := unsendable((judge, transient))) is not None:
        raise UsageError(f"judge {judge.name!r} cannot be sent to Ray workers ({problem}): {_SENDABLE}.")


def sent_form(probe: Probe) -> Probe:
    """Return what a worker gets: of the perturbation, which was applied already, only what judges read."""
    applied = probe.perturbation
    return replace(probe, perturbation=Perturbation(name=applied.name, apply=_as_it_is, swaps=applied.swaps))


def unsendable(value: object) -> str | None:
    """Return why Ray cannot send an object, or None; nothing is sent, nor read back.

    Raises:
        NotInstalledError: Ray is missing.

    """
    dumps = loaded_ray().cloudpickle.dumps
    try:
        dumps(value)
    except Exception as error:  # noqa: BLE001 - whatever an object raises when it is pickled
        return reason(error)
    return None


def reason(error: BaseException) -> str:
    """Return the kind and the first line of an error."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


def _as_it_is(case: Any) -> Any:
    return case
