"""The page as a server: labels come in and are in the file, and what cannot be done is one sentence."""

from __future__ import annotations

import re
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from support import audit_scenes
from support.audit_scenes import TOKEN

from judgeharness_integrations._errors import NotInstalledError, RunBusyError, UsageError
from judgeharness_integrations.audit import app as serving
from judgeharness_integrations.audit.app import form_token
from judgeharness_integrations.audit.labels import label_log
from judgeharness_integrations.audit.pages import LONGEST_NOTE
from judgeharness_integrations.audit.pairs import PairSource

if TYPE_CHECKING:
    from pathlib import Path

HEADERS = {"origin": "http://127.0.0.1:8123"}


def post(client: Any, item_id: str, *, query: str = "", **form: Any) -> Any:
    data = {"csrf": form_token(TOKEN), **form}
    return client.post(f"/label?id={item_id}{query}", data=data, headers=HEADERS)


def place_of(answer: Any) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(str(answer.url))
    return parts.path, parse_qs(parts.query)


@pytest.fixture
def source(tmp_path: Path) -> PairSource:
    return PairSource(audit_scenes.benchmark(tmp_path, 8), annotator="anna")


@pytest.mark.slow
def test_a_label_is_in_the_file_and_the_next_open_pair_comes(source: PairSource, tmp_path: Path) -> None:
    client = audit_scenes.client(source)
    answer = post(client, "pair-00001", query="&view=facts", value="noise", note="two flaws\r\n<b>")
    path, query = place_of(answer)
    assert path == "/item"
    assert (query["id"], query["view"], query["last"]) == (["pair-00002"], ["facts"], ["pair-00001"])
    (line,) = label_log(tmp_path, "anna").lines()
    assert (line.pair_id, line.label, line.note) == ("pair-00001", "noise", "two flaws\n<b>")
    assert "is labelled <b><bdi>noise</bdi></b>" in answer.text
    assert 'data-key="u"' in answer.text
    assert "<b>1</b> of 6" in answer.text  # of the rejected ones nobody waits for a label


@pytest.mark.slow
def test_labelling_again_and_taking_back_add_lines_and_the_last_one_counts(source: PairSource, tmp_path: Path) -> None:
    client = audit_scenes.client(source)
    post(client, "pair-00001", value="noise", note="n")
    post(client, "pair-00001", value="clean", note="")
    assert (
        'value="clean" class="choice good" data-keys="1 c" aria-pressed="true"'
        in client.get("/item?id=pair-00001").text
    )
    back = post(client, "pair-00001", take_back="1", note="unsure")
    assert place_of(back)[1]["id"] == ["pair-00001"]
    assert [line.label for line in label_log(tmp_path, "anna").lines()] == ["noise", "clean", None]
    assert "unsure</textarea>" in back.text


@pytest.mark.slow
def test_two_pages_of_one_annotator_see_each_other(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path, 5)
    one, other = (audit_scenes.client(PairSource(folder, annotator="anna")) for _ in range(2))
    post(one, "pair-00001", value="noise")
    post(other, "pair-00001", value="clean")
    post(other, "pair-00002", value="ambiguous")
    assert [line.label for line in label_log(tmp_path, "anna").lines()] == ["noise", "clean", "ambiguous"]
    assert "<b>2</b> of 3" in one.get("/").text


@pytest.mark.slow
def test_after_the_last_open_pair_comes_the_list(source: PairSource) -> None:
    client = audit_scenes.client(source)
    for number in range(1, 7):
        answer = post(client, f"pair-{number:05d}", value="clean")
    assert place_of(answer)[0] == "/"
    assert "everything is labelled" in answer.text
    assert "pair-00006" in answer.text
    again = post(client, "pair-00002", query="&label=clean", value="noise")
    assert place_of(again)[1]["id"] == ["pair-00003"]  # on in the list of those that are labelled


