"""The page in several tabs, on a slow line, and when its server is killed: no label is lost or given elsewhere."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest
from support import audit_scenes
from support.audit_server import at, heading, press, said, served, to_list
from support.browser import CONTRAST, Visit, visiting_site

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


def test_two_tabs_see_each_other_and_keep_what_is_being_written(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        one, other = visit.page, visit.page.context.new_page()
        other.goto(server.item("pair-00001"))
        one.goto(server.item("pair-00001"))
        other.keyboard.press("3")
        Visit(other).until("document.querySelector('.here').textContent === 'pair-00002'")
        one.evaluate("dispatchEvent(new Event('focus'))")
        visit.until("document.querySelector('[value=noise]').getAttribute('aria-pressed') === 'true'")
        assert "1 of 6" in one.inner_text(".progress")
        one.fill("textarea", "half a not")
        other.keyboard.press("1")
        Visit(other).until("document.querySelector('.here').textContent === 'pair-00003'")
        one.evaluate("dispatchEvent(new Event('focus'))")
        one.wait_for_timeout(300)
        assert one.input_value("textarea") == "half a not"
        one.click("button[value=clean]")
        at(visit, "pair-00003")
        visit.harmless()
    assert said(tmp_path) == [
        ("pair-00001", "noise", ""),
        ("pair-00002", "clean", ""),
        ("pair-00001", "clean", "half a not"),
    ]


def test_a_page_that_comes_late_changes_no_label_of_another_item(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    held: list[Any] = []

    def late(route: Any) -> None:
        if held or "id=pair-00001" not in route.request.url:
            route.continue_()
        else:
            held.append(route)

    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        page.goto(server.item("pair-00001"))
        page.route("**/item?*", late)
        page.evaluate("dispatchEvent(new Event('focus'))")
        press(visit, "j", "pair-00002")
        held[0].continue_()
        page.wait_for_timeout(300)
        press(visit, "3", "pair-00003")
    assert said(tmp_path) == [("pair-00002", "noise", "")]


def test_who_goes_back_in_vain_labels_what_is_shown(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        page.goto(server.item("pair-00001"))
        press(visit, "j", "pair-00002")
        page.route("**/item?id=pair-00001*", lambda route: route.abort())
        page.go_back()
        visit.until("!document.getElementById('trouble').hidden")
        page.unroute("**/item?id=pair-00001*")
        page.evaluate("dispatchEvent(new Event('focus'))")
        page.wait_for_timeout(300)
        assert heading(page) == "pair-00002"
        press(visit, "3", "pair-00003")
    assert said(tmp_path) == [("pair-00002", "noise", "")]


def test_a_note_that_is_begun_is_there_again_after_a_look_elsewhere(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        page.goto(server.item("pair-00001"))
        page.fill("textarea", "see round 2")
        page.keyboard.press("Escape")
        press(visit, "j", "pair-00002")
        assert page.input_value("textarea") == ""
        press(visit, "k", "pair-00001")
        assert page.input_value("textarea") == "see round 2"
        page.keyboard.press("h")  # what tells the flaw
        visit.until("document.querySelectorAll('.views a').length > 2")
        assert page.input_value("textarea") == "see round 2"
        page.keyboard.press("f")
        visit.until("document.querySelector('.views [aria-current]').textContent.startsWith('Fact check')")
        assert page.input_value("textarea") == "see round 2"
        press(visit, "j", "pair-00002")
        assert page.input_value("textarea") == ""
        press(visit, "k", "pair-00001")
        assert page.input_value("textarea") == "see round 2"
        press(visit, "3", "pair-00002")
        press(visit, "1", "pair-00003")
        press(visit, "k", "pair-00002")
        assert page.input_value("textarea") == ""
        visit.harmless()
    assert said(tmp_path) == [("pair-00001", "noise", "see round 2"), ("pair-00002", "clean", "")]


def test_who_followed_a_link_of_another_page_is_let_in(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server:
        context = chromium.new_context()
        page = context.new_page()
        link = f'<a href="{server.address}">go</a>'
        page.route("http://terminal.example/", lambda route: route.fulfill(content_type="text/html", body=link))
        page.goto("http://terminal.example/")
        page.click("a")
        page.wait_for_selector("#dock")
        assert heading(page) == "pair-00001"
        context.close()


def test_a_server_killed_after_an_answer_has_lost_nothing_and_the_page_says_that_it_is_gone(
    chromium: Browser, tmp_path: Path
) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page = visit.page
        page.goto(server.item("pair-00001"))
        press(visit, "2", "pair-00002")
        server.end(signal.SIGKILL)
        assert said(tmp_path) == [("pair-00001", "ambiguous", "")]
        page.fill("textarea", "not lost")
        page.click("button[value=noise]")
        visit.until("!document.getElementById('trouble').hidden")
        assert "start judgeharness audit again" in page.inner_text("#trouble")
        assert page.input_value("textarea") == "not lost"
        assert page.evaluate(CONTRAST)[0] >= 4.5
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        at(visit, "pair-00002")
        to_list(visit)
        assert "1 of 6" in visit.page.inner_text(".facts")
        press(visit, "Space", "pair-00002")
