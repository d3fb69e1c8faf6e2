"""The page in a real browser, served by the command itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support import audit_scenes
from support.audit_server import at, heading, overflow, press, said, served, to_list
from support.browser import CONTRAST, DESKTOP, PHONE, visiting_site

from judgeharness_integrations.audit.pages import VIEW_KEYS, VIEW_NAMES
from judgeharness_integrations.judging.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.labelling import LabelLog

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_three_pairs_are_labelled_with_the_keyboard_alone(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page, key = visit.page, visit.page.keyboard
        assert "token" not in page.url
        at(visit, "pair-00001")
        to_list(visit)
        for name in ("j", "j", "k", "j"):
            key.press(name)
        assert page.evaluate("document.activeElement.textContent") == "pair-00002"
        key.press("Enter")
        at(visit, "pair-00002")
        assert page.locator(".views a").count() == 2  # a view without the flaw, and the way to the others
        key.press("h")
        visit.until(f"document.querySelectorAll('.views a').length === {len(VIEW_NAMES) + 1}")
        for view, name in VIEW_KEYS.items():
            key.press(name)
            visit.until(f"document.querySelector('.views [aria-current]').textContent.startsWith('{VIEW_NAMES[view]}')")
        press(visit, "c", "pair-00003")
        visit.until("document.querySelector('.flash') !== null")
        assert "pair-00002 is labelled clean" in page.inner_text(".flash")
        assert "view=facts" in page.url
        key.press("t")
        page.keyboard.type("two flaws: 1, 2 and 3 ?")
        key.press("Escape")
        press(visit, "3", "pair-00004")
        assert page.input_value("textarea") == ""
        press(visit, "u", "pair-00003")
        assert page.input_value("textarea") == "two flaws: 1, 2 and 3 ?"
        press(visit, "n", "pair-00004")
        press(visit, "k", "pair-00003")
        press(visit, "j", "pair-00004")
        press(visit, "a", "pair-00005")
        key.press("?")
        assert page.is_visible("#help")
        key.press("1")
        key.press("Escape")
        assert page.is_hidden("#help")
        to_list(visit)
        assert "3 of 6" in page.inner_text(".facts")
        page.go_back()
        at(visit, "pair-00005")
        visit.harmless()
    note = "two flaws: 1, 2 and 3 ?"
    assert said(tmp_path) == [
        ("pair-00002", "clean", ""),
        ("pair-00003", "noise", note),
        ("pair-00003", None, note),
        ("pair-00003", "noise", note),
        ("pair-00004", "ambiguous", ""),
    ]


def test_h_shows_the_flaw_of_one_pair_alone(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page, key = visit.page, visit.page.keyboard
        at(visit, "pair-00001")
        key.press("h")
        visit.until(f"document.querySelectorAll('.views a').length === {len(VIEW_NAMES) + 1}")
        assert page.locator("details.turn[open]").count() == 2  # the flawed round
        key.press("e")
        visit.until("document.querySelectorAll('details.turn:not([open])').length === 0")
        key.press("e")
        visit.until("document.querySelectorAll('details.turn[open]').length === 0")
        for name, there in (("j", "pair-00002"), ("c", "pair-00003")):
            press(visit, name, there)
            assert page.locator(".views a").count() == 2
            assert "flaw" not in page.inner_text("main").casefold()
        key.press("h")
        visit.until(f"document.querySelectorAll('.views a').length === {len(VIEW_NAMES) + 1}")
        key.press("h")
        visit.until("document.querySelectorAll('.views a').length === 2")
        visit.harmless()


def test_a_key_that_is_held_down_labels_one_pair(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        visit.page.goto(server.item("pair-00001"))
        for _ in range(5):
            visit.page.keyboard.down("1")
            visit.page.wait_for_timeout(60)
        visit.page.keyboard.up("1")
        at(visit, "pair-00002")
        assert said(tmp_path) == [("pair-00001", "clean", "")]


def test_without_scripts_everything_can_be_read_filtered_and_labelled(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with (
        served(str(tmp_path)) as server,
        visiting_site(chromium, server.address, java_script_enabled=False) as visit,
    ):
        page = visit.page
        assert heading(page) == "pair-00001"
        page.click(".home")
        page.select_option("select[name='f-domain']", "power")
        page.click("text=Show")
        assert page.locator("[data-row]").all_text_contents() == ["pair-00003", "pair-00006"]
        page.click("text=pair-00003")
        page.locator(".views a").first.wait_for()
        assert page.locator(".views a").count() == 2
        page.click("text=Show the flaw")
        for words in VIEW_NAMES.values():
            page.click(f".views >> text={words}")
        page.fill("textarea", "a <note>")
        page.click("button[value=noise]")
        assert heading(page) == "pair-00006"
        page.click("button[value=clean]")
        assert "is labelled clean" in page.inner_text(".flash")
        page.click("text=Take it back")
        assert heading(page) == "pair-00006"
        page.wait_for_load_state("load")  # its styles too
        assert page.locator("kbd:visible").count() == 0
        assert visit.trouble == []
    assert said(tmp_path) == [
        ("pair-00003", "noise", "a <note>"),
        ("pair-00006", "clean", ""),
        ("pair-00006", None, ""),
    ]


def test_hostile_texts_stay_texts_in_every_view(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.hostile_benchmark(tmp_path)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address, viewport=PHONE) as visit:
        page = visit.page
        for view in VIEW_NAMES:
            page.goto(server.item("pair-00001", view, blind="0"))
            assert page.inner_text(".views [aria-current]").startswith(VIEW_NAMES[view])
            for fold in page.query_selector_all("details:not([open]) > summary"):
                if fold.is_visible():
                    fold.click()
            shown = page.inner_text("main")
            for attack in ("<script>window.__pwned=1</script>", "{{ 7*7 }}", "[U+202E]gnp.exe[U+2066]"):
                assert attack in shown
            assert overflow(page) <= 0, view
            assert page.query_selector_all("main img, main iframe, main script, h1:has-text('broken')") == []
        page.fill("textarea", "\u202e<script>window.__pwned=9</script>")
        page.click("button[value=noise]")
        visit.until("document.querySelector('.flash') !== null")
        visit.harmless()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_on_a_phone_and_on_a_desk(chromium: Browser, tmp_path: Path, scheme: str) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server:
        for size in (PHONE, DESKTOP):
            with visiting_site(chromium, server.address, viewport=size, color_scheme=scheme) as visit:
                page = visit.page
                addresses = [server.site, *(server.item("pair-00001", view, blind="0") for view in VIEW_NAMES)]
                addresses += [
                    server.item("pair-00007"),
                    server.item("pair-00001"),
                    server.item("pair-00007", blind="0"),
                    f"{server.site}/?label=x",
                ]
                for address in addresses:
                    page.goto(address)
                    visit.until("document.documentElement.classList.contains('scripted')")
                    assert overflow(page) <= 0, address
                    ratio, where = page.evaluate(CONTRAST)
                    assert ratio >= 4.5, f"{address}: {where}"
                if size == PHONE:
                    page.goto(server.item("pair-00001", "facts", blind="0"))
                    visit.until(
                        "document.querySelector('.views [aria-current]').getBoundingClientRect().right <= innerWidth"
                    )
                visit.harmless()


def test_on_paper_a_pair_has_its_label_and_nothing_to_press(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with (
        served(str(tmp_path)) as server,
        visiting_site(chromium, server.address, viewport={"width": 703, "height": 1000}, color_scheme="dark") as visit,
    ):
        page = visit.page
        page.goto(server.item("pair-00001"))
        page.fill("textarea", "round 2 is odd")
        page.click("button[value=noise]")
        at(visit, "pair-00002")
        page.emulate_media(media="print")
        addresses = [server.site, *(server.item("pair-00001", view) for view in VIEW_NAMES), server.item("pair-00002")]
        for address in addresses:
            page.goto(address)
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            assert page.locator("main details:not([open])").count() == 0
            assert overflow(page) <= 0, address
            ratio, where = page.evaluate(CONTRAST)
            assert ratio >= 4.5, f"{address}: {where}"
            assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
            for control in (".views", ".moves", ".filters", "#theme", ".top .home", "button[value=clean]"):
                assert page.locator(control).filter(visible=True).count() == 0, control
            if "pair-00001" in address:
                assert page.is_visible("button[value=noise]")
                assert page.input_value("textarea:visible") == "round 2 is odd"
            else:
                assert page.locator("#dock :is(button, textarea):visible").count() == 0
        visit.harmless()


def test_a_theme_that_is_chosen_stays_on_the_next_pages(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address, color_scheme="light") as visit:
        page, back = visit.page, "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(back)
        page.click("#theme")
        page.click("#theme")
        assert page.inner_text("#theme") == "Theme: dark"
        dark = page.evaluate(back)
        assert dark != light
        press(visit, "j", "pair-00002")
        assert (page.evaluate(back), page.inner_text("#theme")) == (dark, "Theme: dark")
        page.click("#theme")
        assert (page.evaluate(back), page.inner_text("#theme")) == (light, "Theme: auto")
        visit.harmless()


def test_plain_cases_are_labelled_with_keys_into_a_log_that_calibrates(chromium: Browser, tmp_path: Path) -> None:
    cases: list[Any] = [
        PairwiseCase(case_id="gpt-beats-claude", input="Which city?", output="Bern.", output_b="<b>Basel</b>."),
        AnswerCase(case_id="c2", input="Which river?", output="The Aare.", criteria=()),
    ]
    file = tmp_path / "cases.jsonl"
    lines = [
        f'{{"case_id": "{case.case_id}", "input": "{case.input}", "output": "{case.output}"'
        + (f', "output_b": "{case.output_b}"' if isinstance(case, PairwiseCase) else "")
        + "}\n"
        for case in cases[:1]
    ]
    file.write_text("".join(lines), encoding="utf-8")
    with served(str(file)) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        at(visit, "Case 1")
        to_list(visit)
        assert "gpt-beats-claude" not in page.content() + page.url
        press(visit, "Space", "Case 1")
        assert "gpt-beats-claude" not in page.content() + page.url
        assert "<b>Basel</b>." in page.inner_text("main")
        page.keyboard.press("t")
        page.keyboard.type("both are cities")
        page.keyboard.press("Escape")
        page.keyboard.press("3")
        visit.until("document.querySelector('.items') !== null")
        assert page.evaluate(CONTRAST)[0] >= 4.5
        visit.harmless()
    (log,) = tmp_path.glob("*/anna.jsonl")
    (row,) = LabelLog(log).rows("anna")
    assert (row.case_id, row.verdict, row.reasoning) == ("gpt-beats-claude", "TIE", "both are cities")


@pytest.mark.parametrize(
    ("answers", "keys", "kept"),
    [("toxic;spam", "12", ["spam", "toxic"]), ("toxic;spam", "", []), ("1..10", "10", 10), ("any", "iso so", "so so")],
)
def test_every_kind_of_answer_is_given_with_keys_alone(
    chromium: Browser, tmp_path: Path, answers: str, keys: str, kept: object
) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(f'{{"case_id": "c{n}", "input": "q", "output": "a {n}"}}\n' for n in range(2)))
    with served(str(file), "--answers", answers) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        at(visit, "Case 1")
        to_list(visit)
        press(visit, "Space", "Case 1")
        for key in keys:
            page.keyboard.press("Space" if key == " " else key)
        press(visit, "Enter", "Case 2")
        page.focus(".home")
        page.keyboard.press("Enter")  # follows the link that has the focus
        visit.until("document.querySelector('.items') !== null")
        visit.harmless()
    (line,) = (tmp_path / "cases-labels" / "anna.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["verdict"] == kept
