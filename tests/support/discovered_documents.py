"""What `judgeharness benchmark discover` writes, over inputs that use every key of its schema."""

from __future__ import annotations

import json

from support.written_documents import Written

__all__ = ["discoveries"]

READER = """
import json

from judgeharness_integrations.judging.chatmodels import Completion

TEXTS = {"definition": "d", "flaw": "f", "benign": "b", "earliest_round": 1}

def said(answer):
    return Completion(text=json.dumps(answer), input_tokens=9, output_tokens=3)

def failures(prompt):
    if prompt.step == "discovery_propose":
        return said({"types": [{"name": name, **TEXTS, "examples": [1]} for name in ("odd", "same", "bad", "open")]})
    if "unreadable" in prompt.user:
        return said({})
    known = "evasion" if "hedge" in prompt.user else "other"
    return said({"shows": "it hedges", "reason": "so it is", "type": known})

def users(prompt):
    if prompt.step == "discovery_propose":
        return said({"types": [{"name": "terse", "description": "One word at a time.", "examples": [1]}]})
    return said({"shows": "one word at a time", "reason": "none fits", "type": "other"})
"""
PRICES = "prices: {'*': {input: 1, output: 2}}\n"


def discoveries(made: Written) -> None:
    """Failure types and behaviours, before and after somebody decided, and the taxonomy that comes of it."""
    (made.folder / "discovering.py").write_text(READER)
    (made.folder / "discovering.yaml").write_text(PRICES)
    lines = [{"id": name, "text": f"User: {name}"} for name in ("odd", "hedge", "unreadable")]
    (made.folder / "talks.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = ("benchmark", "discover", "talks.jsonl", "--models", "discovering.yaml", "--model")
    failures = (*asked, "discovering.py:failures", "--out", "new_failures")
    users = (*asked, "discovering.py:users", "--of", "behaviours", "--out", "new_behaviours")
    for options, decisions in (
        (failures, ("keep", "merge\n  into: evasion", "drop")),
        (users, ("merge\n  into: focused",)),
    ):
        made.run(*options)
        proposals = made.folder / options[-1] / "proposals.yaml"
        text = proposals.read_text("utf-8")
        for decision in decisions:
            text = text.replace("decision:\n", f"decision: {decision}\n", 1)
        proposals.write_text(text, "utf-8")
        made.run(*options)
    decided = ("benchmark", "discover", "--decided", "new_failures/proposals.yaml")
    made.run(*decided, "--taxonomy-out", "decided.yaml")
