"""YAML that is made to fill the memory is refused at once, by everything that reads YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.cpu import cpu_seconds

from judgeharness_integrations._documents import YamlError, load_yaml
from judgeharness_integrations._errors import ConfigError
from judgeharness_integrations.analysis.ranking.panels import fact_records
from judgeharness_integrations.benchmark.documents import read_markdown
from judgeharness_integrations.benchmark.taxonomy import read_weights
from judgeharness_integrations.cli.benchmark.asking import read_model_file
from judgeharness_integrations.judging.config import load_config
from judgeharness_langchain.judges import Taxonomy

LAUGHS = "a0: &a0 [lol, lol]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
MERGED = "a0: &a0 {k0: v}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]\n  k{n}: v\n" for n in range(1, 30)
)
BOMBS = {
    "billion laughs": (LAUGHS, "aliases stand for more than"),
    "merged": (MERGED, "aliases stand for more than"),
    "quadratic": (f"a: &a {'x' * 5_000}\nb: [{', '.join(['*a'] * 5_000)}]\n", "aliases stand for more than"),
    "deep": ("a: " + "[" * 500_000, "nested deeper than 50 levels, line 1"),
    "deep blocks": ("\n".join(f"{' ' * n}a:" for n in range(1_000)), "nested deeper than 50 levels"),
    "long": ("a: b\n" * 2_000_000, "10,000,000 characters"),
    "of itself": ("a: &a [1, *a]\n", "an alias stands inside of what it stands for, line 1"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_with_a_sentence(name: str) -> None:
    text, sentence = BOMBS[name]
    with pytest.raises(YamlError) as caught:
        load_yaml(text)
    assert sentence in str(caught.value)


@pytest.mark.slow
def test_a_refusal_costs_less_than_reading_a_document_that_long() -> None:
    honest = "\n".join(f"k{n}: [a, b, c]" for n in range(len(LAUGHS) // 12))

    def refuse() -> None:
        with pytest.raises(YamlError):
            load_yaml(LAUGHS)

    assert cpu_seconds(refuse) < 20 * cpu_seconds(lambda: load_yaml(honest))


READERS: dict[str, Any] = {
    "config.yaml": load_config,
    "facts.yaml": lambda path: list(fact_records(path)),
    "weights.yaml": lambda path: read_weights(path, known=["a"]),
    "models.yaml": read_model_file,
    "taxonomy.yaml": Taxonomy.load,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("bomb", ["billion laughs", "long"])
def test_every_reader_refuses(tmp_path: Path, name: str, bomb: str) -> None:
    path = tmp_path / name
    text, sentence = BOMBS[bomb]
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        READERS[name](path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_front_matter_that_is_a_bomb_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"---\ntitle: Wrong\n{LAUGHS}---\n# Right\n\nText.\n")
    assert read_markdown(path).title == "Right"


def test_aliases_and_merged_keys_that_save_some_words_are_read() -> None:
    text = "base: &base {model: m, seed: 1}\njudges:\n- {<<: *base, name: a, seed: 2}\n- *base\n"
    assert load_yaml(text) == {
        "base": {"model": "m", "seed": 1},
        "judges": [{"model": "m", "seed": 2, "name": "a"}, {"model": "m", "seed": 1}],
    }


def test_an_empty_document_is_none() -> None:
    assert load_yaml("") is None
