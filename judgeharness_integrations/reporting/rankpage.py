"""The page of a ranking: the answer, leaderboard and cost, pictures by what they say, then everything else folded."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from judgeharness_integrations.reporting.sections import Section

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.findings import Finding

INDEX: Final = "index.html"
_GROUPS: Final = {
    "Who is right, and at what price": ("leaderboard", "pareto_money", "pareto_tokens"),
    "How judges err": ("class_bias", "confusion", "self_preference", "audit"),
    "What changes the order": ("difficulty", "variants", "slopes", "robustness", "stability"),
}
_KINDS: Final = {".svg": "image/svg+xml", ".png": "image/png"}
_STYLE: Final = """
.drawn { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .6rem; }
.drawn img { display: block; max-width: 100%; max-height: 60rem; height: auto; margin: 0 auto; }
.drawn figcaption { color: #555; font-size: .85rem; text-align: center; }
.fold { margin: .6rem 0; }
.files { columns: 13rem; }
@media print { .drawn { break-inside: avoid; } }
"""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A picture by its name, and its content as the page holds it."""

    name: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Group:
    """Pictures about one question."""

    title: str
    pictures: tuple[Drawn, ...]


def rank_page(
    section: Section, found: Finding, *, pictures: Mapping[str, Sequence[Path]], files: Sequence[str], priced: bool
) -> str:
    """Return a ranking as an HTML document that needs no network and no other file.

    Args:
        section: the ranking for people, with all that is beside it.
        found: what it opens with; those blocks of the section are not shown again.
        pictures: name -> its files; the SVG is taken where there is one.
        files: names of what stands beside the page.
        priced: whether the leaderboard tells money.

    """
    from judgeharness_integrations.reporting.html.frame import environment, script, style  # noqa: PLC0415 - loads Jinja

    opening = list(found.opening())
    blocks = [block for block in section.blocks if block not in opening]
    end = next((place for place, block in enumerate(blocks, 1) if isinstance(block, Section)), len(blocks))
    groups = list(_groups(pictures))
    names = [("finding", "Answer"), ("leaderboard", "Leaderboard"), ("more", "More"), ("files", "Files")]
    return (
        environment("judgeharness_integrations.reporting")
        .get_template("rank.html")
        .render(
            style=style(_STYLE),
            script=script(),
            heading=found.answer[:1].upper() + found.answer[1:],  # the terminal begins with a small letter
            reasons=found.reasons,
            sections=[*names[:2], *([("pictures", "Pictures")] if groups else []), *names[2:]],
            opened=blocks[:end],
            more=blocks[end:],
            groups=groups,
            files=files,
            priced=priced,
        )
    )


def _groups(pictures: Mapping[str, Sequence[Path]]) -> Iterator[Group]:
    for title, names in _GROUPS.items():
        found = tuple(drawn for name in names for drawn in _drawn(pictures.get(name, ())))
        if found:
            yield Group(title=title, pictures=found)


def _drawn(paths: Sequence[Path]) -> Iterator[Drawn]:
    """Yield a picture once, however many files it is in: a picture may be in several parts."""
    by_stem = {path.stem: path for path in sorted(paths, key=lambda path: path.suffix == ".svg")}
    for stem, path in by_stem.items():
        content = b64encode(path.read_bytes()).decode()
        yield Drawn(name=stem.replace("_", " "), source=f"data:{_KINDS[path.suffix]};base64,{content}")
