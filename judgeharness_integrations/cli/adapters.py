"""What `judgeharness adapters` does."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rich.console import Console

from judgeharness_integrations._errors import NotInstalledError, UnknownNameError
from judgeharness_integrations.judging.adapters import GROUP, Adapter, installed_version, load_adapter, untested
from judgeharness_integrations.reporting.terminal import console, safe, table

from ._command import GATE_FAILED, OK
from ._label_options import AdaptersRequest
from ._output import print_json

SCHEMA = "judgeharness.adapters/1"


def show_adapters(request: AdaptersRequest) -> int:
    """Print the registered adapters with what each still needs; return 1 where one failed a check.

    One that was asked for by name must have been checked.

    Raises:
        UnknownNameError: there is no adapter of that name.

    """
    name, check = request.name, request.check
    found = [_facts(point, check=check) for point in _points(name)]
    if request.as_json:
        print_json({"schema": SCHEMA, "adapters": found})
    else:
        _print(found, check=check)
    failed = (False,) if name is None else (False, None)
    passed = not check or all(facts["error"] is None and facts["passed"] not in failed for facts in found)
    return OK if passed else GATE_FAILED


def _points(name: str | None) -> list[EntryPoint]:
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    if name is not None and name not in (names := [point.name for point in points]):
        raise UnknownNameError("adapter", name, names)
    return [point for point in points if name in (None, point.name)]


def _print(found: Sequence[dict[str, Any]], *, check: bool) -> None:
    rows = [(safe(facts["name"]), safe(_state(facts), 300)) for facts in found]
    screen = console()
    screen.print(table("frameworks", ("adapter", "state"), rows, texts=2))
    for facts in found:
        for sentence in (*(missing["pip"] for missing in facts["missing"]), *facts["untested"]):
            screen.print(f"{facts['name']}: {safe(sentence, 300)}", soft_wrap=True)
    if check:
        print_checks(screen, found)


def _facts(point: EntryPoint, *, check: bool) -> dict[str, Any]:
    try:
        adapter = load_adapter(point)
        missing, needed = adapter.missing(), next(iter(adapter.extras))
    except Exception as error:  # noqa: BLE001 - a broken adapter must not hide the others
        problem = f"{type(error).__name__}: {error}"
        facts = {"name": point.name, "ready": False, "missing": [], "versions": [], "untested": [], "error": problem}
        return facts | _checks(None, check=check)
    ready = needed not in missing
    return {
        "name": adapter.name,
        "ready": ready,
        "missing": [
            {"extra": extra, "modules": list(modules), "pip": NotInstalledError.command(extra)}
            for extra, modules in missing.items()
        ],
        "versions": [
            {
                "package": package,
                "installed": installed_version(package),
                "lowest": series.lowest,
                "newest": series.newest,
            }
            for package, series in adapter.tested.items()
        ],
        "untested": list(untested(adapter.tested)),
        "error": None,
    } | _checks(adapter if ready else None, check=check)


def _checks(adapter: Adapter | None, *, check: bool) -> dict[str, Any]:
    """Return the keys that `--check` adds; `passed` is None of what was not checked."""
    if not check:
        return {}
    return {"passed": None, "checks": []} if adapter is None else checked(adapter)


def _state(facts: dict[str, Any]) -> str:
    if facts["error"]:
        return f"broken: {facts['error']}"
    extras = ", ".join(missing["extra"] for missing in facts["missing"])
    if facts["ready"]:
        return f"ready; not installed: {extras}" if extras else "ready"
    return f"not installed: {extras}"


_LONGEST_DETAIL = 1_000


def checked(adapter: Adapter) -> dict[str, Any]:
    """Return whether an installed adapter passed, None when it brings no benches, and every check."""
    from judgeharness_integrations.testing import check_adapter  # noqa: PLC0415 - the suite is not needed to list

    with _quiet():
        try:
            report = check_adapter(adapter)
        except Exception as error:  # noqa: BLE001 - benches that cannot be built are a failure of this adapter alone
            detail = f"{type(error).__name__}: {error}"
            failed = {"bench": "", "check": "benches", "outcome": "fail", "detail": detail}
            return {"passed": False, "checks": [failed]}
    return {"passed": report.passed, "checks": [asdict(result) for result in report.results]}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep off the screen what frameworks say of answers that are meant to fail."""
    silent, root = logging.NullHandler(), logging.getLogger()
    root.addHandler(silent)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.removeHandler(silent)


def print_checks(screen: Console, found: Sequence[dict[str, Any]]) -> None:
    """Print a line a bench, and a sentence for each check that failed or was opted out of."""
    rows = [row for facts in found for row in _rows(facts)]
    if rows:
        columns = ("adapter", "bench", "passed", "failed", "opted out")
        screen.print(table("conformance", columns, rows, texts=2))
    for facts in found:
        if facts["passed"] is None:
            why = "not ready" if not facts["ready"] else "every check opted out" if facts["checks"] else "no benches"
            screen.print(f"{facts['name']}: not checked, {why}", soft_wrap=True)
        for check in facts["checks"]:
            if check["outcome"] != "pass":
                parts = " · ".join(filter(None, (facts["name"], check["bench"], check["check"])))
                line = f"{check['outcome']}: {parts}: {check['detail']}"
                screen.print(safe(line, _LONGEST_DETAIL), soft_wrap=True)


def _rows(facts: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    benches = dict.fromkeys(check["bench"] for check in facts["checks"])
    for bench in benches:
        counts = Counter(check["outcome"] for check in facts["checks"] if check["bench"] == bench)
        numbers = (str(counts[outcome]) for outcome in ("pass", "fail", "opted out"))
        yield safe(facts["name"]), safe(bench or "-"), *numbers
