"""The taxonomy of a benchmark: the default types, a file's own ones, or both."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.benchmark.taxonomy.taxonomy import Taxonomy
from judgeharness_integrations.benchmark.taxonomy.taxonomyfile import KINDS, TaxonomyFile, read_taxonomy_file

__all__ = ["default_taxonomy", "load_taxonomy", "taxonomy_of"]

_HERE = Path(__file__).parent
_EXAMPLES = {
    "failure_types": "failure_types: [{name: ..., definition: ..., flaw: ..., benign: ...}]",
    "behaviours": "behaviours: [{name: ..., description: ...}]",
}


@cache
def default_taxonomy() -> Taxonomy:
    """Return the seven failure types and seven behaviours that come with the package."""
    return Taxonomy(
        failure_types=read_taxonomy_file(_HERE / "failure_types.yaml").own_failure_types(),
        behaviours=read_taxonomy_file(_HERE / "behaviours.yaml").own_behaviours(),
    )


def load_taxonomy(path: Path | None) -> Taxonomy:
    """Return the taxonomy of a YAML, TOML or JSON file; None: the default one.

    With `extends: default` the file's types come after the default ones; one that bears the name of a default type
    takes its place. Without it the file's types are all there are.

    Raises:
        UnknownNameError: a key is not known; the nearest is offered, with its place.
        ConfigError: the file cannot be read, or lacks or repeats something; it is said what to write.

    """
    return default_taxonomy() if path is None else taxonomy_of(read_taxonomy_file(path), source=str(path))


def taxonomy_of(file: TaxonomyFile, *, source: str) -> Taxonomy:
    """Return the taxonomy of a file that was read; `source` names it in errors.

    Raises:
        ConfigError: it has no failure type or no behaviour, or one name for both.

    """
    base = default_taxonomy() if file.extends == "default" else Taxonomy(failure_types={}, behaviours={})
    made = Taxonomy(
        failure_types={**base.failure_types, **file.own_failure_types()},
        behaviours={**base.behaviours, **file.own_behaviours()},
    )
    for kind in KINDS:
        if not getattr(made, kind):
            raise ConfigError(f"{source} has no {kind}: write {_EXAMPLES[kind]}, or extends: default to use ours.")
    shared = sorted({*made.failure_types} & {*made.behaviours})
    if shared:  # weights are given by name
        raise ConfigError(f"{source}: {shared[0]!r} is a failure type and a behaviour: rename one of them.")
    return made
