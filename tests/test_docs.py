"""Every Python block of the README and of docs/ runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import linecache
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.adk_example import copy_example, evaluate_example_here, fill_sheet
from support.langsmith_fixtures import LangSmithServerFactory, langsmith_server, langsmith_unset
from support.openai_server import OpenAIServer, Reply, Request, longer_wins
from support.planted_decisions import Planted

from judgeharness_integrations.judging.config import load_config

__all__ = ["langsmith_server", "langsmith_unset"]  # fixtures

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*(?:[^\n`]+\n)*\n*^```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
A_FILE = re.compile(r"# \S+\.py\n")  # the first line of a block that is part of a file, and prints nothing


def blocks() -> list[tuple[str, str, str]]:
    found = []
    for page in PAGES:
        for number, match in enumerate(BLOCK.finditer(page.read_text(encoding="utf-8"))):
            found.append((f"{page.name}#{number}", match[1], match[2] or ""))
    return found


@pytest.fixture(scope="module")
def evaluated_example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which `adk eval` measured the example, with the sheet that people filled."""
    from judgeharness_adk import load_results

    folder = tmp_path_factory.mktemp("adk")
    copy_example(folder)
    evaluate_example_here(folder)
    fill_sheet(load_results(folder).write_labelling_sheet(folder / "empty.csv"), folder / "labels.csv")
    return folder


@contextlib.contextmanager
def where_it_belongs(source: str, request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a block about ADK in the example's folder and leave ADK as it was, one about logs in a folder of its own."""
    if any(told in source for told in ("SqlLog(", '.save("calibration', "write_log(")):
        with contextlib.chdir(request.getfixturevalue("tmp_path")):
            yield
        return
    if "judgeharness_adk" not in source:
        yield
        return
    from support.adk_offline import isolated_adk

    import judgeharness_adk

    folder = request.getfixturevalue("evaluated_example")
    with isolated_adk(folder), contextlib.chdir(folder):
        yield
        judgeharness_adk.observe()


def judged(request: Request) -> Reply:
    """Judge: probabilities of typed questions, a structured verdict where one is asked for, else the longer wins."""
    if request.path == "/v1/decisions":
        return Planted()(request)
    return Reply.json({"reasoning": "It is right.", "score": True}) if request.schema else longer_wins(request)


@pytest.mark.untraced
@pytest.mark.parametrize(("source", "expected"), [pytest.param(s, e, id=name) for name, s, e in blocks()])
def test_a_block_runs_and_prints_what_stands_below_it(
    source: str,
    expected: str,
    *,
    openai_server: Callable[..., OpenAIServer],
    langsmith_server: LangSmithServerFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    server = openai_server(judged)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    if "langsmith" in source:
        langsmith = langsmith_server()
        dataset = langsmith.client().create_dataset("capitals")
        example = {"inputs": {"question": "Capital of France?"}, "reference_outputs": {"answer": "Paris"}}
        langsmith.client().create_examples(dataset_id=dataset.id, examples=[example])
        for name, value in langsmith.environment().items():
            monkeypatch.setenv(name, value)
    printed = io.StringIO()
    with where_it_belongs(source, request), contextlib.redirect_stdout(printed):
        file = f"<block {request.node.name}>"  # its lines are kept, as those of a cell of a notebook are
        monkeypatch.setitem(linecache.cache, file, (len(source), None, source.splitlines(keepends=True), file))
        exec(compile(source, file, "exec"), {"__name__": "__main__"})  # noqa: S102 - our own documentation
    if expected:
        assert printed.getvalue().strip() == expected.strip()
    else:
        assert printed.getvalue().strip() or A_FILE.match(source)


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


# Google ADK


def test_the_two_lines_are_those_of_the_example() -> None:
    agent = (ROOT / "examples" / "adk_agent" / "agent.py").read_text(encoding="utf-8").splitlines()
    for page in ("README.md", "docs/use/adk.md"):
        [lines, *_] = re.findall(
            r"^```python\n# agent.py\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE
        )
        for line in filter(None, lines.splitlines()):
            assert any(one.startswith(line) for one in agent), line


def adk_configurations() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for page in PAGES:
        for number, text in enumerate(
            re.findall(r"^```json\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        ):
            found.append((f"{page.name}#{number}", json.loads(text if text.startswith("{") else f"{{{text}}}")))
    return found


@pytest.mark.parametrize(
    "config", [pytest.param(config, id=name) for name, config in adk_configurations() if "judge_harness" in str(config)]
)
def test_blocks_of_a_test_config_are_valid(config: dict[str, Any]) -> None:
    from google.adk.evaluation.eval_config import EvalConfig
    from google.adk.evaluation.eval_metrics import BaseCriterion

    from judgeharness_adk.options import block_of

    if "judge_harness" in config:
        config = {"criteria": {"metric": {"threshold": 0.5, **config}}}
    for name, criterion in EvalConfig.model_validate(config).criteria.items():
        assert isinstance(criterion, BaseCriterion)
        assert block_of(criterion, metric=name).model_fields_set
    for metric in config.get("custom_metrics", {}).values():
        module, _, name = metric["code_config"]["name"].rpartition(".")
        assert callable(getattr(importlib.import_module(module), name))


def test_every_key_of_the_block_is_described() -> None:
    from judgeharness_adk.options import HarnessBlock

    page = (ROOT / "docs" / "use" / "adk.md").read_text(encoding="utf-8")
    table = page[page.index("| key | default | meaning |") : page.index("### Perturbations")]
    assert re.findall(r"^\| `(\w+)`", table, re.MULTILINE) == list(HarnessBlock.model_fields)
