"""`judgeharness benchmark discover --decided`: what people kept of proposals as a taxonomy's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from judgeharness_integrations._errors import ConfigError, UsageError
from judgeharness_integrations.benchmark.discovery.deciding import Decided, decided
from judgeharness_integrations.benchmark.discovery.files import write_taxonomy
from judgeharness_integrations.benchmark.discovery.proposals import read_proposals
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import TaxonomyFile, read_taxonomy_file
from judgeharness_integrations.cli._json import print_json
from judgeharness_integrations.cli._writing import check_file
from judgeharness_integrations.cli.exits import OK
from judgeharness_integrations.reporting.plain import safe_text

__all__ = ["apply_decisions"]


def apply_decisions(proposals: Path, *, taxonomy: Path | None, out: Path | None, overwrite: bool, as_json: bool) -> int:
    """Write a taxonomy with what was kept, print what became of each proposal, and return the exit code.

    Raises:
        UsageError: there is no `out`, or the decisions do not fit together.

    """
    if out is None:
        raise UsageError("say where the taxonomy is to go: give --taxonomy-out taxonomy.yaml.")
    check_file(out)
    if out.exists() and not overwrite:
        raise ConfigError(f"{out} exists: give another --taxonomy-out, or --overwrite.")
    base = TaxonomyFile(extends="default") if taxonomy is None else read_taxonomy_file(taxonomy)
    made = decided(read_proposals(proposals), base, source=str(proposals))
    write_taxonomy(made.file, out)
    if as_json:
        print_json(_document(made, out))
    else:
        typer.echo(_told(made, out))
    return OK


def _document(made: Decided, out: Path) -> dict[str, Any]:
    return {
        "schema": "judgeharness.benchmark_discovery/1",
        "taxonomy": str(out),
        "kept": list(made.kept),
        "merged": [entry.model_dump() for entry in made.merged],
        "dropped": list(made.dropped),
        "undecided": list(made.undecided),
    }


def _told(made: Decided, out: Path) -> str:
    total = len(made.kept) + len(made.merged) + len(made.dropped) + len(made.undecided)
    lines = [f"{total} proposals: {len(made.kept)} kept, {len(made.merged)} merged, {len(made.dropped)} dropped"]
    lines[0] += f", {len(made.undecided)} without a decision, which stay out" if made.undecided else ""
    lines += [f"  kept {name}" for name in made.kept]
    lines += [f"  merged {entry.name} into {entry.into}, whose definition stands" for entry in made.merged]
    where = safe_text(str(out), 200)
    return "\n".join([*lines, f"{where} is written: judgeharness benchmark generate DOCS --taxonomy {where} ..."])
