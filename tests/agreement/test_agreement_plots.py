from __future__ import annotations

import random
import re
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.agreement import Panel, agreement_table, alt_test, read_panel
from judgeharness_integrations.agreement.plots import draw_alt_test, draw_kappa

DATA = Path(__file__).parents[1] / "data"
HOSTILE = ["_hidden", "$x^$", "<script>alert(1)</script>", "a\x1b[31m\nb", "判断者 " + "x" * 60]


def texts_of(svg: Path) -> str:
    """Return what a picture says: SVG keeps texts as texts."""
    root = ET.parse(svg).getroot()  # noqa: S314 - our own file
    return "\n".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))


def size_of(png: Path) -> tuple[int, int]:
    header = png.read_bytes()[:24]
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", header[16:])


@pytest.fixture(scope="module")
def study() -> Panel:
    return read_panel(DATA / "panel.csv.gz")


def test_a_sweep_over_epsilon_is_three_pictures_with_a_panel_a_score(study: Panel, tmp_path: Path) -> None:
    scores = ["accuracy", "jaccard", "macro_jaccard", "hamming"]
    report = alt_test(study, humans=["annotator_*"], candidates=["*"], scores=scores, epsilons=[0.1, 0.2])
    files = draw_alt_test(report, tmp_path / "plots")
    names = ("omega", "advantage", "scatter")
    assert [path.name for path in files] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    for path in files:
        if path.suffix == ".png":
            assert min(size_of(path)) > 500
        else:
            assert all(text in texts_of(path) for text in [*scores, "strong", "middling", "weak"])
    assert "passes from here" in texts_of(tmp_path / "plots" / "omega.svg")


def test_one_epsilon_has_no_sweep(study: Panel, tmp_path: Path) -> None:
    report = alt_test(study, humans=["annotator_*"], candidates=["strong"])
    assert {path.stem for path in draw_alt_test(report, tmp_path)} == {"advantage", "scatter"}


def test_the_same_report_gives_the_same_files(study: Panel, tmp_path: Path) -> None:
    report = alt_test(study, humans=["annotator_*"], candidates=["strong"])
    one, other = draw_alt_test(report, tmp_path / "a"), draw_alt_test(report, tmp_path / "b")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def panel_of(names: list[str], *, items: int) -> Panel:
    draw = random.Random(0)  # noqa: S311 - labels, not a secret
    return Panel.from_annotations({name: {str(i): draw.choice("AB") for i in range(items)} for name in names})


def test_names_are_shown_as_they_are_and_never_as_markup(tmp_path: Path) -> None:
    panel = panel_of(["h1", "h2", "h3", *HOSTILE], items=40)
    report = alt_test(panel, humans=["h1", "h2", "h3"], candidates=HOSTILE, epsilons=[0.1, 0.2])
    draw_alt_test(report, tmp_path)
    draw_kappa(agreement_table(panel, humans=["h1", "h2", "h3"], candidates=HOSTILE), tmp_path)
    for name in ("omega", "advantage", "kappa"):
        shown = texts_of(tmp_path / f"{name}.svg")
        assert all(text in shown for text in ("_hidden", "$x^$", "<script>", "判断者")), name
        assert "\x1b" not in shown


def test_candidates_nobody_could_test_are_said_to_be_so(tmp_path: Path) -> None:
    report = alt_test(panel_of(["h1", "h2", "h3", "c"], items=5), humans=["h*"], candidates=["c"])
    draw_alt_test(report, tmp_path)
    assert "not testable" in texts_of(tmp_path / "advantage.svg")
    assert "not testable" not in texts_of(tmp_path / "scatter.svg")


@pytest.mark.parametrize(("raters", "numbers"), [(6, True), (24, False)])
def test_heat_maps_show_numbers_while_they_can_be_read(tmp_path: Path, raters: int, *, numbers: bool) -> None:
    names = [f"r{place}" for place in range(raters)]
    draw_kappa(agreement_table(panel_of(names, items=30), humans=names), tmp_path)
    shown = texts_of(tmp_path / "kappa.svg")
    assert "Cohen's kappa" in shown
    assert (len(re.findall(r"^-?0\.\d\d$", shown, re.MULTILINE)) > 20) is numbers


def test_pairs_without_a_coefficient_stay_empty(tmp_path: Path) -> None:
    panel = Panel.from_annotations({"h1": {"1": "A", "2": "B"}, "h2": {"1": "A", "2": "B"}, "h3": {"3": "A"}})
    draw_kappa(agreement_table(panel, humans=["h1", "h2", "h3"], weights="none"), tmp_path)
    assert texts_of(tmp_path / "kappa.svg").count("1.00") == 2


def test_sets_have_a_map_for_each_label(study: Panel, tmp_path: Path) -> None:
    table = agreement_table(study, humans=study.select(["annotator_*"]), candidates=["strong"])
    assert {path.stem for path in draw_kappa(table, tmp_path)} == {"kappa", "kappa_by_label"}
    assert all(label in texts_of(tmp_path / "kappa_by_label.svg") for label in study.labels)


def test_without_matplotlib_the_pip_line_is_named(
    study: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = alt_test(study, humans=["annotator_*"], candidates=["strong"])
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'judgeharness-integrations\[report\]'"):
        draw_alt_test(report, tmp_path)
