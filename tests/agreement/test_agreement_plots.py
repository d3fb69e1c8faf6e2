from __future__ import annotations

import random
import re
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.analysis.agreement import Panel, agreement_table, alt_test, read_panel
from judgeharness_integrations.analysis.agreement.panel import annotation_rows
from judgeharness_integrations.reporting import agreementfigures as plots
from judgeharness_integrations.reporting.agreementfigures import draw_alt_test, draw_kappa

pytestmark = pytest.mark.slow  # they draw

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


@pytest.mark.untraced
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


@pytest.mark.untraced
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


@pytest.mark.untraced
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
    with pytest.raises(NotInstalledError, match=r"pip install '\.\[report\]'"):
        draw_alt_test(report, tmp_path)


def test_places_without_a_panel_stay_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: dict[str, Any] = {}
    monkeypatch.setattr(plots, "save_figure", lambda figure, _, name: [figures.setdefault(name, figure)])
    draw = random.Random(1)  # noqa: S311 - labels, not a secret
    names = ["h1", "h2", "h3", "c"]
    panel = Panel.from_annotations(
        {name: {str(i): [label for label in "abcde" if draw.random() < 0.4] for i in range(40)} for name in names}
    )

    def alike(prediction: frozenset[str], annotations: list[frozenset[str]]) -> float:
        return float(sum(len(prediction ^ one) for one in annotations))

    scores = ["accuracy", "jaccard", "macro_jaccard", "hamming", alike]
    epsilons = [step / 50 for step in range(14)]
    report = alt_test(panel, humans=["h*"], candidates=["c"], scores=scores, epsilons=epsilons)
    draw_alt_test(report, tmp_path)
    draw_kappa(agreement_table(panel, humans=["h*"], candidates=["c"]), tmp_path)
    for name in ("omega", "advantage", "scatter"):
        assert [axes.axison for axes in figures[name].axes] == [True] * 5 + [False], name
        assert figures[name].axes[4].get_title(loc="left") == "alike"
    ticks = [tick.get_text() for tick in figures["omega"].axes[0].get_xticklabels()]
    assert "0.26" not in ticks  # too many epsilons to name each
    maps = figures["kappa_by_label"].axes
    assert [(axes.axison, axes.get_title(loc="left")) for axes in maps] == [
        *((True, f"{label}: Cohen's kappa") for label in "abcde"),
        (False, ""),
    ]


def test_a_rho_without_an_interval_has_a_bar_alone(tmp_path: Path) -> None:
    steps = {"h1": 1, "h2": 1, "h3": 3, "c": 1}
    cells = ((name, str(item), "AB"[item * step % 2]) for name, step in steps.items() for item in range(40))
    rows = [replace(row, attributes={"text": str(int(row.case_id) % 2)}) for row in annotation_rows(cells)[0]]
    report = alt_test(Panel.from_rows(rows, cluster="text"), humans=["h*"], candidates=["c"])
    assert report.candidates[0].rho_interval is None
    draw_alt_test(report, tmp_path)
    assert "c" in texts_of(tmp_path / "advantage.svg").splitlines()
