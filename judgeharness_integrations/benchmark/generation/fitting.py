"""Whether a folder's benchmark can be gone on with: it must be made as it was until now."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.benchmark.settings import Settings

__all__ = ["check_fits"]


def check_fits(kept: Settings, wanted: Settings, *, where: str) -> None:
    """Refuse to go on with a benchmark in another way than it was made; more pairs, or a first verifier, are none.

    Args:
        kept: what it was made with.
        wanted: what it is to be gone on with.
        where: its folder, for the message.

    Raises:
        UsageError: something differs; all of it is named.

    """
    if kept.imported_from is not None:
        raise UsageError(
            f"{where} was converted from {kept.imported_from}: nothing can be generated into it, give another --out."
        )
    differences = list(_differences(kept, wanted))
    if differences:
        raise UsageError(
            f"{where} was made with {', '.join(differences)}: give what it was made with, or another --out."
        )


def _differences(kept: Settings, wanted: Settings) -> Iterator[str]:
    if kept.documents != wanted.documents:
        yield "other documents (or another --domain)"
    if kept.taxonomy != wanted.taxonomy:
        yield "another taxonomy"
    before, now = kept.drawing, wanted.drawing
    for option, one, other in (
        ("--generator", kept.generator, wanted.generator),
        ("--seed", before.seed, now.seed),
        ("--rounds", "-".join(map(str, before.rounds)), "-".join(map(str, now.rounds))),
        ("--documents-per-pair", before.documents_per_pair, now.documents_per_pair),
    ):
        if one != other:
            yield f"{option} {one}, not {other}"
    if dict(before.weights) != dict(now.weights):
        yield "other --weights"
    if before.most_characters != now.most_characters:
        yield f"{before.most_characters} characters of documents a pair, not {now.most_characters}"
    if kept.verifier is not None and kept.verifier != wanted.verifier:
        yield f"--verifier {kept.verifier}, not {wanted.verifier or 'none'}"
    if kept.n > wanted.n:
        yield f"--n {kept.n}, which can only grow, not {wanted.n}"
