"""Proposals and taxonomies as YAML that people read and change."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from judgeharness_integrations.benchmark.discovery.proposals import ProposalsFile
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import TaxonomyFile

__all__ = ["PROPOSALS", "write_proposals", "write_taxonomy"]

PROPOSALS: Final = "proposals.yaml"
_WIDTH: Final = 110
_ODD_LINE_ENDS: Final = frozenset("\x85\u2028\u2029")
_ABOUT_PROPOSALS: Final = """\
# Types a model proposed. None of them enters a taxonomy before a person decides: write after decision
#   keep   it is taken as it stands here; change its name and texts first where they are not right
#   merge  it is the same as nearest, whose definition stays; for another type add a line  into: NAME
#   drop   it is left out
# Then: judgeharness benchmark discover --decided THIS_FILE --taxonomy-out taxonomy.yaml
"""
_ABOUT_TAXONOMY: Final = """\
# Failure types and behaviours: judgeharness benchmark generate --taxonomy THIS_FILE
"""


def write_proposals(file: ProposalsFile, path: Path) -> None:
    """Write a file of proposals, which `read_proposals` reads, as a whole."""
    _write(_ABOUT_PROPOSALS, file.to_dict(), path)


def write_taxonomy(file: TaxonomyFile, path: Path) -> None:
    """Write a taxonomy's file, which `load_taxonomy` reads, as a whole."""
    _write(_ABOUT_TAXONOMY, {key: part for key, part in file.model_dump().items() if part}, path)


def _write(about: str, document: dict[str, Any], path: Path) -> None:
    import yaml  # noqa: PLC0415 - loaded when something is written

    class Dumper(yaml.SafeDumper):
        """Writes nothing for what is to be filled in, and no anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            del data
            return True

    def quoted(dumper: Dumper, text: str) -> yaml.ScalarNode:
        # in double quotes these line ends are escaped; elsewhere PyYAML writes them so that it reads others
        style = '"' if _ODD_LINE_ENDS.intersection(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, quoted)
    Dumper.add_representer(type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", ""))
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(about + text, encoding="utf-8", newline="\n")
    part.replace(path)
