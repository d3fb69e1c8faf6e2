"""`agent.py` of an ADK app: the two lines that put harnessed evaluators in the place of ADK's own."""

from __future__ import annotations

from judgeharness_integrations.migration.rewriting.edits import Edit, edited, insertion
from judgeharness_integrations.migration.rewriting.importing import leading_imports
from judgeharness_integrations.migration.rewriting.names import Names
from judgeharness_integrations.migration.rewriting.outcome import Change
from judgeharness_integrations.migration.rewriting.places import Places
from judgeharness_integrations.migration.sources import Source

__all__ = ["registered"]

_MODULE = "judgeharness_adk"
_BEHIND_IMPORTS = 100  # what is imported at the same place stands before


def registered(source: Source) -> tuple[str, Change]:
    """Return a module with `judgeharness_adk.register()` behind its imports, and the change.

    Raises:
        SourceError: it cannot be parsed.

    """
    places = Places(source)
    names = Names(places)
    lines = leading_imports(places.view.module)
    anchors = [one.body[0] for one in lines]
    beside = next((one for one in anchors if "google.adk" in places.of(one)), anchors[-1] if anchors else None)
    said = names.of(_MODULE, None, at=places.view.module, beside=beside)
    place = places.line_end(places.end(lines[-1])) if lines else len(source.text)
    edit = _call(places, place, f"{said}.register()")
    change = Change(line=places.line(lines[-1]) if lines else 1, framework="adk", kind="register", action="registered")
    return edited(source.text, [*names.edits(), edit]), change


def _call(places: Places, place: int, call: str) -> Edit:
    """Return the edit that writes a call with a blank line on either side."""
    newline, text = places.newline, places.text
    before = "" if not place or text[place - 1] in "\r\n" else newline
    following = text[place : places.line_end(place)]
    after = newline if following.strip() else ""
    return insertion(place, f"{before}{newline}{call}{newline}{after}", rank=_BEHIND_IMPORTS)
