"""`judgeharness agreement alt-test`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from judgeharness_integrations.cli import _output as _reading
from judgeharness_integrations.cli.rank import epsilons_of

DATA = Path(__file__).parents[1] / "data"
PANEL = DATA / "panel.csv.gz"
GOLDEN = json.loads((DATA / "golden" / "panel.json").read_text())["results"]
Command = Callable[..., Any]


@pytest.fixture
def alt_test(command: Command) -> Command:
    def run(log: object, *options: object, humans: str = "annotator_*", candidate: str = "*") -> Any:
        logs = log if isinstance(log, (list, tuple)) else [log]
        return command("agreement", "alt-test", *logs, "--humans", humans, "--candidate", candidate, *options)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def make(name: str, answers: dict[str, Sequence[Any]], *, raters: Sequence[str] | None = None) -> Path:
        path = tmp_path / name
        chosen = {rater: said for rater, said in answers.items() if raters is None or rater in raters}
        path.write_text(
            json.dumps({rater: {f"i{k}": one for k, one in enumerate(said)} for rater, said in chosen.items()})
        )
        return path

    return make


@pytest.mark.slow
@pytest.mark.parametrize("multiplicative", [False, True])
def test_the_command_gives_every_reference_value(alt_test: Command, *, multiplicative: bool) -> None:
    scores = ("accuracy", "jaccard", "macro_jaccard", "hamming")
    options = ["--score", "accuracy, jaccard", *(part for score in scores[2:] for part in ("--score", score))]
    ran = alt_test(
        PANEL,
        *options,
        "--epsilon",
        "0,0.05",
        "--epsilon",
        "0.1:0.3:0.1",
        *["--multiplicative"] * multiplicative,
        "--json",
    )
    assert ran.code == 0
    found = {(one["candidate"], one["score"], one["epsilon"]): one for one in ran.json["candidates"]}
    expected = [one for one in GOLDEN if one["multiplicative"] == multiplicative]
    assert len(found) == len(expected) == 60
    for one in expected:
        mine = found[one["candidate"], one["score"], one["epsilon"]]
        assert mine["omega"] == one["omega"]
        assert mine["rho"] == pytest.approx(one["rho"], abs=1e-9)
        for row, reference in zip(mine["annotators"], one["annotators"], strict=True):
            assert row["p"] == pytest.approx(reference["p"], abs=1e-9)
            assert row["p_adjusted"] == pytest.approx(reference["p_adjusted"], abs=1e-9)
            assert row["rejected"] == reference["rejected"]


def test_a_report_for_people_holds_tables_verdicts_warnings_and_scope(alt_test: Command) -> None:
    ran = alt_test(PANEL, "--score", "accuracy", "--epsilon", "0.2", "--panel", "six students")
    assert ran.code == 0
    for line in (
        "rho: average advantage probability",
        "omega by epsilon",
        "worse than the human by epsilon (additive) or more",
        "\nstrong at epsilon 0.2\n",
        "rho compared on the instances both answered",
        "strong - middling ",
        "strong passes at epsilon 0.2: H0 is rejected for 5 of 5 annotators.",
        "weak does not pass at epsilon 0.2: H0 is rejected for 0 of 5 annotators.",
        "warning: weak: 52 % of the comparisons are ties",
        "who they were: six students",
        "0.2 (experts)",
    ):
        assert line in ran.out
    assert "Traceback" not in ran.out
    order = [ran.out.index(part) for part in ("strong passes", "warning: weak", "6 humans:", "\nrho: average", "scope")]
    assert order == sorted(order)
    assert "the humans among each other" in ran.out


@pytest.mark.slow
def test_several_epsilons_are_columns_and_leave_the_annotators_to_json(alt_test: Command) -> None:
    ran = alt_test(PANEL, "--score", "jaccard", "--epsilon", "0.3,0:0.2:0.1")
    assert "every annotator's test: with one candidate and one epsilon, or in --json" in ran.out
    assert "strong passes at epsilon 0, 0.1, 0.2, 0.3." in ran.out
    assert "weak passes at no epsilon tried." in ran.out
    multiplicative = alt_test(PANEL, "--multiplicative", candidate="weak")
    assert "by epsilon (multiplicative) or more" in multiplicative.out
    assert "Tango's test is of additive epsilons alone" in multiplicative.out
    assert multiplicative.out.count("Tango") == 1
    assert "rho compared" not in multiplicative.out


def test_a_glob_of_candidates_takes_no_human_but_a_name_given_twice_is_refused(alt_test: Command) -> None:
    ran = alt_test(PANEL, "--json")
    assert {one["candidate"] for one in ran.json["candidates"]} == {"strong", "middling", "weak"}
    skipped = alt_test(PANEL, "--json", candidate="strong,annotator_1").json
    assert {one["candidate"] for one in skipped["candidates"]} == {"strong", "annotator_1"}
    assert "annotator_1" not in skipped["scope"]["humans"]
    refused = alt_test(PANEL, humans="annotator_*,annotator_1", candidate="strong,annotator_1")
    assert (refused.code, refused.out) == (2, "")
    assert "'annotator_1' is named twice" in refused.err


def test_humans_and_models_may_stand_in_two_files(alt_test: Command, write: Callable[..., Path]) -> None:
    answers = {"h0": "ab" * 20, "h1": "ab" * 20, "h2": "ab" * 20, "m": "ab" * 19 + "bb"}
    files = [write("humans.json", answers, raters=["h0", "h1", "h2"]), write("models.json", answers, raters=["m"])]
    ran = alt_test(files, "--json", humans="h*", candidate="m")
    (one,) = ran.json["candidates"]
    assert (one["m_tested"], one["passed"], one["annotators"][0]["n"]) == (3, True, 40)


def test_numbers_and_labels_do_not_mix_unless_asked_to(alt_test: Command, write: Callable[..., Path]) -> None:
    answers: dict[str, Sequence[Any]] = {"h0": ["1"] * 40, "h1": ["1"] * 40, "h2": ["1"] * 40, "m": [1] * 40}
    ran = alt_test(write("mixed.json", answers), humans="h*", candidate="m")
    assert ran.code == 2
    assert "read numbers as labels with --labels" in ran.err
    assert alt_test(write("mixed.json", answers), "--labels", humans="h*", candidate="m").code == 0


def test_clusters_stand_beside_the_test(alt_test: Command, tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    lines = [
        f"t{text}-{turn},{judge},{'y' if text % 4 == 0 and judge == 'm' else 'x'},t{text}"
        for judge in ("h0", "h1", "h2", "m")
        for text in range(12)
        for turn in range(10)
    ]
    log.write_text("\n".join(["case_id,judge,verdict,text", *lines]))
    ran = alt_test(log, "--cluster", "text", "--epsilon", "0.4", humans="h*", candidate="m")
    assert ran.code == 0
    assert "t by text" in ran.out
    assert "p by" in ran.out
    missing = alt_test(log, "--cluster", "author", humans="h*", candidate="m")
    assert missing.code == 2
    assert "author" in missing.err


def clustered_log(tmp_path: Path, texts: int, *, judges: Sequence[str] = ("m",)) -> Path:
    """Items of texts; judges are wrong about every item of each fourth text, or of each third, and so on."""
    log = tmp_path / f"{texts}.csv"
    lines = [
        f"t{text}-{turn},{judge},{'y' if judge in judges and text % (4 + judges.index(judge)) == 0 else 'x'},t{text}"
        for judge in ("h0", "h1", "h2", *judges)
        for text in range(texts)
        for turn in range(120 // texts)
    ]
    log.write_text("\n".join(["case_id,judge,verdict,text", *lines]))
    return log


def test_a_pass_that_clusters_do_not_bear_is_said_where_it_is_claimed(alt_test: Command, tmp_path: Path) -> None:
    log = clustered_log(tmp_path, 12)
    one = alt_test(log, "--cluster", "text", "--epsilon", "0.4", humans="h*", candidate="m")
    assert "clusters: 12 of text" in one.out
    assert "for 3 of 3 annotators, but not when clustered by text." in " ".join(one.out.split())
    several = alt_test(log, "--cluster", "text", "--epsilon", "0.4,0.9", humans="h*", candidate="m")
    said = " ".join(several.out.split())
    assert "m passes at epsilon 0.4, 0.9, but not at epsilon 0.4 when clustered by text." in said
    assert said.count("warning: m at epsilon 0.4: omega and omega clustered by text lie on two sides of .5") == 1
    few = " ".join(
        alt_test(
            clustered_log(tmp_path, 3), "--cluster", "text", "--epsilon", "0.5,0.9", humans="h*", candidate="m"
        ).out.split()
    )
    assert "m passes at epsilon 0.5, 0.9; clustered by text it cannot be told." in few
    assert "nothing can be told: an annotator's instances come from few clusters (text): 3 clusters are too few" in few
    assert "warning: m: no interval of rho: 3 clusters are too few: it takes 5" in few


@pytest.mark.slow
def test_of_many_candidates_only_the_best_is_compared_with_each(alt_test: Command, tmp_path: Path) -> None:
    judges = [f"m{number}" for number in range(7)]
    log = clustered_log(tmp_path, 24, judges=judges)
    ran = alt_test(log, humans="h*")
    pairs = [line for line in ran.out.splitlines() if " - m" in line]
    assert len(pairs) == 6
    found = alt_test(log, "--json", humans="h*").json
    rho = {one["candidate"]: one["rho"] for one in found["candidates"]}
    assert {line.split(" - ")[0] for line in pairs} == {max(rho, key=rho.__getitem__)}
    assert "with the best alone; every pair is in --json" in " ".join(ran.out.split())
    assert len(found["comparisons"]) == 21


@pytest.mark.slow
def test_why_a_comparison_has_no_interval_is_said_once(alt_test: Command, tmp_path: Path) -> None:
    log = clustered_log(tmp_path, 2, judges=["m0", "m1", "m2"])
    ran = " ".join(alt_test(log, "--cluster", "text", humans="h*").out.split())
    assert "no interval of all: 2 clusters are too few: it takes 5" in ran
    assert "warning: every candidate: no interval of rho: 2 clusters are too few: it takes 5" in ran
    whole = clustered_log(tmp_path, 12, judges=["m0", "m1"])
    with whole.open("a") as log_file:
        log_file.writelines(f"\nt{text}-{turn},m2,x,t{text}" for text in range(12) for turn in range(10))
        log_file.writelines(f"\nt{text}-{turn},m3,x,t{text}" for text in range(12) for turn in range(10))
    found = " ".join(alt_test(whole, "--cluster", "text", "--score", "accuracy", humans="h*").out.split())
    assert "no interval of m2 - m3: the difference is the same in all 12 clusters" in found


def test_a_title_stands_on_one_line_above_a_narrow_table(alt_test: Command) -> None:
    ran = alt_test(PANEL, candidate="weak")
    assert "\nomega by epsilon (* passes)\n" in ran.out
    assert "-0.000" not in ran.out


def test_several_scores_name_themselves(alt_test: Command) -> None:
    ran = alt_test(PANEL, "--score", "jaccard,hamming", "--epsilon", "0.3")
    assert "strong (jaccard) passes at epsilon 0.3" in ran.out
    assert "strong - middling (hamming)" in ran.out
    both = "warning: middling (jaccard), middling (hamming): omega by the t-test and omega by Tango's test lie on two"
    assert both in " ".join(ran.out.split())


def test_many_humans_have_no_table_among_each_other(alt_test: Command, write: Callable[..., Path]) -> None:
    answers = {f"h{number}": "ab" * 20 for number in range(13)} | {"m": "ab" * 20}
    assert "among each other" not in alt_test(write("many.json", answers), humans="h*").out


def test_a_file_is_no_folder_for_plots(alt_test: Command, command: Command) -> None:
    ran = alt_test(PANEL, "--plot", PANEL)
    assert (ran.code, ran.out) == (2, "")
    assert "is a file: name a folder for the plots" in ran.err
    kappa = command("agreement", "kappa", PANEL, "--plot", PANEL)
    assert (kappa.code, kappa.out) == (2, "")


def test_a_table_of_marks_is_read_by_its_columns(alt_test: Command, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    rows = [f"{k},{who},{k % 2},{(k + 1) % 2}" for who in ("h0", "h1", "h2", "m") for k in range(30)]
    table.write_text("\n".join(["text,who,rude,kind", *rows]))
    options = ("--item", "text", "--rater", "who", "--columns", "rude, kind", "--json")
    ran = alt_test(table, *options, humans="h*", candidate="m")
    assert ran.json["scope"]["kind"] == "sets"
    assert ran.json["candidates"][0]["score"] == "jaccard"


def test_nobody_testable_is_a_result_and_not_an_error(alt_test: Command) -> None:
    ran = alt_test(PANEL, "--min-instances", "60")
    assert ran.code == 0
    assert "strong: not testable: no annotator shares 60 instances" in ran.out
    as_json = alt_test(PANEL, "--min-instances", "60", "--json").json
    assert {(one["omega"], one["passed"], one["m_tested"]) for one in as_json["candidates"]} == {(None, None, 0)}


def test_fewer_than_three_humans_are_refused(alt_test: Command) -> None:
    ran = alt_test(PANEL, humans="annotator_0,annotator_1", candidate="strong")
    assert (ran.code, ran.out) == (2, "")
    assert "three humans" in ran.err


def test_hostile_names_do_not_reach_the_terminal(alt_test: Command, write: Callable[..., Path]) -> None:
    evil = "m\x1b[31m[bold]evil"
    ran = alt_test(
        write("evil.json", {"h0": "ab" * 20, "h1": "ab" * 20, "h2": "ab" * 20, evil: "ab" * 20}), humans="h*"
    )
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "[bold]evil" in ran.out


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0:0.3:0.05"], [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),
        (["0.2"], [0.2]),
        (["0.1, 0.2", "0.1"], [0.1, 0.2]),
        (["0:0.25:0.1"], [0, 0.1, 0.2]),
        (["0.2:0.2:0.1"], [0.2]),
    ],
)
def test_epsilons_are_exact_decimals_in_order(texts: list[str], expected: list[float]) -> None:
    assert epsilons_of(texts) == expected


@pytest.mark.parametrize("text", ["much", "0:1", "0:1:0.1:2", "nan", "inf", "0.3:0:0.1", "0:1:0", "0:1:0.000001", ""])
def test_epsilons_that_are_none_are_refused(alt_test: Command, text: str) -> None:
    ran = alt_test(PANEL, "--epsilon", text)
    assert (ran.code, ran.out) == (2, "")
    assert "--epsilon" in ran.err


def test_plots_are_drawn_into_the_folder_and_named(
    alt_test: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[Path] = []
    monkeypatch.setattr(
        "judgeharness_integrations.reporting.agreementfigures.draw_alt_test",
        lambda report, folder: drawn.append(folder),
    )
    ran = alt_test(PANEL, "--plot", tmp_path / "plots")
    assert drawn == [tmp_path / "plots"]
    assert "plots: " in ran.out


def test_garbage_collection_is_left_as_it_was(alt_test: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reading.gc, "isenabled", lambda: False)
    monkeypatch.setattr(_reading.gc, "enable", lambda: pytest.fail("was not enabled before"))
    monkeypatch.setattr(_reading.gc, "disable", lambda: None)
    assert alt_test(PANEL).code == 0


def test_the_group_prints_its_commands(command: Command) -> None:
    assert "alt-test" in command("agreement", "--help").out
    assert "--multiplicative" in command("agreement", "alt-test", "--help").out
