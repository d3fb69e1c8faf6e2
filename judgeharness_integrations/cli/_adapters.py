"""What `judgeharness adapters` does."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from judgeharness_integrations.adapters import GROUP, load_adapter
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._printing import console, safe, table

__all__ = ["show_adapters"]

SCHEMA = "judgeharness.adapters/1"


def show_adapters(*, as_json: bool) -> None:
    """Print every registered adapter with what it still needs."""
    found = [_facts(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    if as_json:
        print_json({"schema": SCHEMA, "adapters": found})
        return
    rows = [(safe(facts["name"]), safe(_state(facts), 300)) for facts in found]
    screen = console()
    screen.print(table("frameworks", ("adapter", "state"), rows, texts=2))
    for facts in found:
        for missing in facts["missing"]:
            screen.print(f"{facts['name']}: {missing['pip']}", soft_wrap=True)


def _facts(point: EntryPoint) -> dict[str, Any]:
    try:
        adapter = load_adapter(point)
        missing, needed = adapter.missing(), next(iter(adapter.extras))
    except Exception as error:  # noqa: BLE001 - a broken adapter must not hide the others
        return {"name": point.name, "ready": False, "missing": [], "error": f"{type(error).__name__}: {error}"}
    return {
        "name": adapter.name,
        "ready": needed not in missing,
        "missing": [
            {"extra": extra, "modules": list(modules), "pip": f"pip install 'judgeharness-integrations[{extra}]'"}
            for extra, modules in missing.items()
        ],
        "error": None,
    }


def _state(facts: dict[str, Any]) -> str:
    if facts["error"]:
        return f"broken: {facts['error']}"
    extras = ", ".join(missing["extra"] for missing in facts["missing"])
    if facts["ready"]:
        return f"ready; not installed: {extras}" if extras else "ready"
    return f"not installed: {extras}"
