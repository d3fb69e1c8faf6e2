"""The conformance suite: what every adapter must keep of the harness's promises, checked on its own evaluators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.judging.adapters import Adapter, find_adapter
from judgeharness_integrations.judging.bench import Bench
from judgeharness_integrations.testing.checks import CHECKS

CheckOutcome: TypeAlias = Literal["pass", "fail", "opted out"]


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check of one bench; `detail` says why it failed, or why it was opted out of."""

    bench: str
    check: str
    outcome: CheckOutcome
    detail: str = ""

    def __str__(self) -> str:
        """Return the result as one line."""
        return f"{self.bench}, {self.check}: {self.outcome}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, kw_only=True)
class AdapterReport:
    """What the suite found; without benches there are no results, and opting out of everything is no pass."""

    adapter: str
    results: tuple[CheckResult, ...]

    @property
    def failures(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.outcome == "fail")

    @property
    def passed(self) -> bool | None:
        """Whether no check failed; None when nothing was checked."""
        return not self.failures if any(result.outcome != "opted out" for result in self.results) else None

    def raise_for_failures(self) -> None:
        """Raise an AssertionError with a line a failure, or when nothing was checked."""
        if self.passed is None:
            why = "opts out of every check" if self.results else "has no benches"
            raise AssertionError(f"adapter {self.adapter!r} {why}: nothing was checked.")
        if self.failures:
            raise AssertionError("\n".join([f"adapter {self.adapter!r}:", *map(str, self.failures)]))

    def __str__(self) -> str:
        """Return a line a check."""
        return "\n".join([f"adapter {self.adapter!r}:", *(map(str, self.results) if self.results else ["no benches"])])


def check_adapter(adapter: str | Adapter) -> AdapterReport:
    """Run every check on every bench of an adapter; no network, no key, a second or two.

    Raises:
        UnknownNameError: there is no such adapter, or a bench opts out of a check there is not.
        NotInstalledError: its framework is not installed.

    """
    if isinstance(adapter, str):
        adapter = find_adapter(adapter)
    adapter.require()
    benches = adapter.benches() if adapter.benches is not None else ()
    return AdapterReport(adapter=adapter.name, results=tuple(r for bench in benches for r in check_bench(bench)))


def check_bench(bench: Bench) -> tuple[CheckResult, ...]:
    """Run every check on one bench.

    Raises:
        UnknownNameError: it opts out of a check there is not.

    """
    for name in bench.opted_out:
        if name not in CHECKS:
            raise UnknownNameError("check", name, CHECKS)
    return tuple(_checked(bench, name) for name in CHECKS)


def _checked(bench: Bench, name: str) -> CheckResult:
    if name in bench.opted_out:
        return CheckResult(bench=bench.name, check=name, outcome="opted out", detail=bench.opted_out[name])
    try:
        CHECKS[name](bench)
    except AssertionError as error:
        return CheckResult(bench=bench.name, check=name, outcome="fail", detail=str(error))
    except Exception as error:  # noqa: BLE001 - whatever an adapter raises is what was looked for
        return CheckResult(bench=bench.name, check=name, outcome="fail", detail=f"{type(error).__name__}: {error}")
    return CheckResult(bench=bench.name, check=name, outcome="pass")