@pytest.mark.parametrize(
    ("item", "form", "status", "sentence"),
    [
        ("pair", {"value": "C"}, 400, "Choose one of A, B, TIE."),
        ("pair", {"value": "a"}, 400, "Choose one of A, B, TIE."),
        ("pair", {}, 400, "Give one label."),
        ("pair", {"value": ["A", "B"]}, 400, "Give one label."),
        ("pair", {"value": "A", "note": "x" * (LONGEST_NOTE + 1)}, 400, "up to 4,000 characters"),
        ("pair", {"value": "A", "note": "x" * 70_000}, 413, "too long for a label"),
        ("none", {"value": "A"}, 404, "There is no such item"),
        ("tags", {"value": ["toxic", "x"]}, 400, "Choose some of toxic, spam."),
        ("tags", {}, 400, "Choose some of toxic, spam."),
        ("score", {"value": "11"}, 400, "Give a number from 1 to 10."),
        ("score", {"value": "nan"}, 400, "Give a number from 1 to 10."),
        ("score", {"value": "1e0"}, 400, "Give a number from 1 to 10."),
        ("score", {"value": "\u0663"}, 400, "Give a number from 1 to 10."),
        ("score", {"value": "1_0"}, 400, "Give a number from 1 to 10."),
        ("score", {"value": "x"}, 400, "Give a number from 1 to 10."),
        ("words", {"value": " "}, 400, "A label has 1 to 200 characters."),
        ("words", {"value": "x" * 201}, 400, "A label has 1 to 200 characters."),
    ],
)
def test_what_is_no_label_is_refused_with_a_sentence(item: str, form: Any, status: int, sentence: str) -> None:
    source = audit_scenes.every_kind()
    answer = post(audit_scenes.client(source), item, **form)
    assert answer.status_code == status
    assert sentence in answer.text
    assert source.said == {}


@pytest.mark.parametrize(
    ("item", "values", "kept"),
    [
        ("pair", "TIE", "TIE"),
        ("tags", ["", "spam", "toxic"], "toxic; spam"),
        ("tags", [""], ";"),
        ("score", "7.5", "7.5"),
        ("words", " it is fine ", "it is fine"),
    ],
)
def test_every_kind_of_answer_is_taken(item: str, values: Any, kept: str) -> None:
    source = audit_scenes.every_kind()
    client = audit_scenes.client(source)
    note = "n" * LONGEST_NOTE
    assert post(client, item, value=values, note=note).status_code == 200
    assert source.said == {item: (kept, note)}
    page = client.get("/item", params={"id": item}).text
    assert 'aria-pressed="true"' in page if item == "pair" else True
    assert page.count(" checked>") == (2 if kept == "toxic; spam" else 0)


def test_a_number_without_ends_may_be_any(tmp_path: Path) -> None:
    source = audit_scenes.Cases(free=audit_scenes.Answering(kind="number"))
    client = audit_scenes.client(source)
    assert "a number" in client.get("/item?id=free").text
    assert post(client, "free", value="inf").status_code == 400
    assert post(client, "free", value="-3").status_code == 200


@pytest.mark.parametrize("body", [b"\xff\xfe", b"a=1&" * 300])
def test_a_body_that_is_no_form_is_refused(body: bytes) -> None:
    client = audit_scenes.client(audit_scenes.every_kind())
    answer = client.post("/label?id=pair", content=body, headers=HEADERS)
    assert answer.status_code == 400
    assert "no form of this page" in answer.text


@pytest.mark.parametrize(
    ("error", "status"), [(UsageError("of another kind: give labels."), 400), (RunBusyError("the file is held."), 503)]
)
def test_what_the_source_cannot_keep_is_told(error: Exception, status: int) -> None:
    class Full(audit_scenes.Cases):
        def label(self, item_id: str, value: str | None, note: str) -> None:
            raise error

    answer = post(audit_scenes.client(Full(pair=audit_scenes.preference())), "pair", value="A")
    assert answer.status_code == status
    assert str(error) in answer.text


def test_pages_that_are_not_there_say_so(source: PairSource) -> None:
    client = audit_scenes.client(source)
    for path, status, words in (
        ("/none", 404, "There is no such page."),
        ("/item", 404, "There is no such item"),
        ("/item?id=../../etc", 404, "There is no such item"),
        ("/label?id=pair-00001", 405, "Pages are read, labels are posted."),
    ):
        answer = client.get(path)
        assert answer.status_code == status
        assert words in answer.text
    assert client.post("/", headers=HEADERS).status_code == 405


def test_an_address_may_hold_anything(source: PairSource) -> None:
    client = audit_scenes.client(source)
    for query in ("order=%ff&page=-1", "f-domain=%3Cscript%3E", "label=%00", "last=none&due=1", "turn=x&id=pair-00001"):
        assert "<script>" not in client.get(f"/?{query}").text
        client.get(f"/item?{query}")
    assert client.get("/item?id=pair-00001&view=facts&turn=1&blind=0").status_code == 200
    assert client.head("/").status_code == 200


