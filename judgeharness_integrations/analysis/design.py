"""The design of a measurement: what is asked of every case and how the answers are folded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from judgeharness_integrations.analysis.aggregation.rules import Rule, of_both_kinds
from judgeharness_integrations.verdictlog.row import VerdictRow, is_probe

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.probability.passport import HeldPassport

__all__ = ["Design", "Fingerprint", "PresetCount", "RuleFixed", "design_changes", "design_of_parts", "design_of_rows"]


RuleFixed: TypeAlias = Literal["before", "after"]


class PresetCount(int):
    """Repetitions that a preset says and nobody wrote: a judge whose repeats tell little is asked less often."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Perturbations x repetitions, the rule and its quorum.

    `min_valid` None means at least half of the planned samples. `tolerance` is how far two scores may lie apart
    and still agree, in units of the score. `rule_fixed` says whether the rule was chosen before the samples.
    `wordings` identifies what rewords texts: digests of given instructions, the rewriter's name. `curtail`: a case gets
    no further samples once its decision can no longer change; `stopping_rule` names the rule that stopped them where
    `rule` is another one, chosen later. `retested`: the share of cases that are asked once more, without a vote.
    """

    perturbations: tuple[str, ...]
    repetitions: int
    rule: Rule
    min_valid: int | None = None
    tolerance: float = 1.0
    rule_fixed: RuleFixed = "before"
    wordings: tuple[str, ...] = ()
    curtail: bool = False
    stopping_rule: str | None = None
    retested: float = 0.0

    @property
    def passport(self) -> HeldPassport | None:
        """The passport by which a harness decides, and whether it holds; None of any other rule."""
        return getattr(self.rule.function, "held_passport", None)

    def asking_once(self) -> Design:
        """Return the design of a judge of which one unperturbed call says all there is to know."""
        once = replace(self, perturbations=("none",), repetitions=1, min_valid=None, wordings=(), curtail=False)
        return replace(once, rule=of_both_kinds(self.rule))

    def retesting(self, share: float) -> Design:
        """Return the design of a judge that is asked once a perturbation, and a share of cases once more."""
        votes = sum(not is_probe(name) for name in self.perturbations)
        quorum = None if self.min_valid is None else min(self.min_valid, votes)
        return replace(self, repetitions=1, min_valid=quorum, retested=0.0 if self.curtail else share)

    def parts(self) -> Mapping[str, object]:
        """Return what of the design belongs to a fingerprint.

        Early stopping does not: every decision is the one all samples would give, so a calibration holds with and
        without it. Adversarial probes do not either: they have no vote.
        """
        wordings = {"wordings": list(self.wordings)} if self.wordings else {}
        return wordings | {
            "perturbations": [name for name in self.perturbations if not is_probe(name)],
            "repetitions": self.repetitions,
            "rule": self.rule.name,
            "failure policy": "failures count in shares; quorum "
            + ("half of the planned samples" if self.min_valid is None else f"{self.min_valid} samples"),
        }


@dataclass(frozen=True)
class Fingerprint:
    """The parts of a configuration that decide what a verdict means.

    `parts` maps what people call a part (`model`, `prompt`, `perturbations`, `rule`, ...) to a JSON value.
    """

    parts: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """A short SHA-256 over the canonical JSON of the parts."""
        canonical = json.dumps(self.parts, sort_keys=True, default=str)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def changes(self, other: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the parts whose values differ from those of `other`."""
        mine, theirs = _canonical(self.parts), _canonical(other)
        missing = object()
        return tuple(name for name in sorted({*mine, *theirs}) if mine.get(name, missing) != theirs.get(name, missing))


def _canonical(parts: Mapping[str, Any]) -> dict[str, Any]:
    return dict(json.loads(json.dumps(parts, sort_keys=True, default=str)))


_NAMES: Final = ("rule", "perturbations", "repetitions", "failure policy", "wordings")


def design_of_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a fingerprint belongs to the design."""
    return {name: parts[name] for name in _NAMES if name in parts}


def design_of_rows(rows: Sequence[VerdictRow], rule: str) -> dict[str, Any]:
    """Return the design of a rule's decisions about the rows of one judge.

    Perturbations in order of appearance; repetitions only where every case was asked as often under each of them.
    """
    calls = {(row.run, row.case_id, row.perturbation, row.repetition) for row in rows}
    asked = Counter((run, case_id, name) for run, case_id, name, _ in calls)
    counts = set(asked.values())
    design: dict[str, Any] = {"rule": rule, "perturbations": list(dict.fromkeys(row.perturbation for row in rows))}
    return design | ({"repetitions": counts.pop()} if len(counts) == 1 else {})


def design_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of two designs that both sides know and that differ, as `rule majority before, median now`."""
    pairs = [(name, _text(before[name]), _text(now[name])) for name in _NAMES if name in before and name in now]
    return tuple(f"{name} {then} before, {here} now" for name, then, here in pairs if then != here)


def _text(value: Any) -> str:
    """Return a value as text; in which order perturbations were asked changes nothing."""
    return ", ".join(sorted(map(str, value))) if isinstance(value, (list, tuple)) else str(value)
