# ruff: noqa: INP001 - mkdocs loads this file by its path
"""What the site is made of beside its pages: the commands' own help, pictures in the page's colours, lists of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

__all__ = ["commands", "on_config", "on_files", "on_page_content", "on_page_markdown"]

HERE = Path(__file__).parent
PICTURE = re.compile(r'<p><img alt="[^"]*" src="(?:\.\./)*assets/([\w-]+\.svg)" ?/?></p>')
WIDTH = 80  # what a page shows without scrolling


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every file of a folder in the place of `folder/*.md` in the navigation."""
    config.nav = [_entry(entry) for entry in config.nav or []]
    return config


def _entry(entry: Any) -> Any:
    """Return a navigation entry with its globs replaced."""
    if isinstance(entry, dict):
        return {title: _entry(below) for title, below in entry.items()}
    if isinstance(entry, list):
        return [_entry(below) for below in entry]
    if not entry.endswith("/*.md"):
        return entry
    pages = sorted(HERE.glob(entry), key=lambda page: (page.name != "index.md", page.name))
    return [page.relative_to(HERE).as_posix() for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the command, made from what each command says of itself, the changelog and the schemas."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - tests read the commands without mkdocs

    from judgeharness_integrations.reporting.schemas import schema, schema_names  # noqa: PLC0415 - as above

    files.append(File.generated(config, "reference/cli.md", content=_page_of_commands()))
    changes = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=changes))
    for name in schema_names():
        content = json.dumps(schema(name), ensure_ascii=False, indent=2)
        files.append(File.generated(config, f"schemas/{name}.json", content=content))
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
        yield from _helps(command.get_command(context, below), f"{name} {below}", context)


def _page_of_commands() -> str:
    introduction = (
        "# The command\n\n"
        "What `judgeharness COMMAND --help` prints, for every command. `run`, and `calibrate` and `check` with a "
        "configuration, ask judges; no other command asks anybody.\n"
    )
    parts = [f"## {name}\n\n```text\n{text.strip()}\n```\n" for name, text in commands()]
    return "\n".join([introduction, *parts])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """List the decisions on their first page."""
    del config, files
    if page.file.src_uri != "decisions/index.md":
        return markdown
    found = sorted(path for path in (HERE / "decisions").glob("*.md") if path.name != "index.md")
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in found]
    lines = [f"* [{title}]({path.name})" for title, path in zip(titles, found, strict=True)]
    return "\n".join([markdown, "", *lines, ""])


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write pictures into the page, so that they take its colours; elsewhere they are images."""
    del page, config, files
    return PICTURE.sub(lambda match: f'<figure class="jh">{_picture(match[1])}</figure>', html)


def _picture(name: str) -> str:
    text = (HERE / "assets" / name).read_text(encoding="utf-8")
    return re.sub(r"<\?xml.*?\?>|<style>.*?</style>", "", text, flags=re.DOTALL).strip()
