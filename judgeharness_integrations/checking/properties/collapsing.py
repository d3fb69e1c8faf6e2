"""Are repetitions samples of their own, or one answer counted several times?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from judgeharness_integrations.aggregation.collapse import Independence, independence
from judgeharness_integrations.checking.properties.finding import Finding, Speaking, missing, worst_cases
from judgeharness_integrations.checking.properties.samples import Samples
from judgeharness_integrations.checking.properties.words import UNREPEATED, of_text
from judgeharness_integrations.checking.report import PropertyCheck, Status
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["collapse"]

_FROZEN: Final = "temperature 0"
_LONG: Final = "identical long texts"  # which temperature 0 explains


def collapse(samples: Samples, *, temperature: float | None) -> Finding:
    """Return whether repetitions are proven copies; at temperature 0 they measure nothing, which is no fault."""
    cases: dict[str, list[VerdictRow]] = {}
    for row in samples.voting():
        cases.setdefault(row.case_id, []).append(row)
    found = {case: independence(rows, temperature=temperature) for case, rows in cases.items()}
    repeated = {case: one for case, one in found.items() if one.status != "not repeated"}
    if not repeated:
        return missing("collapse", samples.criterion, UNREPEATED)
    excused = {_FROZEN, _LONG} if temperature == 0 else {_FROZEN}
    copied = {case: one for case, one in repeated.items() if set(one.evidence) - excused}
    own = [case for case, one in repeated.items() if one.status == "independent" or _own_answers(cases[case])]
    status, reason = _judged(repeated, copied, own)
    check = PropertyCheck(
        name="collapse",
        criterion=samples.criterion,
        status=status,
        reason=reason,
        cases=len(repeated),
        asked=sum(len(cases[case]) for case in repeated),
        valid=sum(row.ok for case in repeated for row in cases[case]),
        hits=len(copied),
        rate=len(copied) / len(repeated),
        worst=worst_cases([_shown(case, cases[case], one) for case, one in copied.items()]),
    )
    return Finding(check=check, proven=status == "pass")


def _judged(
    repeated: dict[str, Independence], copied: dict[str, Independence], own: Sequence[str]
) -> tuple[Status, str]:
    if copied:
        evidence = Counter(reason for one in copied.values() for reason in one.evidence)
        told = ", ".join(f"{reason} in {count}" for reason, count in sorted(evidence.items()))
        return "fail", f"in {of_text(len(copied), len(repeated))} repetitions are copies of one answer ({told})"
    frozen = sum(_FROZEN in one.evidence or _LONG in one.evidence for one in repeated.values())
    if frozen:
        return (
            "inconclusive",
            f"{of_text(frozen, len(repeated))} repeat themselves at temperature 0, which measures nothing",
        )
    if own:
        return "pass", f"in {of_text(len(own), len(repeated))} repetitions are answers of their own, in none a copy"
    return (
        "inconclusive",
        f"of {len(repeated)} repeated cases none shows whether its answers were drawn anew: short ones agree by chance",
    )


def _own_answers(rows: Sequence[VerdictRow]) -> bool:
    """Whether every answer came with a response id of its own, or two to one question are not the same."""
    valid = [row for row in rows if row.ok]
    found = [row.attributes.get("response_id") for row in valid]
    if None not in found and len(set(found)) == len(found):
        return True
    asked = {row.perturbation for row in valid}
    return len({(row.perturbation, row.verdict) for row in valid}) > len(asked)


def _shown(case: str, rows: Sequence[VerdictRow], found: Independence) -> Speaking:
    valid = [row for row in rows if row.ok]
    return len(valid) - found.effective, case, valid[0], valid[-1]
