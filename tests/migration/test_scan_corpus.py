"""The corpus: suites as people write them, each line that should be found marked in the file itself."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from scan_bench import CORPUS, expected_in

from judgeharness_integrations.migration.judges import handwritten_sites, made_sites
from judgeharness_integrations.migration.modules import Source, may_hold_judges
from judgeharness_integrations.migration.scanning import ScanReport, scan

Key = tuple[str, int, str]


@cache
def report() -> ScanReport:
    return scan([CORPUS])


def found() -> Counter[Key]:
    return Counter((one.path.relative_to(CORPUS).as_posix(), one.line, one.code) for one in report().findings)


def expected() -> Counter[Key]:
    keys: Counter[Key] = Counter()
    for path in CORPUS.rglob("*.py"):
        name = path.relative_to(CORPUS).as_posix()
        keys.update({(name, line, code): n for (line, code), n in expected_in(path.read_text()).items()})
    for path in CORPUS.rglob("*.json"):
        text = path.read_text()
        for metric, codes in json.loads(text).get("_expect", {}).items():
            line = text[: text.rindex(f'"{metric}"')].count("\n") + 1
            keys.update((path.relative_to(CORPUS).as_posix(), line, code.strip()) for code in codes.split(","))
    return keys


@pytest.mark.slow
def test_precision_and_recall_on_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    right = (found() & expected()).total()
    precision, recall = right / found().total(), right / expected().total()
    with capsys.disabled():
        print(  # noqa: T201 - the two numbers are what this test is for
            f"\nscan, {report().files} corpus files: precision {right}/{found().total()} = {precision:.3f}, "
            f"recall {right}/{expected().total()} = {recall:.3f}"
        )
    assert precision >= 0.95, sorted((found() - expected()).elements())
    assert recall >= 0.95, sorted((expected() - found()).elements())


def test_the_corpus_is_large_and_a_third_of_it_is_near_misses() -> None:
    files = [path for path in CORPUS.rglob("*") if path.suffix in {".py", ".json"} and path.name != "agent.py"]
    named = {name for name, _, _ in expected()}
    clean = [path for path in files if path.relative_to(CORPUS).as_posix() not in named]
    assert len(files) >= 60
    assert len(clean) >= 30
    assert {code for _, _, code in expected()} == {f"JH{number:03}" for number in range(1, 14)}


@pytest.mark.slow
def test_no_file_is_unreadable_and_what_comments_hide_is_counted() -> None:
    assert report().unreadable == ()
    assert report().suppressed == 4
    assert report().judges > report().harnessed > 0


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.py")), ids=lambda path: path.stem)
def test_the_search_in_the_text_hides_no_judge_of_the_tree(path: Path) -> None:
    source = Source.read(path)
    if not may_hold_judges(source.text):
        made = made_sites(source.view)
        assert [*made, *handwritten_sites(source.view, made)] == []


@pytest.mark.slow
def test_a_judge_is_found_in_the_same_place_with_windows_line_endings() -> None:
    for path in sorted(CORPUS.glob("openevals_*.py")):
        source = Source.read(path)
        turned = source.with_text(source.text.replace("\n", "\r\n"))
        assert [(s.line, s.column, s.kind) for s in made_sites(turned.view)] == [
            (s.line, s.column, s.kind) for s in made_sites(source.view)
        ]
