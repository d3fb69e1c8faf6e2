"""What the answers of a run depend on, so that a run is never continued with another question."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.config import Config, JudgeConfig
from judgeharness_integrations.harness import JudgeHarness
from judgeharness_integrations.judging import Judge, text_hash
from judgeharness_integrations.redacting import redacted

__all__ = ["check_unchanged", "run_parts"]

_MOST_CHANGES = 4
_LONGEST_VALUE = 60


def run_parts(
    config: Config, harness: JudgeHarness, judges: Sequence[Judge], *, cases: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the answers depend on, as JSON without secrets.

    How fast and how far is asked (limits, budgets, the engine) is no part of it: it may change from one go to the next.
    """
    asked = {judge.name: _judge(one, judge) for one, judge in zip(config.judges, judges, strict=True)}
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


def check_unchanged(run: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise a UsageError that says what changed since the run began."""
    old, new = dict(_flat(json.loads(json.dumps(before)))), dict(_flat(json.loads(json.dumps(now))))
    names = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    if not names:
        return
    changes = [f"{name} was {_shown(old.get(name))}, is {_shown(new.get(name))}" for name in names[:_MOST_CHANGES]]
    more = f"; {len(names) - _MOST_CHANGES} more" if len(names) > _MOST_CHANGES else ""
    named = ["identity" in judge for judge in now["judges"].values()]
    over = ", which takes over every answer that still fits" if any(named) else ""
    over += "" if all(named) or not over else " of judges that name a model"
    raise UsageError(
        f"the configuration is not that of run {run} any more ({'; '.join(changes)}{more}): undo the change, or start "
        f"a new run with --new-run{over}; nothing was asked."
    )


def _judge(config: JudgeConfig, judge: Judge) -> dict[str, Any]:
    given = config.model_dump(mode="json", exclude_none=True, exclude={"name"})
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


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
