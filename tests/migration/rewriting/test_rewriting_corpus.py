"""Every file of both corpora, rewritten: parsed again, twice the same, and our additions taken out again."""

from __future__ import annotations

import ast
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.modules import Source, python_files
from judgeharness_integrations.migration.rewriting import migrated, rewritten
from judgeharness_integrations.migration.rewriting.changes import Level
from judgeharness_integrations.migration.rules import RULES

pytestmark = [pytest.mark.slow, pytest.mark.untraced]

DATA = Path(__file__).parents[2] / "data"
CORPORA = (DATA / "single_call_judges", DATA / "migrated_judges")
FILES = python_files(CORPORA)
MADE_BY_A_FRAMEWORK = {"langchain", "openevals", "langsmith"}

OUR_IMPORT = re.compile(r"^[ \t]*from judgeharness_\w+ import \w+(?: as \w+)?\r?\n", re.MULTILINE)
HARNESS = r", JudgeHarness\.single\(['\"]\w+['\"]\)\)"
WRAPPER = r"\b(?:harness_evaluator|harness_judge|HarnessRunEvaluator)_*\("
EACH = re.compile(rf"\[{WRAPPER}evaluator{HARNESS} for evaluator in (load_evaluators\(.*?\))\]", re.DOTALL)


def without_ours(text: str) -> str:
    text = EACH.sub(r"\1", OUR_IMPORT.sub("", text))
    return re.sub(WRAPPER, "", re.sub(HARNESS, "", text))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_corpus(path: Path) -> None:
    source = Source.read(path)
    first, measured = rewritten(source, "single"), rewritten(source, "measured")
    for found, level in ((first, "single"), (measured, "measured")):
        ast.parse(found.after)
        assert found.problem is None
        again = rewritten(source.with_text(found.after), level)  # type: ignore[arg-type]
        assert (again.after, again.changes, again.problem) == (found.after, (), None)
    assert rewritten(source.with_text(first.after), "measured").after == measured.after
    assert rewritten(source.with_text(measured.after), "single").after == measured.after
    if first.changed and "judgeharness" not in source.text.replace("judgeharness: noqa", ""):
        replaced = any(change.action == "replaced" for change in first.changes)
        assert replaced or without_ours(first.after) == source.text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_scanner_finds_no_bare_judge_where_one_was_wrapped(path: Path) -> None:
    source = Source.read(path)
    levels: tuple[Level, ...] = ("single", "measured")
    for level in levels:
        found = rewritten(source, level)
        inspection = Inspection(source.with_text(found.after))
        left = Counter((one.framework, one.kind) for one in found.by_hand)
        assert not Counter((str(one.framework), one.kind) for one in inspection.judges) - left
        for code in ("JH001", "JH002"):
            sites = (one.site for one in RULES[code].findings(inspection))
            assert not Counter((str(site.framework), site.kind) for site in sites if site is not None) - left


def test_how_many_judges_of_frameworks_are_wrapped_mechanically(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    for path in FILES:
        found = rewritten(Source.read(path), "single")
        counts["wrapped"] += len(found.changes)
        counts["left"] += sum(one.framework in MADE_BY_A_FRAMEWORK for one in found.by_hand)
        counts["written by hand"] += sum(one.framework == "handwritten" for one in found.by_hand)
    made = counts["wrapped"] + counts["left"]
    with capsys.disabled():
        print(  # noqa: T201 - how much of the corpus is mechanical is a number to be seen
            f"\nrewriting: {counts['wrapped']} of {made} judges that a framework makes are wrapped "
            f"({counts['wrapped'] / made:.2f}); {counts['written by hand']} are written by hand and left alone"
        )
    assert counts["wrapped"] / made >= 0.85
    assert counts["written by hand"]


def test_the_configs_of_the_corpus_are_rewritten_once(tmp_path: Path) -> None:
    for corpus in CORPORA:
        folder = shutil.copytree(corpus, tmp_path / corpus.name)
        for level in ("single", "measured"):
            found = migrated([folder], level)  # type: ignore[arg-type]
            assert not found.unreadable
            for one in found.changed:
                one.path.write_bytes(one.source.encoded(one.rewrite.after))
            assert migrated([folder], level).changed == ()  # type: ignore[arg-type]
