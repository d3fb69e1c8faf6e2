"""Every Python block of the README and of docs/ runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.openai_server import OpenAIServer, longer_wins

from judgeharness_integrations.config import load_config

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*(?:[^\n`]+\n)*\n*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def blocks() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            found.append((f"{page.name}#{number}", match[1], match[2] or ""))
    return found


@pytest.mark.parametrize(("source", "expected"), [pytest.param(s, e, id=name) for name, s, e in blocks()])
def test_a_block_runs_and_prints_what_stands_below_it(
    source: str, expected: str, openai_server: Callable[..., OpenAIServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = openai_server(longer_wins)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "block", "exec"), {"__name__": "__main__"})  # noqa: S102 - our own documentation
    if expected:
        assert printed.getvalue().strip() == expected.strip()
    else:
        assert printed.getvalue().strip()


def test_there_are_blocks_with_output() -> None:
    assert len(blocks()) >= 3
    assert sum(bool(expected) for _, _, expected in blocks()) >= 2


def test_both_commands_of_the_readme_are_one_line_each() -> None:
    commands = re.findall(
        r"^```bash\n(python3 .*)\n```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [command.split()[-1] for command in commands] == ["demo", "pytest"]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```yaml" in page.read_text(encoding="utf-8")], ids=lambda page: page.name
)
def test_configurations_are_valid(page: Path, tmp_path: Path) -> None:
    for source in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        path = tmp_path / "config.yaml"
        path.write_text(source, encoding="utf-8")
        assert load_config(path).judges
