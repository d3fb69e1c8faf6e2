"""The page in a real browser, served by the command itself."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import audit_scenes
from support.browser import CONTRAST, DESKTOP, PHONE, Visit, visiting_site

from judgeharness_integrations.audit.labels import label_log
from judgeharness_integrations.audit.web.keys import VIEW_KEYS, VIEW_NAMES
from judgeharness_integrations.cases import AnswerCase, PairwiseCase
from judgeharness_integrations.labelling import LabelLog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

_COMMAND = "from judgeharness_integrations.cli import main; raise SystemExit(main())"


class Server:
    """`judgeharness audit` in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-c", _COMMAND, "audit", *arguments, "--annotator", "anna", "--no-browser"]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.told = self.process.stdout.readline()
        found = re.search(r"http://\S+", self.told)
        if found is None:
            pytest.fail(f"no address: {self.told} {self.process.communicate()[1]}")
        self.address = found[0]
        self.site = self.address.partition("/?")[0]

    def item(self, pair_id: str, view: str = "overview", **more: str) -> str:
        return f"{self.site}/item?id={pair_id}&view={view}" + "".join(
            f"&{name}={value}" for name, value in more.items()
        )

    def end(self, how: int) -> tuple[int, str, str]:
        self.process.send_signal(how)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


@contextlib.contextmanager
def served(*arguments: str) -> Iterator[Server]:
    server = Server(*arguments)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            assert server.end(signal.SIGINT) == (0, "", "")


def said(folder: Path) -> list[tuple[str, str | None, str]]:
    return [(line.pair_id, line.label, line.note) for line in label_log(folder, "anna").lines()]


def heading(page: Page) -> str:
    return page.inner_text(".top .here")


def at(visit: Visit, pair_id: str) -> None:
    visit.until(f"document.querySelector('.top .here')?.textContent === '{pair_id}'")


def press(visit: Visit, key: str, pair_id: str) -> None:
    visit.page.keyboard.press(key)
    at(visit, pair_id)


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def test_three_pairs_are_labelled_with_the_keyboard_alone(chromium: Browser, tmp_path: Path) -> None:
    audit_scenes.benchmark(tmp_path, 8)
    with served(str(tmp_path)) as server, visiting_site(chromium, server.address) as visit:
        page, key = visit.page, visit.page.keyboard
        assert "token" not in page.url
        for name in ("j", "j", "k", "j"):
            key.press(name)
        assert page.evaluate("document.activeElement.textContent") == "pair-00002"
        key.press("Enter")
        at(visit, "pair-00002")
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
        key.press("r")
        visit.until("document.querySelectorAll('details.turn[open]').length === 2")
        key.press("e")
        visit.until("document.querySelectorAll('details.turn:not([open])').length === 0")
        key.press("e")
        visit.until("document.querySelectorAll('details.turn[open]').length === 0")
        key.press("h")
        visit.until("document.querySelectorAll('.views a').length === 2")
        key.press("?")
        assert page.is_visible("#help")
        key.press("1")
        key.press("Escape")
        assert page.is_hidden("#help")
        key.press("l")
        visit.until("document.querySelector('.items') !== null")
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
        page.select_option("select[name='f-domain']", "power")
        page.click("text=Show")
        assert page.locator("[data-row]").all_text_contents() == ["pair-00003", "pair-00006"]
        page.click("text=pair-00003")
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
            page.goto(server.item("pair-00001", view))
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
                addresses = [server.site, *(server.item("pair-00001", view) for view in VIEW_NAMES)]
                addresses += [
                    server.item("pair-00007"),
                    server.item("pair-00001", blind="1"),
                    f"{server.site}/?label=x",
                ]
                for address in addresses:
                    page.goto(address)
                    visit.until("document.documentElement.classList.contains('scripted')")
                    assert overflow(page) <= 0, address
                    ratio, where = page.evaluate(CONTRAST)
                    assert ratio >= 4.5, f"{address}: {where}"
                if size == PHONE:
                    page.goto(server.item("pair-00001", "facts"))
                    visit.until(
                        "document.querySelector('.views [aria-current]').getBoundingClientRect().right <= innerWidth"
                    )
                visit.harmless()


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
        page.wait_for_selector(".items")
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
        assert "1 of 6" in visit.page.inner_text(".facts")
        visit.page.keyboard.press("Space")
        at(visit, "pair-00002")


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
        page.keyboard.press("Space")
        at(visit, "Case 1")
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
