"""What the real commands write, kept by schema, and what they are given to read."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.cli import main
from judgeharness_integrations.verdictlog import write_log

__all__ = ["ADAPTERS", "BY_HAND", "JUDGES", "PAIRS", "TERSE", "TOY", "Written"]

JUDGES = """
def good(case):
    return "A" if "good" in case.output else "B"

def first(case):
    return "A"

def broken_on_second(case):
    if case.case_id == "c2":
        raise ValueError("nobody home")
    return good(case)

def score(case):
    return {"tone": 4, "facts": 5}

def points(case):
    return len(case.output)

def grade(case):
    return "PASS" if "good" in case.output else "FAIL"

def lenient(case):
    return "PASS"

def paid(case):
    from judgeharness_integrations.judging.judge import Answer, Judgment

    answer = Answer(verdict=good(case), reasoning="it is better")
    facts = {"response_id": case.case_id}
    tokens = {"input_tokens": 9, "output_tokens": 1, "cached_input_tokens": 4, "cache_write_tokens": 2}
    ended = {"service_tier": "default", "finish_reason": "stop"}
    return Judgment(answers=(answer,), raw="A!", model="gpt-4o", facts=facts, **tokens, **ended)
"""
BY_HAND = """
from langchain.evaluation import load_evaluator
from langsmith.evaluation import LangChainStringEvaluator

def make(kind):
    return load_evaluator(kind)

evaluators = [LangChainStringEvaluator("labeled_criteria", config={"criteria": make})]
"""
ADAPTERS = "[judgeharness.adapters]\nbroken = nowhere:ADAPTER\ntoy = schema_adapter:ADAPTER\n"
TOY = """
from judgeharness_integrations.judging.adapters import Adapter
from support.toy_adapter import toy_bench

EXTRAS = {"toy": ("json",), "more": ("no_such_module",)}
ADAPTER = Adapter(name="toy", extras=EXTRAS, build_judge=None, benches=lambda: [toy_bench(pairwise=False)])
"""
PAIRS = "case_id,input,output,output_b,gold\nc1,q,good,bad,A\nc2,q,bad,good,B\nc3,q,good one,bad one,A\n"
TERSE = {"perturbations": ["none", "position_swap"], "repetitions": 1, "aggregation_rule": "swap_consensus"}


@dataclass
class Written:
    """What was written, by schema: `documents["rank-1"]` are parsed documents."""

    folder: Path
    documents: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def take(self, text: str) -> None:
        """Keep documents, one or a line each; JSON knows neither NaN nor infinities."""
        texts = text.splitlines() if "\n{" in text.strip() else [text]
        for one in filter(None, texts):
            document = json.loads(one, parse_constant=pytest.fail)
            for whole in (document, document.get("gates")):
                if whole is not None:
                    self.documents.setdefault(name_of(whole), []).append(whole)

    def run(self, *arguments: object, code: int = 0, typed: str = "", as_json: bool = True) -> None:
        """Run the real command in this process and keep what it prints."""
        printed, said = io.StringIO(), io.StringIO()
        stdin, sys.stdin = sys.stdin, io.StringIO(typed)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
                found = main([*map(str, arguments), *(["--json"] if as_json else [])])
        finally:
            sys.stdin = stdin
        assert found == code, (arguments, said.getvalue())
        self.take(printed.getvalue())

    def configured(self, name: str, *judges: str, **changes: Any) -> Path:
        """Return a configuration of the judges above."""
        listed = [{"name": judge, "callable": f"schema_judges:{judge}", "model": "gpt-4o"} for judge in judges]
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"judges": listed, "cases": "pairs.csv", "harness": TERSE} | changes))
        return path

    def log(self, name: str, rows: list[Any]) -> Path:
        """Return a log of rows."""
        return write_log(rows, self.folder / f"{name}.jsonl")


def name_of(document: dict[str, Any]) -> str:
    return str(document["schema"]).removeprefix("judgeharness.").replace("/", "-")
