"""The design of a measurement: what is asked of every case and how the answers are folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from judgeharness_integrations.verdictlog.row import is_probe

from .aggregation.rules import Rule, of_both_kinds

if TYPE_CHECKING:
    from .probability.passport import HeldPassport

__all__ = ["Design", "PresetCount", "RuleFixed"]


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
