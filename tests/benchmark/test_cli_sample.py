"""`judgeharness benchmark sample`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.benchmark_results import make_benchmark, verification

from judgeharness_integrations.benchmark.folder import BenchmarkFolder, write_whole
from judgeharness_integrations.benchmark.pair import Record
from judgeharness_integrations.benchmark.results.judgments import JudgeDocument
from judgeharness_integrations.benchmark.taxonomy import Sample
from judgeharness_integrations.cli import main
from judgeharness_integrations.reporting.schemas import schema


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    return make_benchmark(
        tmp_path / "bench", n=24, failed={3: verification("form"), 9: verification("grounding", unread=True)}
    )


def sample(folder: BenchmarkFolder, *more: object) -> int:
    return main(["benchmark", "sample", str(folder.path), *map(str, more)])


def test_a_sample_is_written_and_its_strata_shown(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert sample(folder, "--n", 8, "--seed", 2) == 0
    out = capsys.readouterr().out
    drawn = Sample.from_dict(json.loads((folder.path / "sample.json").read_text("utf-8")), where="sample.json")
    assert (drawn.n, drawn.by, drawn.seed, len(drawn.pairs)) == (8, ("domain", "failure_type"), 2, 8)
    accepted = {pair.pair_id for pair in folder.pairs() if pair.state == "accepted"}
    assert set(drawn.pairs) <= accepted
    told = [line.split() for line in out.splitlines()]
    assert ["together", "22", "8"] in told
    assert all(
        [*map(str, stratum.values.values()), str(stratum.population), str(stratum.sampled)] in told
        for stratum in drawn.strata
    )
    assert f"--sample {folder.path / 'sample.json'} --judges MODEL,..." in out


def test_the_same_seed_gives_the_same_bytes(folder: BenchmarkFolder, tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        assert sample(folder, "--n", 6, "--by", "n_rounds", "--out", tmp_path / name) == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_as_json_and_uniform(folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert sample(folder, "--n", 6, "--by", "", "--states", "accepted,unverified", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("benchmark_sample-1")).validate(found)
    assert found["by"] == []
    assert found["strata"] == [{"values": {}, "population": 23, "sampled": 6}]
    assert sample(folder, "--n", 6, "--by", "") == 0
    assert ["22", "6"] in [line.split() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--n", 23), "a sample of 23 cannot be drawn from 22 pairs: ask for 1 to 22"),
        (("--n", 2, "--by", "domian"), "unknown column 'domian': did you mean 'domain'"),
        (("--n", 2, "--states", "rejcted"), "unknown state 'rejcted'"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    folder: BenchmarkFolder, capsys: pytest.CaptureFixture[str], options: tuple[object, ...], words: str
) -> None:
    assert sample(folder, *options) == 2
    assert words in " ".join(capsys.readouterr().err.split())
    assert not (folder.path / "sample.json").exists()


@pytest.mark.parametrize(("kind", "name"), [(Sample, "benchmark_sample-1"), (JudgeDocument, "benchmark_judge-1")])
def test_schemas_are_those_of_the_records(kind: type[Record], name: str) -> None:
    """Where a record changes, its schema does: write `made` to the two files."""
    made = kind.model_json_schema(by_alias=True, mode="serialization")
    kept = schema(name)
    assert {key: kept[key] for key in kept if key not in ("$schema", "$id", "title")} == {
        key: made[key] for key in made if key != "title"
    }


def test_a_file_that_cannot_be_written_in_full_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "sample.json"
    write_whole(file, ["whole\n"])

    def lines() -> Iterator[str]:
        yield "half"
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write_whole(file, lines())
    assert file.read_text("utf-8") == "whole\n"
    assert [path.name for path in tmp_path.iterdir()] == ["sample.json"]
