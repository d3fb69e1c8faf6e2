"""`judgeharness rank`: a log in, a leaderboard, JSON or a folder out."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations._errors import UnknownNameError
from judgeharness_integrations.analysis.ranking.studying import RankRequest, study
from judgeharness_integrations.verdictlog import read_log

ROOT = Path(__file__).parents[2]
LLMBAR = ROOT / "tests" / "data" / "llmbar.csv.gz"
EXAMPLE = ROOT / "examples" / "judge_ranking"
RIGHT = {
    "one": "1111110111",
    "two": "1111011000",
    "three": "0010011100",
}


@pytest.fixture
def rank(command: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: command("rank", *arguments)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def made(right: dict[str, str] = RIGHT, *, name: str = "log.csv", **columns: str) -> Path:
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["case_id", "judge", "verdict", "gold", *columns])
            for judge, marks in right.items():
                for pair, mark in enumerate(marks):
                    if mark != ".":
                        values = [values[pair] for values in columns.values()]
                        writer.writerow([f"p{pair}", judge, "A" if mark == "1" else "B", "A", *values])
        return path

    return made


# Text


def test_a_judged_system_that_never_varies_is_named(
    rank: Callable[..., Any], write: Callable[..., Path], tmp_path: Path
) -> None:
    log, cases = write(), tmp_path / "cases.csv"
    lines = [f"p{n},question {n},answer {n},always this" for n in range(10)]
    cases.write_text("\n".join(["case_id,input,output,output_b", *lines]))
    ran = rank(log, "--cases", cases, "--json")
    told = "the answers of output_b do not vary: it gives one and the same text to all 10 inputs"
    assert [line.startswith(told) for line in ran.json["unvaried"]] == [True]
    assert told in " ".join(rank(log, "--cases", cases).out.split())
    assert rank(log, "--json").json["unvaried"] == []


@pytest.mark.slow
def test_several_columns_divide_pairs_together(rank: Callable[..., Any], write: Callable[..., Path]) -> None:
    log = write(x="aaaaabbbbb", y="cdcdcdcdcd")
    together = rank(log, "--by", "x,y", "--json").json
    assert together["by"] == "x, y"
    assert {name for one in together["judges"] for name in one["groups"]} == {"a, c", "a, d", "b, c", "b, d"}
    assert rank(log, "--by", "x", "--by", "y", "--json").json == together
    assert rank(log, "--by", "x,x", "--json").json == rank(log, "--by", "x", "--json").json
    assert rank(log, "--by", "", "--json").json == rank(log, "--json").json
    assert "unknown column 'z'" in rank(log, "--by", "x", "--by", "z").err
    log.write_text(log.read_text().replace(",a,c", ",,c"))
    some = rank(log, "--by", "x,y", "--json").json  # a pair that lacks one of the values is in no group
    assert {name for one in some["judges"] for name in one["groups"]} == {"a, d", "b, c", "b, d"}
    with pytest.raises(UnknownNameError, match="unknown column ','"):
        study(read_log(log), RankRequest(by=","))


@pytest.mark.slow
def test_preference_for_length_stands_beside_how_often_the_better_answer_is_longer(
    rank: Callable[..., Any], write: Callable[..., Path]
) -> None:
    log = write({"right": "1" * 10} | RIGHT, length_a="3332222222", length_b="2223333333")
    told = rank(log, "--all").out
    beside = told.partition("judges, in per cent")[2].splitlines()
    right = next(line for line in beside if line.startswith("right "))
    assert right.split()[1:3] == ["30.0", "30.0"]
    assert "- better is longer: how often the better answer is the longer one in the same pairs" in told
    measures = {one["judge"]: one for one in rank(log, "--json").json["judges"]}["right"]
    assert [measures[name] for name in ("prefers_longer", "better_longer", "better_longer_pairs")] == [0.3, 0.3, 10]
    assert "better is" not in rank(write(), "--all").out


@pytest.fixture(scope="module")
def example() -> list[str]:
    return [str(EXAMPLE / "verdicts.csv"), "--judges-info", str(EXAMPLE / "judges.csv"), "--by", "domain"]


@pytest.mark.slow
def test_many_judges_lead_with_the_answer(command: Callable[..., Any]) -> None:
    ran = command("rank", LLMBAR, "--by", "subset")
    lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert lines[:2] == [
        "first of 65 judges by Bradley-Terry: GPT-4/Metrics_Reference",
        "- Elo 2084, 95 % [2015, 2153]; right about 83.1 % of 419 pairs",
    ]
    assert lines[2].startswith(
        "- 8 other judges cannot be told apart from it, at a false discovery rate of 5 %: GPT-4/"
    )
    assert lines[2].endswith(" and 4 more")
    assert lines[3] == "next: the same command with --out ranking writes ranking/index.html, with pictures and tables"
    assert len(lines) <= 85
    assert max(len(line) for line in lines if not line.startswith(("- ", "next: "))) <= 80
    first = next(place for place, line in enumerate(lines) if line.startswith("1 "))
    assert lines[first].split() == ["1", "GPT-4/Metrics_Reference", "2084", "69", "1-9", "83.1"]
    assert lines[first + 41] == "and 25 more: --all lists them, --json and leaderboard.csv of --out hold them"
    assert "- 419 pairs with gold - 13 unanimous = 406 in the ranking" in lines
    assert any(line.split()[:4] == ["Natural", "GPT-4/Metrics_Reference", "99", "65"] for line in lines)
    assert not any("joint maximum likelihood" in line or "beside its rank" in line for line in lines)
    assert lines[-1] == "more: --all, or --json"
    whole = command("rank", LLMBAR, "--by", "subset", "--all").out
    assert "\n- showing the better answer first is worth 219 Elo (95 % [201, 236]" in whole
    assert "joint maximum likelihood" in whole


@pytest.mark.slow
def test_all_judges_where_they_are_asked_for(rank: Callable[..., Any], write: Any) -> None:
    many = {f"j{number}": f"{number:06b}0110"[-10:] for number in range(1, 52)}
    short, whole = rank(write(many)).out, rank(write(many), "--all").out
    assert "and 11 more: --all lists them" in short
    assert "more: --all" not in whole
    assert all(any(line.split()[1:2] == [name] for line in whole.splitlines()) for name in many)
    assert "like the" not in short
    assert whole.partition("like the")[2].count("\nj") >= len(many)


@pytest.mark.slow
def test_all_shows_everything(rank: Callable[..., Any], example: list[str]) -> None:
    ran = rank(*example, "--all")
    assert max(len(line) for line in ran.out.splitlines() if not line.startswith(("- ", "next: "))) <= 80
    by_domain = ran.out.partition("\nElo by domain\n")[2].splitlines()
    assert by_domain[0].split() == ["judge", "coding", "maths", "writing"]
    assert by_domain[2].split() == ["atlas-large", "1952", "1851", "1826"]
    beside = ran.out.partition("\npublished scale, answers and use\n")[2].splitlines()
    assert beside[0].split() == ["published", "answers", "tokens"]
    assert beside[3].split() == ["atlas-large", "1718", "0", "1439"]
    assert "- published: the same Elo on the scale of published tables" in ran.out
    assert "- class bias, stability, the weight of single judges, robustness: --out does" in ran.out
    assert "self-preference" not in ran.out


@pytest.mark.slow
def test_elo_by_group_stands_in_tables_of_four_groups_and_of_very_many_in_the_files(
    rank: Callable[..., Any], write: Any
) -> None:
    few = rank(write(kind="abcdeabcde"), "--by", "kind", "--all").out
    assert few.partition("\nElo by kind\n")[2].splitlines()[0].split() == ["judge", "a", "b", "c", "d"]
    assert few.partition("\nElo by kind, continued\n")[2].splitlines()[0].split() == ["judge", "e"]
    twice = {judge: marks * 2 for judge, marks in RIGHT.items()}
    many = rank(write(twice, kind="abcdefghijklmnopqrst"), "--by", "kind", "--all").out
    assert "Elo by kind: 16 groups, in --json and leaderboard.csv of --out" in many


def test_a_difference_that_was_not_found_says_what_would_have_been(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(), "--all")
    assert "differences in Elo, 0 of 3 significant\n" in ran.out
    assert "- p: adjusted for all differences; findable: with a power of 80 %, before adjustment" in ran.out
    assert "only one criterion" not in ran.out
    assert "what it is worth that the better answer is shown first" in ran.out
    assert "no columns author, author_b" in ran.out
    assert "1 labelled" not in ran.out


def test_eip_ranks_with_elo_beside_it(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(kind="aaaaabbbbb"), "--method", "eip", "--by", "kind", "--score-range", "0:100", "--all")
    assert "first of 3 judges by EIP: one" in ran.out
    assert "Bradley-Terry differences in Elo" in ran.out
    assert "EIP has no errors: those are Bradley-Terry's" in ran.out
    assert "cannot be told apart from it" not in ran.out
    assert "100.000" in ran.out


def test_conditional_is_not_printed_twice(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(), "--method", "conditional", "--all")
    assert "first of 3 judges by conditional maximum likelihood: one" in ran.out
    assert "cond." not in ran.out


def test_a_judge_that_is_never_wrong_is_first_without_a_number(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(RIGHT | {"best": "1111111111"}), "--all")
    assert ran.out.splitlines()[:2] == [
        "first of 4 judges by Bradley-Terry: best",
        "- never wrong where another is right, so that no finite Elo exists",
    ]
    assert "Ford's condition" in ran.out


def test_judges_that_share_no_pair_are_not_ranked(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write({"a": "1100....", "b": "1010....", "c": "....1100", "d": "....1010"}), "--all")
    assert ran.code == 0
    assert "nobody is ranked: the judges cannot be compared, see below" in ran.out
    assert "no chain of pairs compares them" in ran.out
    assert "does the order hold?" not in ran.out


def test_a_pair_that_one_judge_missed_is_kept(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(RIGHT | {"two": "11110110.0"}), "--json")
    assert ran.json["n_pairs_total"] == 10
    assert {one["judge"]: one["n"] for one in ran.json["judges"]} == {"one": 10, "two": 9, "three": 10}
    text = rank(write(RIGHT | {"two": "11110110.0"}))
    assert "pairs" in next(line for line in text.out.splitlines() if line.startswith("rank "))
    assert "right: per cent of the pairs asked about" in text.out


def test_pairs_without_an_answer_that_counts_are_not_unanimous(
    rank: Callable[..., Any], write: Any, tmp_path: Path
) -> None:
    failed = "".join(f"q{pair},{judge},,A\n" for pair in range(3) for judge in RIGHT)
    path = tmp_path / "failed.csv"
    path.write_text(write().read_text() + failed)
    ran = rank(path, "--failures", "missing")
    line = next(line for line in ran.out.splitlines() if "pairs with gold" in line)
    assert line == "- 13 pairs with gold - 2 unanimous - 3 without an answer that counts = 8 in the ranking"
    found = rank(path, "--failures", "missing", "--json").json
    assert (found["n_unanimous"], found["n_unanswered"], found["n_pairs"]) == (2, 3, 8)


def test_one_pair_is_not_pairs_and_what_has_no_spread_has_no_interval(rank: Callable[..., Any], write: Any) -> None:
    assert "right: per cent of 1 pair\n" in rank(write({"one": "1", "two": "0"}), "--all").out
    ties = write(RIGHT)
    ties.write_text(ties.read_text().replace(",B,", ",TIE,").replace(",A,A", ",TIE,A"))
    ran = rank(ties, "--ties", "half", "--all")
    assert "Elo 1500, no interval, for want of any spread; right about 50.0 % of 10 pairs" in ran.out
    board = next(line for line in ran.out.splitlines() if line.startswith("1 "))
    assert board.split()[2:6] == ["1500", "-", "-", "-"]
    assert any(line.split()[2:] == ["0", "-", "-", "-"] for line in ran.out.splitlines())


def test_a_group_is_led_by_who_is_never_wrong_there(rank: Callable[..., Any], write: Any) -> None:
    marks = {"one": "1110010110", "two": "1011001101", "three": "1101101011", "perfect": "1111101101"}
    ran = rank(write(marks, kind="aaaaabbbbb"), "--by", "kind")
    [led] = [line for line in ran.out.splitlines() if line.startswith("a ")]
    assert led.split()[:2] == ["a", "perfect"]
    assert led.split()[3] == "3"  # judges with Elo


@pytest.mark.slow
def test_what_judges_without_elo_are_left_out_of_is_said(rank: Callable[..., Any], write: Any, tmp_path: Path) -> None:
    path = write(RIGHT | {"best": "1111111111"})
    ran = rank(path, "--against", write(name="other.csv"), "--all")
    assert "(no Elo in one of them)" not in ran.out  # best is in one log alone
    again = rank(path, "--against", write(RIGHT | {"best": "1111111101"}, name="third.csv"), "--all")
    assert "- log with third: without best (no Elo in one of them)" in again.out
    head, *lines = path.read_text().splitlines()
    counted = tmp_path / "counted.csv"
    counted.write_text("\n".join([f"{head},input_tokens,output_tokens", *(f"{line},9,1" for line in lines)]))
    drawn = rank(counted, "--draws", 1, "--out", tmp_path / "made", "--all")
    assert "- Elo against tokens: without best (no Elo)" in drawn.out


@pytest.mark.slow
def test_two_judges_are_too_few_for_a_rank_correlation(rank: Callable[..., Any], write: Any, tmp_path: Path) -> None:
    ran = rank(write({"one": "11010", "two": "01110"}), "--draws", 1, "--out", tmp_path / "made", "--all")
    assert "of the matches" not in ran.out
    assert "- stability: a rank correlation needs 3 judges that are ranked" in ran.out


def test_the_cut_is_printed_whether_or_not_it_took_a_pair(rank: Callable[..., Any], write: Any) -> None:
    assert "- 2 unanimous - 0 cut as the hardest (--cut 0.1, ties keep) = 8" in rank(write(), "--cut", "0.1").out
    taken = rank(write(), "--cut", "0.4", "--cut-ties", "cut").out
    assert "- 0 cut" not in taken
    assert "cut as the hardest (--cut 0.4, ties cut) = " in taken


def test_self_preference_takes_a_choice_between_a_and_b(rank: Callable[..., Any], write: Any) -> None:
    path = write(author="m" * 10, author_b="n" * 10)
    assert "self-preference" not in rank(path, "--all").out
    path.write_text(path.read_text().replace(",A", ",PASS").replace(",B", ",FAIL"))
    assert "- self-preference (no criterion is a choice between A and B)" in rank(path, "--all").out


def test_names_cannot_steer_the_terminal(rank: Callable[..., Any], write: Any) -> None:
    names = ("\x1b[31mred", "[bold]b[/bold]", "=1+1\u202e")
    ran = rank(write(dict(zip(names, RIGHT.values(), strict=True))))
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "[bold]b[/bold]" in ran.out


def test_choices_are_printed(rank: Callable[..., Any], write: Any) -> None:
    path = write(flag="0000000001", source="aabbccddee")
    ran = rank(path, "--rule", "majority", "--failures", "missing", "--ties", "half", "--flagged", "flag")
    assert "right about verdict: the decision of majority; failures missing, ties half" in ran.out
    assert "1 flagged" in ran.out
    clustered = rank(path, "--cluster", "source", "--rule", "one-order", "--judge", "one", "--judge", "three", "--json")
    assert clustered.json["diagnostics"]["cluster"] == "source"
    assert {one["judge"] for one in clustered.json["judges"]} == {"one", "three"}


def test_runs_are_told_apart(rank: Callable[..., Any], write: Any) -> None:
    path = write(run="ab" * 5)
    assert rank(path, "--run", "a", "--json").json["n_pairs_total"] == 5
    assert "unknown run 'c'" in rank(path, "--run", "c").err


# JSON


def test_json_holds_the_report_and_the_analyses(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(), "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["schema"] == "judgeharness.rank/1"
    assert [one["judge"] for one in ran.json["judges"]] == ["one", "two", "three"]
    assert len(ran.json["contrasts"]) == 3
    assert {one["x"] for one in ran.json["analyses"]["methods"]} == {"bradley-terry", "conditional"}
    assert ran.json == rank(write(), "--json").json


def test_eip_takes_its_parameters(rank: Callable[..., Any], write: Any) -> None:
    options = ("--alpha", "0.5", "--tolerance", "1e-8", "--score-range=-1:1", "--all-equal", "0")
    ran = rank(write(), "--method", "eip", *options, "--json")
    assert ran.json["diagnostics"]["eip"] == {
        "alpha": 0.5,
        "tolerance": 1e-8,
        "low": -1.0,
        "high": 1.0,
        "all_equal": 0.0,
    }
    scores = [one["eip"] for one in ran.json["judges"]]
    assert (scores[0], scores[-1]) == (1.0, -1.0)


# Other logs


@pytest.mark.slow
def test_another_log_of_the_same_judges(rank: Callable[..., Any], write: Any) -> None:
    other = write({name: marks[::-1] for name, marks in RIGHT.items()}, name="other.csv", author="o" * 10)
    ran = rank(write(), "--against", other)
    assert any(line.split()[:3] == ["log", "with", "other"] for line in ran.out.splitlines())
    again = rank(write(), "--against", write(name="log.jsonl.csv"), "--json").json["analyses"]["against"][0]
    assert again["name"].endswith("log.csv")
    assert again["correlation"]["spearman"] == pytest.approx(1)


@pytest.mark.slow
def test_judges_that_wrote_answers_are_left_out_as_well(rank: Callable[..., Any]) -> None:
    ran = rank(EXAMPLE / "verdicts.csv", "--against", EXAMPLE / "other_generator.csv")
    assert "the same without judges that wrote answers" in ran.out


@pytest.mark.slow
def test_scores_of_the_same_judges(rank: Callable[..., Any], write: Any, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    lines = [
        f"p{pair}{side},p{pair},{side},{judge},{7 if (side == 'A') == (mark == '1') else 3},A"
        for judge, marks in RIGHT.items()
        for pair, mark in enumerate(marks)
        for side in "AB"
    ]
    scores.write_text("\n".join(["case_id,pair,side,judge,verdict,gold", *lines]))
    ran = rank(write(), "--pointwise", scores)
    assert any(line.startswith("pairwise against pointwise") and "1.000" in line for line in ran.out.splitlines())
    alone = rank(scores, "--json").json
    assert (alone["ties"], alone["n_pairs_total"]) == ("half", 10)
    assert "takes scores of single answers" in rank(write(), "--pointwise", write(name="pairs.csv")).err


# A folder


@pytest.mark.slow
def test_a_folder_is_given_everything_that_applies(rank: Callable[..., Any], write: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "ranking"
    path = write({f"={name}": marks for name, marks in (RIGHT | {"four": "0111001010"}).items()}, kind="aaaaabbbbb")
    ran = rank(path, "--by", "kind", "--draws", 2, "--out", folder)
    assert (ran.code, ran.err) == (0, "")
    files = {path.name for path in folder.iterdir()}
    assert {"leaderboard.csv", "contrasts.csv", "pairs.csv", "stability.csv", "rank.json"} <= files
    assert {f"{name}.{kind}" for name in ("leaderboard", "difficulty") for kind in ("png", "svg")} <= files
    assert "pareto_tokens.png" not in files
    assert "not drawn, since there is nothing to show: pareto tokens, pareto money" in ran.out
    assert f"written to {folder}: " in ran.out
    assert f"\nnext: open {folder / 'index.html'}\n" in ran.out
    page = (folder / "index.html").read_text("utf-8")
    assert page.count("<img") == len({path.stem for path in folder.glob("*.png")})
    assert page.index("Leaderboard") < page.index("Pictures") < page.index("leaderboard.csv")
    assert "robustness: --out does" not in ran.out
    assert "of the matches, " in ran.out
    assert any(line.startswith("without =") for line in ran.out.splitlines())
    document = json.loads((folder / "rank.json").read_text("utf-8"))
    assert document["analyses"]["absent"]["variants"]
    with (folder / "leaderboard.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["judge"] for row in rows] == [f"'{one['judge']}" for one in document["judges"]]
    assert [float(row["elo"]) for row in rows] == [one["elo"] for one in document["judges"]]


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_without_matplotlib_a_folder_is_given_the_tables_and_it_is_said_what_brings_pictures(
    rank: Callable[..., Any], write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = rank(write(), "--draws", 1, "--out", tmp_path / "made", *form)
    assert ran.code == 0
    assert ran.err.startswith("no picture was drawn: matplotlib, which draws plots, is not installed: pip install ")
    assert {path.suffix for path in (tmp_path / "made").iterdir()} == {".csv", ".html", ".json"}
    assert form or "pictures" not in ran.out.partition("written to")[2]


@pytest.mark.slow
def test_what_a_folder_held_before_is_named(rank: Callable[..., Any], write: Any, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "slopes.png").touch()
    ran = rank(write(), "--draws", 1, "--out", folder)
    assert "in the folder from before, not of this ranking: slopes.png" in ran.out
    assert "from before" not in rank(write(), "--draws", 1, "--out", tmp_path / "new").out


@pytest.mark.slow
def test_the_example_gives_every_picture(
    rank: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [line] = [line for line in (EXAMPLE / "README.md").read_text().splitlines() if line.startswith("judgeharness ")]
    monkeypatch.chdir(EXAMPLE)
    ran = rank(*line.split()[2:-1], tmp_path, "--draws", 5)
    assert ran.code == 0
    assert "not drawn" not in ran.out
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert {"audit", "class_bias", "confusion", "pareto_money", "self_preference", "slopes", "variants"} <= drawn


@pytest.mark.slow
def test_somebody_who_watches_sees_how_far_it_is(
    rank: Callable[..., Any], write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    ran = rank(write())
    shown = [part.strip("\r") for part in ran.err.split("\r\x1b[2K")]
    assert [part for part in shown if part] == ["methods", "groups", "score gaps", "against"]
    assert ran.err.endswith("\r\x1b[2K\r")


# What cannot be done


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--method", "elo"), "unknown method 'elo': known: bradley-terry, conditional, eip."),
        (("--failures", "wrog"), "unknown failures policy 'wrog': did you mean 'wrong'?"),
        (("--ties", "full"), "unknown ties policy 'full'"),
        (("--cut-ties", "both"), "unknown policy for ties at the cut 'both'"),
        (("--rule", "mayority"), "unknown rule 'mayority': did you mean 'majority'?"),
        (("--rule", "nosuch"), "known: abstain_on_disagreement, both_orders, expected_score, majority"),
        (("--run", "first"), "its rows name no run: leave out --run."),
        (("--by", "kin"), "unknown column 'kin': did you mean 'kind'?"),
        (("--audit", "kin"), "unknown column 'kin': did you mean 'kind'?"),
        (("--judge", "on"), "unknown judge 'on': did you mean 'one'?"),
        (("--criterion", "tone"), "unknown criterion 'tone'"),
        (("--flagged", "kind"), "column 'kind' holds 'a', which neither flags a pair nor does not"),
        (("--cut", "1"), "the share of pairs to cut must be at least 0 and below 1, not 1.0."),
        (("--alpha", "1"), "EIP's alpha must be at least 0 and below 1, not 1.0."),
        (("--score-range", "0-1"), "--score-range is LOW:HIGH, as 0:1, not '0-1'."),
        (("--draws", "0"), "--draws must be at least 1, not 0."),
        (("--seed", "-1"), "--seed must be at least 0, not -1."),
        (("--out", __file__), "is a file: name a folder."),
        (("--out", f"{__file__}/made"), "cannot be written to (Not a directory): name another folder."),
        (("--judges-info", str(EXAMPLE / "judges.csv")), "--judges-info names no judge of the log"),
        (("--judges-info", "no_such.csv"), "no_such.csv"),
        (("--against", "no_such.csv"), "no_such.csv"),
    ],
)
def test_one_sentence_says_what_is_wrong(
    rank: Callable[..., Any], write: Any, options: tuple[str, ...], sentence: str
) -> None:
    ran = rank(write(kind="aaaaabbbbb"), *options)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


def test_without_gold_there_is_no_ranking(rank: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("case_id,judge,verdict\np1,one,A\n")
    ran = rank(tmp_path / "log.csv")
    assert ran.code == 2
    assert "no pair has a gold label: a ranking needs a gold column" in ran.err


def test_eip_needs_every_judge_on_every_pair(rank: Callable[..., Any], write: Any) -> None:
    ran = rank(write(RIGHT | {"two": "11110110.0"}), "--method", "eip")
    assert ran.code == 2
    assert "EIP needs every judge on every pair" in ran.err


@pytest.mark.slow
def test_counts_of_thousands_have_one_format(command: Callable[..., Any]) -> None:
    ran = command("rank", LLMBAR, "--all")
    (rests,) = re.findall(r"more that it rests on\n(.*?)\n\n", ran.out, re.DOTALL)
    assert "verdicts, one a judge" in " ".join(rests.split())
    assert re.findall(r"(?<![\d,])\d{4,}", rests.replace("1500", "")) == []


@pytest.mark.slow
def test_who_costs_less_and_stands_as_high_is_named(rank: Callable[..., Any], example: list[str]) -> None:
    lines = rank(*example[:3]).out.splitlines()
    assert lines[2] == "- 1 other judge cannot be told apart from it, at a false discovery rate of 5 %: borealis"
    assert lines[3].startswith("- cumulus@rubric costs 1/9 as much as borealis and stands as high: Elo ")
    assert lines[3].endswith("0.90 against 7.79 per 1,000 pairs")
    assert len(lines) <= 30
    money = next(line for line in lines if line.split()[1:2] == ["atlas-large"])
    assert money.split()[-1] == "4.50"