def test_plain_cases_show_texts_side_by_side_and_neither_views_nor_their_keys() -> None:
    page = audit_scenes.client(audit_scenes.every_kind()).get("/item?id=pair").text
    assert "Which answer is better?" in page
    assert "&lt;b&gt;Basel&lt;/b&gt;." in page
    assert 'class="views"' not in page
    assert 'data-keys="2 b"' in page
    assert 'data-keys="3"' in page  # t writes a note


@pytest.mark.slow
def test_the_server_is_on_loopback_prints_its_address_and_logs_nothing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # a server in a thread has no signals
    source, told = audit_scenes.every_kind(), threading.Event()
    addresses: list[str] = []
    servers: list[Any] = []
    import uvicorn

    run = uvicorn.Server.run
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: (servers.append(self), run(self, sockets))[1])

    def ready(address: str, once: str) -> None:
        addresses.extend((address, once))
        told.set()

    thread = threading.Thread(target=serving.serve, args=(source,), kwargs={"ready": ready})
    thread.start()
    assert told.wait(10)
    try:
        with httpx2.Client(follow_redirects=True, timeout=10) as client:
            page = client.get(addresses[0])
            assert page.status_code == 200
            assert "server" not in page.headers
            port = urlsplit(addresses[0]).port
            form = client.get(f"http://127.0.0.1:{port}/").text.split('name="csrf" value="')
            assert len(form) == 1  # the list has no form that changes anything
            with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 cannot be had"):
                serving.serve(source, ready=ready, port=port or 0)
        assert urlsplit(addresses[0]).hostname == "127.0.0.1"
        tokens = {parse_qs(urlsplit(address).query)["token"][0] for address in addresses}
        assert [len(token) >= 40 for token in tokens] == [True, True]
        assert [httpx2.get(addresses[1]).status_code for _ in range(2)] == [303, 403]
    finally:
        servers[0].should_exit = True
        thread.join(10)
    assert not thread.is_alive()
    assert capfd.readouterr() == ("", "")


def test_a_file_that_went_away_is_one_sentence(tmp_path: Path) -> None:
    folder = audit_scenes.benchmark(tmp_path, 5)
    source = PairSource(folder, annotator="anna")
    client = audit_scenes.client(source)
    vars(source).pop("_taxonomy")  # which the first page has read
    (tmp_path / "taxonomy.json").unlink()
    answer = client.get("/item?id=pair-00001&blind=0")
    assert answer.status_code == 503
    assert "taxonomy.json cannot be read (No such file or directory): put it back" in answer.text


def labelled(client: Any, pair_id: str) -> None:
    form = {"csrf": form_token(audit_scenes.TOKEN), "note": "", "value": "clean"}
    client.post(f"/label?id={pair_id}", data=form, headers={"origin": "http://127.0.0.1:8123"})


def test_the_page_starts_with_the_first_item_without_a_label(tmp_path: Path) -> None:
    source = PairSource(audit_scenes.benchmark(tmp_path, 3), annotator="anna")
    client = audit_scenes.client(source)
    for item in [item for item in source.items() if item.due]:
        opened = client.get("/start", follow_redirects=False)
        assert opened.status_code == 303
        assert opened.headers["location"].endswith(f"&id={item.item_id}")
        labelled(client, item.item_id)
    assert client.get("/start", follow_redirects=False).headers["location"] == "/"


def test_the_flaw_is_hidden_until_the_pair_has_a_label(tmp_path: Path) -> None:
    client = audit_scenes.client(PairSource(audit_scenes.benchmark(tmp_path, 2), annotator="anna"))

    def told(address: str) -> bool:
        return "self contradiction" in client.get(address).text

    assert not told("/item?id=pair-00001&view=overview&order=number")
    assert told("/item?id=pair-00001&view=overview&order=number&blind=0")
    assert "judges right" not in client.get("/").text
    assert '<td data-name="failure type">' not in client.get("/").text
    labelled(client, "pair-00001")
    assert told("/item?id=pair-00001&view=overview&order=number")
    assert not told("/item?id=pair-00001&view=overview&order=number&blind=1")
    told_in_list = re.findall(r'<td data-name="failure type"><bdi>(.*?)</bdi>', client.get("/").text)
    assert told_in_list[0] == "self contradiction"
    assert not any(told_in_list[1:])
    assert 'name="blind" value="1"' in client.get("/?blind=1").text


