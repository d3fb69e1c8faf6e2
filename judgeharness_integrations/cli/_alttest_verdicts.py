"""An alternative annotator test in sentences: who passes at which epsilon, and what to mind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport

__all__ = ["Group", "Names", "grouped", "verdicts", "warnings_of"]

Group: TypeAlias = "Sequence[AltTest]"
_PASSES = 0.5


@dataclass(frozen=True)
class Names:
    """What tests are called: by candidate, and by score where there are several."""

    several: bool

    @classmethod
    def of(cls, report: AltTestReport) -> Names:
        """Return the names of a report."""
        return cls(several=len({test.score for test in report.candidates}) > 1)

    def of_test(self, test: AltTest) -> str:
        """Return what one test is called."""
        return f"{test.candidate} ({test.score})" if self.several else test.candidate


def grouped(report: AltTestReport) -> list[Group]:
    """Return the tests of each candidate and score; they differ in epsilon alone."""
    groups: dict[tuple[str, str], list[AltTest]] = {}
    for test in report.candidates:
        groups.setdefault((test.candidate, test.score), []).append(test)
    return list(groups.values())


def verdicts(groups: Sequence[Group], names: Names, cluster: str | None) -> Iterator[str]:
    """Yield what was found of each candidate and score."""
    for group in groups:
        test, name = group[0], names.of_test(group[0])
        if test.passed is None:
            yield f"{name}: {test.reason}"
            continue
        if len(group) > 1:
            passing = [one for one in group if one.passed]
            found = f"passes at epsilon {_epsilons(passing)}" if passing else "passes at no epsilon tried"
        else:
            word = "passes" if test.passed else "does not pass"
            counts = f"{test.n_rejected} of {test.m_tested} annotators"
            found = f"{word} at epsilon {test.epsilon:g}: H0 is rejected for {counts}"
        yield f"{name} {found}{'' if cluster is None else _clustered(group, cluster)}."
    for reason in dict.fromkeys(test.clustered_reason for group in groups for test in group if test.clustered_reason):
        yield f"clustered by {cluster} nothing can be told: {reason}."


def _clustered(group: Group, cluster: str) -> str:
    """Return what becomes of a pass when items that belong together are not taken as independent."""
    passing = [test for test in group if test.passed]
    untold = [test for test in passing if test.omega_clustered is None]
    lost = [test for test in passing if test.omega_clustered is not None and test.omega_clustered < _PASSES]
    found = ""
    if lost:
        where = "" if len(lost) == len(passing) else f" at epsilon {_epsilons(lost)}"
        found += f", but not{where} when clustered by {cluster}"
    if untold:
        where = "" if len(untold) == len(passing) else f" at epsilon {_epsilons(untold)}"
        found += f"; clustered by {cluster} it cannot be told{where}"
    return found


def _epsilons(tests: Group) -> str:
    return ", ".join(f"{test.epsilon:g}" for test in tests)


def warnings_of(groups: Sequence[Group], names: Names) -> Iterator[str]:
    """Yield every warning once, with the candidates and scores, and the epsilons where those are not all."""
    about: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        found: dict[str, list[AltTest]] = {}
        for test in group:
            gap = [f"no interval of rho: {test.interval_reason}"] if test.interval_reason else []
            for text in (*test.warnings, *gap):
                found.setdefault(text, []).append(test)
        for text, tests in found.items():
            where = "" if len(tests) == len(group) else f" at epsilon {_epsilons(tests)}"
            about.setdefault((text, where), []).append(names.of_test(group[0]))
    for (text, where), who in about.items():
        everybody = len(who) == len(groups) > 1
        yield f"{'every candidate' if everybody else ', '.join(who)}{where}: {text}"
