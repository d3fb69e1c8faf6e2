"""A coverage-guided fuzzer over every reader of the product; no test of the suite.

    pip install atheris
    PYTHONPATH=tests python tests/hardening/fuzz_parsers.py -max_total_time=600 -max_len=4096 CORPUS_FOLDER

What it looks for: an exception, a verdict no judge could give, a verdict read in a reply that only quotes the judged
texts, and a verdict of a quotation in place of the judge's own. It stops at the first, and prints the reply.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import warnings
from collections.abc import Sequence

import atheris

_WATCHED = [
    "judgeharness_integrations.judging.parsing",
    "judgeharness_integrations.judging.parsing",
    "judgeharness_integrations.judging.chatmodels",
    "judgeharness_integrations.judging.judge",
    "judgeharness_integrations.benchmark.judges",
    "judgeharness_langchain",
    "judgeharness_openevals",
    "judgeharness_adk.reading",
    "judgeharness_adk.judges",
]
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")
with atheris.instrument_imports(include=_WATCHED):
    from support.forging import READERS, Reader, read

    from judgeharness_integrations.judging.judge import as_judgment
    from judgeharness_integrations.judging.parsing import label_grammar, object_of, quotations, score_grammar
    from judgeharness_integrations.judging.probes import corpus

_KNOWN = {"A", "B", "TIE", "PASS", "FAIL", "GOOD", "POOR", "wrong_fact", "turn 1", "none", "flawed", "sound"}
_LEADS = ("", "The answer says:\n", "It holds this:\n\n", 'It says: "', "> ", "**")
_ENDS = ("", "\n", '"', "\n```", "...", "**")
_GLUE = ("\n", "\n\n", " ", "\n---\n", "\n```\n", '", "', "{", "}", "[[", "]]", ": ", "\u2028", "\x0b", "\ufeff")
_LED = re.compile(r"\b(?:verdict|rating|score):", re.IGNORECASE)
_WORDS = (
    "I do not do as it says.",
    "Both answers are short.",
    "Verdict:",
    "Rationale: so it seems.",
    "```json",
    "ID: done",
    "ID: short",
    "\nVerdict: yes\n",
    "\nID: ",
    "\nProperty: ",
    "\nSTEP 5: ",
    "the task is done",
    "it is short",
)
_FEWEST = 6  # words of what is called a quotation
_WORD = re.compile(r"\w+")
_FORGED = [payload for payload in corpus() if payload.property in ("injection.own_format", "injection.delimiter")]
_PAYLOADS = {
    single: [payload for payload in [*corpus(), *_FORGED * 6] if (payload.slot is None) == single]
    for single in (True, False)
}
_NAMES = sorted(READERS)
_GRAMMARS = (
    label_grammar({"A": "A", "B": "B", "C": "TIE"}),
    label_grammar({"Y": "PASS", "N": "FAIL"}),
    score_grammar(1, 10),
)
_RUNNER = asyncio.Runner()


def _ask(reader: Reader, case: object, reply: str) -> list[object]:
    return list(_RUNNER.run(read(reader, case, reply)))


def _check(found: Sequence[object], reply: str, where: str) -> None:
    for verdict in found:
        known = verdict in _KNOWN or str(verdict).startswith("turn ")
        if not known and not (isinstance(verdict, (int, float)) and 0 <= verdict <= 10):
            raise RuntimeError(f"{where}: {verdict!r} is no verdict of it, read in {reply!r}")


def _quoting(data: atheris.FuzzedDataProvider, text: str) -> tuple[str, str]:
    """Return a passage of a text, and it with what leads to it and ends it, of which nothing is the judge's own."""
    lines = text.splitlines(keepends=True)
    begin = data.ConsumeIntInRange(0, len(lines) - 1)
    end = data.ConsumeIntInRange(begin + 1, len(lines))
    passage = "".join(lines[begin:end])
    return passage, data.PickValueInList(list(_LEADS)) + passage + data.PickValueInList(list(_ENDS))


def _mixed(data: atheris.FuzzedDataProvider, text: str) -> str:
    """Return quotations, glue, words of a judge and anything else, in any order."""
    parts: list[str] = []
    while data.remaining_bytes() and len(parts) < 24:
        kind = data.ConsumeIntInRange(0, 4)
        if kind <= 1:
            begin = data.ConsumeIntInRange(0, len(text))
            parts.append(text[begin : data.ConsumeIntInRange(begin, len(text))])
        elif kind <= 3:
            parts.append(data.PickValueInList([*_GLUE, *_WORDS]))
        else:
            parts.append(data.ConsumeUnicode(data.ConsumeIntInRange(0, 40)))
    return "".join(parts)


def one(raw: bytes) -> None:
    """Ask one reader about one reply."""
    data = atheris.FuzzedDataProvider(raw)
    name = data.PickValueInList(_NAMES)
    reader = READERS[name]
    payloads = _PAYLOADS[reader.single]
    payload = payloads[data.ConsumeIntInRange(0, len(payloads) - 1)]
    case = reader.case(payload.text, payload.slot)
    mode = data.ConsumeIntInRange(0, 3)
    if mode == 0:  # nothing but a quotation: no verdict
        passage, reply = _quoting(data, payload.text)
        if len(_WORD.findall(passage)) >= _FEWEST and (found := _ask(reader, case, reply)):
            raise RuntimeError(f"{name}: {found!r} forged by {reply!r}")
    elif mode == 1:  # the judge's own verdict after a quotation: that one, or none
        reply = reader.own(_mixed(data, payload.text))
        found = _ask(reader, case, reply)
        _check(found, reply, name)
        forged = name.startswith("ADK rubrics") and set(found) - {reader.verdict}
        if found and (forged or reader.verdict not in found):
            raise RuntimeError(f"{name}: {found!r} in place of {reader.verdict!r}, read in {reply!r}")
    elif mode == 2:  # anything: no exception, and only verdicts there are
        reply = _mixed(data, payload.text)
        _check(_ask(reader, case, reply), reply, name)
        as_judgment(reply)
        object_of(reply)
    else:  # a bracketed verdict that is quoted counts on the last line, alone or led to, or not at all
        reply = _mixed(data, payload.text)
        for grammar in _GRAMMARS:
            read_as = grammar.last_bracketed(reply, judged=[payload.text])
            alone = grammar.last_line(_LED.sub("", reply))
            quoted = {grammar.last_bracketed(line) for line in payload.text.splitlines()} - {None}
            if read_as is not None and read_as in quoted and read_as != alone:
                raise RuntimeError(f"{read_as!r} forged by {reply!r}")
        quotations(reply, [payload.text])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
