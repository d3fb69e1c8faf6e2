"""Files of judge facts: what they may say, and what each mistake is told."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.ranking.panels import (
    JudgeFacts,
    facts_of,
    family_of,
    model_and_variant,
    model_names,
    read_judge_facts,
)
from judgeharness_integrations.analysis.usage import Price, Spent

GPT = JudgeFacts(judge="gpt-4", provider="openai", family="gpt", open=False, input_price=2.5, output_price=10.0)
LLAMA = JudgeFacts(judge="llama", provider="meta", open=True, input_price=0.2, output_price=0.2)
BARE = JudgeFacts(judge="nobody")
FACTS = {fact.judge: fact for fact in (GPT, LLAMA, BARE)}

CSV = (
    "judge,provider,family,open,price,input_price,output_price,homepage\r\n"
    "gpt-4,openai,gpt,proprietary,,2.5,10,https://example.org\r\n"
    " llama ,meta,,Open Weights,.2,,,\r\n"
    "nobody,,,,,,,\r\n"
)
LIST = [
    {"judge": "gpt-4", "provider": "openai", "family": "gpt", "open": False, "input_price": 2.5, "output_price": "10"},
    {"judge": "llama", "provider": "meta", "open": True, "price": 0.2},
    {"judge": "nobody", "provider": None},
]

YAML = """
gpt-4: &gpt {provider: openai, family: gpt, open: no, input_price: 2.5, output_price: 1.0e+1}
llama: {<<: *gpt, provider: meta, family: null, open: yes, input_price: .2, output_price: .2}
nobody:
"""
OPEN = "'open' must be true, false, open-weights or proprietary"
PRICE = "'price' must be a number of at least 0 per million tokens"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("facts.csv", CSV),
        ("facts.CSV", CSV.replace(",", ";")),
        ("facts.jsonl", "\n".join(map(json.dumps, LIST))),
        ("facts.json", "\ufeff" + json.dumps(LIST)),
        ("facts.json", json.dumps({entry["judge"]: entry for entry in LIST})),
        ("facts.yaml", json.dumps(LIST)),
        (
            "facts.yml",
            YAML,
        ),
    ],
    ids=["csv", "semicolons", "jsonl", "json", "json by name", "yaml", "yaml by name"],
)
def test_every_format_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    assert read_judge_facts(written(tmp_path, name, text)) == FACTS


def test_a_zipped_table_is_read(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    assert read_judge_facts(str(path)) == FACTS


def test_a_price_of_its_own_goes_before_the_common_one(tmp_path: Path) -> None:
    path = written(tmp_path, "facts.csv", "judge,price,output_price\ncheap,1,4\n")
    assert read_judge_facts(path)["cheap"] == JudgeFacts(judge="cheap", input_price=1.0, output_price=4.0)
    path = written(tmp_path, "caching.csv", "judge,price,cached_input_price,cache_write_price\ncheap,1,0.1,1.25\n")
    assert read_judge_facts(path)["cheap"].price == Price(input=1, output=1, cached_input=0.1, cache_write=1.25)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        *((word, True) for word in ("true", "YES", "1", 1, True, "open_weights", "open-source")),
        *((word, False) for word in ("False", "no", "0", 0, False, "closed", "Proprietary ")),
        *((word, None) for word in ("", None, "  ")),
    ],
)
def test_words_for_open(tmp_path: Path, said: object, meant: bool | None) -> None:  # noqa: FBT001 - the expectation
    path = written(tmp_path, "facts.json", json.dumps({"j": {"open": said}}))
    assert read_judge_facts(path)["j"].open is meant


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("f.txt", "judge", "f.txt: judge facts are .csv, .jsonl, .json, .yaml or .yml."),
        ("f.csv", "judge,provider\n", "f.csv: holds no judges."),
        ("f.json", "[]", "f.json: holds no judges."),
        ("f.csv", "model,open\ngpt,true\n", "f.csv, line 2: 'judge' is missing: name the judge as the log does."),
        ("f.csv", "judge,open\n ,true\n", "f.csv, line 2: 'judge' is empty: name the judge as the log does."),
        ("f.csv", "judge,open\na,\nb,\na,\n", "f.csv, line 4: judge 'a' stands twice: keep one."),
        ("f.csv", "judge,judge\na,b\n", "f.csv, line 1: column 'judge' stands twice."),
        ("f.csv", "judge,open\na,maybe\n", f"f.csv, line 2: {OPEN}, not 'maybe'."),
        ("f.csv", "judge,price\na,$3\n", f"f.csv, line 2: {PRICE}, not '$3'."),
        ("f.json", '{"a": {"input_price": -1}}', "judge 'a': 'input_price' must be a number of at least 0"),
        ("f.json", '{"a": {"output_price": true}}', "judge 'a': 'output_price' must be a number of at least 0"),
        ("f.json", '{"a": {"price": NaN}}', f"judge 'a': {PRICE}, not nan."),
        ("f.json", '{"a": {"price": [1]}}', "judge 'a': 'price' must be a number"),
        ("f.json", '{"a": {"price": 1%s}}' % ("0" * 400), "judge 'a': 'price' must be a number"),
        ("f.json", '{"a": {"provider": ["x"]}}', "judge 'a': 'provider' must be a text, not ['x']."),
        ("f.json", '[{"judge": true}]', "entry 1: 'judge' must be a text, not True."),
        ("f.json", '[{"judge": "a"}, 3]', "entry 2: what is known of a judge is a mapping (provider"),
        ("f.json", '{"a": "openai"}', "judge 'a': what is known of a judge is a mapping"),
        ("f.json", '"a"', "f.json: judge facts are a list of judges or a mapping of their names."),
        ("f.json", '{"a": {}, "a": {}}', "f.json: 'a' stands twice: keep one."),
        ("f.json", "{", "f.json: is not JSON (Expecting property name"),
        ("f.json", "[" * 200_000, "f.json: is not JSON ("),
        ("f.yaml", "a: {}\na: {}", "f.yaml: 'a' stands twice: keep one."),
        ("f.yaml", "a: [", "f.yaml: is not YAML ("),
        ("f.yaml", "{[1]: {}}", "f.yaml: is not YAML ("),
        ("f.yaml", "a: !!python/object/apply:os.getcwd []", "f.yaml: is not YAML ("),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_place(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_judge_facts(written(tmp_path, name, text))
    assert told in str(error.value)
    assert str(error.value).startswith(str(tmp_path / name))
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_is_no_text(tmp_path: Path) -> None:
    for name in ("none.csv", "none.json"):
        with pytest.raises(ConfigError, match="cannot be read"):
            read_judge_facts(tmp_path / name)
    (tmp_path / "f.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        read_judge_facts(tmp_path / "f.yaml")


def test_a_variant_takes_what_its_model_is_known_by() -> None:
    special = JudgeFacts(judge="gpt-4@long", output_price=20.0)
    facts = FACTS | {"gpt-4@long": special}
    assert facts_of("gpt-4@long", facts) == replace(GPT, judge="gpt-4@long", output_price=20.0)
    assert facts_of("gpt-4@short@2", facts) == replace(GPT, judge="gpt-4@short@2")
    for unknown in (facts, {}, None):
        assert facts_of("mistral@short", unknown) == JudgeFacts(judge="mistral@short")


def test_closed_weights_of_a_variant_go_before_open_ones_of_its_model() -> None:
    facts = {"m": replace(LLAMA, judge="m"), "m@tuned": JudgeFacts(judge="m@tuned", open=False)}
    assert facts_of("m@tuned", facts).open is False


@pytest.mark.parametrize(
    ("name", "family"),
    [("gpt-4", "gpt"), ("gpt-4@cot", "gpt"), ("llama", "meta"), ("mistral@cot@2", "mistral"), ("@odd", "@odd")],
)
def test_a_family_is_named_or_the_provider_or_the_name(name: str, family: str) -> None:
    assert family_of(name, FACTS) == family


def test_names_of_variants() -> None:
    assert model_and_variant("opus@2024@cot") == ("opus@2024", "cot")
    assert model_names("opus@2024@cot") == ("opus@2024@cot", "opus@2024", "opus")
    for whole in ("opus", "@opus", "opus@", ""):
        assert model_and_variant(whole) == (whole, "")
        assert model_names(whole) == (whole,)


def test_a_price_needs_that_of_input_and_that_of_output() -> None:
    assert GPT.price is not None
    assert GPT.price.of(Spent(2_000_000, 100_000)) == pytest.approx(6.0)
    assert replace(GPT, input_price=None).price is None
    assert replace(GPT, output_price=None).price is None
    assert JudgeFacts(judge="free", input_price=0.0, output_price=0.0).price == Price(input=0.0, output=0.0)


def test_facts_as_json() -> None:
    assert json.loads(json.dumps(LLAMA.to_dict())) == {
        "judge": "llama",
        "provider": "meta",
        "family": None,
        "open": True,
        "input_price": 0.2,
        "output_price": 0.2,
        "cached_input_price": None,
        "cache_write_price": None,
        "tiers": {},
    }
    tiers = {"flex": Price(input=1, output=2)}
    assert replace(LLAMA, tiers=tiers).to_dict()["tiers"] == {"flex": {"input": 1, "output": 2}}
    assert facts_of("llama@short", {"llama": replace(LLAMA, tiers=tiers)}).tiers == tiers
