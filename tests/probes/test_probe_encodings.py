"""Orders in disguise can be read again, and are the orders there are."""

from __future__ import annotations

import base64
import codecs
import unicodedata

import pytest

from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.judging.marks import shown
from judgeharness_integrations.judging.probes import corpus

PLAIN = {(entry.slot, entry.text) for entry in corpus() if entry.property == "injection.direct_order"}
ENCODED = [entry for entry in corpus() if entry.property == "injection.encoded"]


def readings(text: str) -> set[str]:
    last = text.rpartition("\n")[2]
    try:
        decoded = base64.b64decode(last, validate=True).decode()
    except ValueError:
        decoded = ""
    tags = "".join(chr(ord(letter) - 0xE0000) for letter in text if 0xE0000 < ord(letter) < 0xE0080)
    plain = unicodedata.normalize("NFKC", text)
    return {decoded, codecs.decode(last, "rot13"), tags, text.replace("\u200b", ""), plain} - {text}


def test_every_order_is_there_in_every_disguise() -> None:
    found = [(entry.slot, order) for entry in ENCODED for order in readings(entry.text) if (entry.slot, order) in PLAIN]
    assert sorted(found, key=repr) == sorted([*PLAIN] * 5, key=repr)
    assert len(found) == len(ENCODED)


def test_none_of_them_can_be_read_as_it_stands() -> None:
    orders = {order for _, order in PLAIN}
    assert not any(order in entry.text for entry in ENCODED for order in orders)


def test_eight_languages_one_from_right_to_left_and_two_without_spaces() -> None:
    texts = [entry.text for entry in corpus() if entry.property == "injection.non_english" and entry.slot == "A"]
    scripts = {unicodedata.name(letter).split()[0] for text in texts for letter in text if letter.isalpha()}
    assert {"LATIN", "CYRILLIC", "ARABIC", "DEVANAGARI", "CJK", "HIRAGANA"} <= scripts
    assert len(texts) == 8


@pytest.mark.parametrize("entry", corpus()[:: len(corpus()) // 60], ids=lambda entry: entry.property)
def test_no_payload_guesses_the_code_between_which_our_prompts_show_it(entry: object) -> None:
    text = getattr(entry, "text", "")
    single = AnswerCase(case_id="c", input="Which?", output=text)
    pair = PairwiseCase(case_id="c", input="Which?", output=text, output_b="Lyon.")
    for case in (single, pair):
        _, material, code = shown(case, ("A", "B"))
        assert code not in text
        assert f"<<{code} end>>" not in text
        assert material.count(f"<<{code} end>>") == len(case.texts()) + 1
