"""Examples at the end of entries of the API reference: `docs/examples/*.pycon`, a name as heading, then a session."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import griffe

__all__ = ["Examples", "documented", "examples"]

DOCS = Path(__file__).parent
_ENTRY = re.compile(
    r"^::: ([\w.]+)\n(?: +options: \{[^\n]*?(?:members: \[([^\]]*)\])?\}\n)?",
    re.MULTILINE,
)


def examples() -> dict[str, str]:
    """Return the session of every example by the name it belongs to, as it is imported."""
    found = {}
    for path in sorted((DOCS / "examples").glob("*.pycon")):
        for part in re.split(
            r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE
        )[1:]:
            name, _, session = part.partition("\n")
            found[name] = session.strip() + "\n"
    return found


def documented() -> dict[str, Any]:
    """Return the classes and functions of the reference by the name they are imported by; each object once.

    An alias of what is not ours (`str`, `Any`) has no entry of its own.
    """
    found: dict[int, tuple[str, Any]] = {}
    for page in sorted((DOCS / "reference" / "api").glob("*.md")):
        for module_name, members in _ENTRY.findall(
            page.read_text(encoding="utf-8")
        ):
            module = importlib.import_module(module_name)
            for name in (
                members.split(", ")
                if members
                else getattr(module, "__all__", ())
            ):
                value = getattr(module, name)
                kind = inspect.isclass(value) or inspect.isfunction(value)
                if kind and value.__module__.startswith("judgeharness_"):
                    found.setdefault(
                        id(value), (f"{module_name}.{name}", value)
                    )
    return dict(found.values())


class Examples(griffe.Extension):
    """Puts every example behind the docstring of its object."""

    def on_package(
        self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_kwargs: Any
    ) -> None:
        """Add those of a package that was just read."""
        for name, session in examples().items():
            module, _, attribute = name.rpartition(".")
            if name.partition(".")[0] != pkg.name:
                continue
            value = getattr(importlib.import_module(module), attribute)
            path = f"{value.__module__}.{value.__qualname__}"
            entry = pkg[path.removeprefix(f"{pkg.name}.")]
            entry.docstring = entry.docstring or griffe.Docstring(
                "",
                parent=entry,
                parser=loader.docstring_parser,
                parser_options=loader.docstring_options,
            )
            example = textwrap.indent(session, "    ")
            said = entry.docstring.value
            entry.docstring.value = f"{said}\n\nExamples:\n{example}".lstrip()
