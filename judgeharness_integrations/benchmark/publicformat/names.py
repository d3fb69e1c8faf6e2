"""Names of failure types and behaviours as other people spell them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.benchmark.records import clean
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import RESERVED

__all__ = ["Names"]


class Names:
    """Finds the names of a taxonomy whatever their capitals, hyphens and spaces.

    `renamed`: a name that was asked for -> that of the taxonomy which it was taken for.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        """Use the names of a taxonomy."""
        self._failures = _spelled(taxonomy.failure_types)
        self._behaviours = _spelled(taxonomy.behaviours)
        self.renamed: dict[str, str] = {}

    def failure_type(self, name: str, where: str) -> str:
        """Return the taxonomy's name of a failure type, or the name itself where it has none.

        Raises:
            CaseError: it is empty, or the name of another answer than a type.

        """
        found = self._found(name, self._failures, f"{where}: 'assistant_behavior_type'")
        if found in RESERVED:
            raise CaseError(f"{where}: a failure type cannot be named {found!r}, which is another answer: rename it.")
        return found

    def behaviour(self, name: str, where: str) -> str:
        """Return the taxonomy's name of a behaviour, or the name itself where it has none.

        Raises:
            CaseError: it is empty.

        """
        return self._found(name, self._behaviours, f"{where}: 'user_behavior_type'")

    def _found(self, name: str, known: Mapping[str, str], where: str) -> str:
        mine = clean(name).strip()
        if not mine:
            raise CaseError(f"{where} is empty.")
        found = known.get(mine, known.get(_letters(mine), mine))
        if found != mine:
            self.renamed[mine] = found
        return found


def _spelled(names: Collection[str]) -> dict[str, str]:
    """Return each name, and its letters alone -> the name, of two with the same letters the first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(_letters(name), name)
    return found | {name: name for name in names}


def _letters(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())
