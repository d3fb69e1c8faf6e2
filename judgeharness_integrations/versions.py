"""Which versions of a framework an adapter was tried with, and what is said of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from judgeharness_integrations._errors import UsageError

__all__ = ["VersionRange", "beyond_tested", "installed_version", "seam", "untested"]

_NUMBER = re.compile("[0-9]+")


@dataclass(frozen=True, kw_only=True)
class VersionRange:
    """The lowest and the newest release series that were tried, as `major.minor`."""

    lowest: str
    newest: str

    def __str__(self) -> str:
        """Return the range in words."""
        return self.lowest if self.lowest == self.newest else f"{self.lowest} to {self.newest}"

    def beside(self, found: str) -> str | None:
        """Return `older` or `newer` of a version outside of the range, None of one inside."""
        if _series(found) < _series(self.lowest):
            return "older"
        return "newer" if _series(found) > _series(self.newest) else None


def _series(found: str) -> tuple[int, int]:
    begun = (_NUMBER.match(part) for part in found.split(".")[:2])  # 12rc1 of 2.12rc1 is of the series 2.12
    major, minor, *_ = (*(int(number[0]) if number else 0 for number in begun), 0, 0)
    return major, minor


@cache
def installed_version(package: str) -> str | None:
    """Return the version of a distribution; None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def untested(tested: Mapping[str, VersionRange]) -> tuple[str, ...]:
    """Return a sentence for each installed distribution whose version was not tried.

    Args:
        tested: distribution -> the versions tried.

    """
    return tuple(sentence for package, series in tested.items() if (sentence := _beside(package, series)))


@cache
def _beside(package: str, series: VersionRange) -> str | None:
    found = installed_version(package)
    beside = None if found is None else series.beside(found)
    return None if beside is None else f"{package} {found} is {beside} than the versions tried here ({series})"


def beyond_tested(parts: Iterable[object]) -> tuple[str, ...]:
    """Return the sentences of what takes part in a measurement: a judge and who watches it.

    A part says in `tested` what it was tried with; one that does not is of no framework.
    """
    return tuple(dict.fromkeys(sentence for part in parts for sentence in untested(_tested(part))))


def _tested(part: object) -> dict[str, VersionRange]:
    told = getattr(part, "tested", None)  # a judge of somebody else's may call something of its own so
    ranges = told if isinstance(told, Mapping) else {}
    return {package: series for package, series in ranges.items() if isinstance(series, VersionRange)}


def seam(holder: object, name: str, *, package: str, tested: Mapping[str, VersionRange], extra: str = "") -> Any:
    """Return an attribute that the makers of a framework did not make public.

    Raises:
        UsageError: the installed version does not have it; the sentence names that one and the newest that was tried.

    """
    try:
        return getattr(holder, name)
    except AttributeError as error:
        owner = getattr(holder, "__name__", type(holder).__name__)
        raise UsageError(
            f"{package} {installed_version(package)} has no {owner}.{name}: "
            f"install the newest that was tried, pip install '{package}{extra}=={tested[package].newest}.*'."
        ) from error
