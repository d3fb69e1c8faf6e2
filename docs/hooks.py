"""What the site is made of beside its pages: the commands' help, coloured pictures, searched words, old addresses."""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

__all__ = [
    "commands",
    "known",
    "on_files",
    "on_page_content",
    "on_page_markdown",
    "on_post_build",
    "schemas",
    "stub",
]

HERE = Path(__file__).parent
PICTURE = re.compile(
    r'<p><img alt="[^"]*" src="(?:\.\./)*assets/([\w-]+\.svg)" ?/?></p>'
)
WIDTH = 80  # what a page shows without scrolling


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the command, made from what each command says of itself, the changelog and the schemas."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests read the commands without mkdocs

    from judgeharness_integrations.reporting.schemas import schema, schema_names  # noqa: PLC0415 - as above

    files.append(
        File.generated(config, "reference/cli.md", content=_page_of_commands())
    )
    changes = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    for name in schema_names():
        content = json.dumps(schema(name), ensure_ascii=False, indent=2)
        files.append(
            File.generated(config, f"schemas/{name}.json", content=content)
        )
    return files


def commands() -> Iterator[tuple[str, str]]:
    """Yield every command by its whole name, and what its `--help` prints."""
    import typer  # noqa: PLC0415 - as above

    from judgeharness_integrations.cli.app import app  # noqa: PLC0415

    root = typer.main.get_command(app)
    yield from _helps(root, "judgeharness", None)


def _helps(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name.rpartition(" ")[2],
        [],
        parent=parent,
        resilient_parsing=True,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
    )
    yield name, command.get_help(context)
    for below in sorted(getattr(command, "commands", {})):
        yield from _helps(
            command.get_command(context, below), f"{name} {below}", context
        )


def _page_of_commands() -> str:
    introduction = (
        "# Commands\n\n"
        "What `judgeharness COMMAND --help` prints, for every command. `run`, `check`, `calibrate` and `passport` ask "
        "the judges of a configuration; `benchmark generate`, `verify`, `discover` and `judge` ask models. No other "
        "command makes a call.\n"
    )
    parts = [
        f"## {name}\n\n```text\n{text.strip()}\n```\n"
        for name, text in commands()
    ]
    return "\n".join([introduction, *parts])


@functools.cache
def known() -> dict[str, dict[str, Any]]:
    """Return what `site.yml` says: `search`, `words` and `redirects`."""
    import yaml  # noqa: PLC0415 - mkdocs brings it

    found: dict[str, dict[str, Any]] = yaml.safe_load(
        (HERE / "site.yml").read_text(encoding="utf-8")
    )
    return found


def on_page_markdown(
    markdown: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Tell the search how much a page counts and what people call it, and list the decisions on their first page."""
    del config, files
    path = page.file.src_uri
    prefixes = [
        prefix for prefix in known()["search"] if path.startswith(prefix)
    ]
    if prefixes:
        boost = known()["search"][max(prefixes, key=len)]
        page.meta["search"] = {"boost": boost} if boost else {"exclude": True}
    if path == "reference/files.md":
        return markdown.replace("<!-- schemas -->", schemas())
    return (
        f"{markdown}\n\n{_decisions()}\n"
        if path == "decisions/index.md"
        else markdown
    )


def schemas() -> str:
    """Return the table of the schemas, each by its own title."""
    from judgeharness_integrations.reporting.schemas import schema, schema_names  # noqa: PLC0415 - as above

    rows = [
        f"| [{name}](../schemas/{name}.json) | {schema(name)['title']} |"
        for name in schema_names()
    ]
    return "\n".join(["| schema | document |", "|---|---|", *rows])


def _decisions() -> str:
    found = sorted(
        path
        for path in (HERE / "decisions").glob("*.md")
        if path.name != "index.md"
    )
    titles = [
        path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for path in found
    ]
    return "\n".join(
        f"* [{title}]({path.name})"
        for title, path in zip(titles, found, strict=True)
    )


def on_page_content(
    content: str, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Write pictures into the page, so that they take its colours; elsewhere they are images."""
    del page, config, files
    return PICTURE.sub(
        lambda match: f'<figure class="jh">{_picture(match[1])}</figure>',
        content,
    )


def _picture(name: str) -> str:
    text = (HERE / "assets" / name).read_text(encoding="utf-8")
    return re.sub(
        r"<\?xml.*?\?>|<style>.*?</style>", "", text, flags=re.DOTALL
    ).strip()


def on_post_build(config: MkDocsConfig) -> None:
    """Write what people type into the search index, and a page at every old address that leads to the new one."""
    site = Path(config.site_dir)
    index = site / "search" / "search_index.json"
    found = json.loads(index.read_text(encoding="utf-8"))
    for entry in found[
        "docs"
    ]:  # a page as a whole; its sections have an anchor
        words = known()["words"].get(
            entry["location"].removesuffix(".html") + ".md"
        )
        if words:
            entry["tags"] = words
    index.write_text(
        json.dumps(found, ensure_ascii=False, separators=(",", ":")),
        encoding="utf-8",
    )
    for old, new in known()["redirects"].items():
        place = site / old
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(stub(old, new), encoding="utf-8")


def stub(old: str, new: str) -> str:
    """Return a page at an old address that leads to the new one, both relative to the site's root."""
    to = html.escape("../" * old.count("/") + new)
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>This page has moved</title>'
        f'<meta name="robots" content="noindex"><meta http-equiv="refresh" content="0; url={to}"></head>\n'
        f'<body><p>This page has moved: <a href="{to}">{to}</a>.</p></body>\n</html>\n'
    )