def test_who_looks_at_the_flaw_of_a_pair_before_its_label_sees_that_of_no_other(tmp_path: Path) -> None:
    client = audit_scenes.client(PairSource(audit_scenes.benchmark(tmp_path, 5), annotator="anna"))
    html = client.get("/item?id=pair-00002&view=facts&order=number&blind=0").text
    assert "Hide the flaw" in html
    links = [link.replace("&amp;", "&") for link in re.findall(r'(?:href|action)="(/[^"]*)"', html)]
    kept = {link for link in links if "blind=0" in link}
    assert kept
    assert all("id=pair-00002" in link for link in kept)
    others = [link for link in links if "id=" in link and "id=pair-00002" not in link]
    assert len(others) > 1
    assert not any("Hide the flaw" in client.get(link).text for link in others)
    form = {"csrf": form_token(audit_scenes.TOKEN), "note": "", "value": "clean"}
    [action] = {link for link in kept if link.startswith("/label")}
    page = client.post(action, data=form, headers={"origin": "http://127.0.0.1:8123"})
    assert "id=pair-00003" in str(page.url)
    assert "Show the flaw" in page.text
    listed = client.get("/?order=number&blind=0").text
    assert "blind" not in listed
    told = re.findall(r'<td data-name="failure type"><bdi>(.*?)</bdi>', listed)
    assert [bool(one) for one in told] == [False, True, *[False] * (len(told) - 2)]


def test_who_shows_and_hides_the_flaw_of_a_labelled_pair_sees_that_of_no_other(tmp_path: Path) -> None:
    client = audit_scenes.client(PairSource(audit_scenes.benchmark(tmp_path, 5), annotator="anna"))
    labelled(client, "pair-00001")

    def turned(address: str) -> tuple[bool, str]:
        html = client.get(address).text
        link = re.search(r'class="blind" href="([^"]*)"', html)
        assert link is not None
        return "Hide the flaw" in html, link[1].replace("&amp;", "&")

    for pair_id, shown in (("pair-00001", True), ("pair-00002", False)):
        first, there = turned(f"/item?id={pair_id}&order=number")
        second, back = turned(there)
        assert (first, second) == (shown, not shown)
        assert "blind=" in there
        assert "blind=" not in back
        assert turned(back)[0] == shown
    assert turned("/item?id=pair-00001&order=number&blind=0")[1].endswith("view=overview")
    assert "blind=1" in turned("/item?id=pair-00001&order=number&blind=0")[1]
    assert "blind=0" in turned("/item?id=pair-00002&order=number&blind=1")[1]


def test_the_keys_of_views_are_named_where_they_do_something(tmp_path: Path) -> None:
    client = audit_scenes.client(PairSource(audit_scenes.benchmark(tmp_path, 3), annotator="anna"))
    words = "overview, plans, conversations, verification, judges, fact check"
    assert words not in client.get("/item?id=pair-00001").text
    assert words in client.get("/item?id=pair-00001&blind=0").text


def test_columns_stay_where_they_are_when_a_label_lets_one_be_seen(tmp_path: Path) -> None:
    client = audit_scenes.client(PairSource(audit_scenes.benchmark(tmp_path, 5), annotator="anna"))

    def columns() -> list[str]:
        return re.findall(r'<th scope="col">(.*?)</th>', client.get("/?order=number").text)

    assert columns() == ["pair", "domain", "behaviour", "rounds", "state", "label"]
    labelled(client, "pair-00002")
    every = ["pair", "domain", "failure type", "behaviour", "rounds", "state", "judges right", "label"]
    assert columns() == every
    labelled(client, "pair-00001")
    assert columns() == every


def test_a_port_that_does_not_exist_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"port 70000 of 127\.0\.0\.1 cannot be had"):
        serving.serve(audit_scenes.every_kind(), ready=print, port=70_000)


def test_ctrl_c_ends_it_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    def interrupted(_self: object, sockets: list[socket.socket]) -> None:
        assert sockets[0].getsockname()[0] == "127.0.0.1"
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    addresses: list[tuple[str, str]] = []
    serving.serve(audit_scenes.every_kind(), ready=lambda *told: addresses.append(told), token=TOKEN)
    assert addresses[0][0].endswith(f"/?token={TOKEN}")
    assert TOKEN not in addresses[0][1]


def test_without_the_extra_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(NotInstalledError, match=r"'\.\[audit\]'"):
        serving.serve(audit_scenes.every_kind(), ready=print)
