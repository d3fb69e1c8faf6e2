"""What is read and what is not: encodings, line endings, skipped folders, broken files, places in JSON, comments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scan_bench import source_of

from judgeharness_integrations._errors import ConfigError, NotInstalledError, UnknownNameError, UsageError
from judgeharness_integrations.migration import modules as sources
from judgeharness_integrations.migration.frameworks import key_places
from judgeharness_integrations.migration.inspection import Finding, suppressions_of
from judgeharness_integrations.migration.modules import ConfigSource, Source, SourceError, config_files, python_files
from judgeharness_integrations.migration.scanning import ScanSettings, nearest_settings, scan

JUDGE = "from openevals import create_llm_as_judge\njudge = create_llm_as_judge(prompt='p')\n"


@pytest.mark.parametrize(
    ("content", "text", "encoding", "bom"),
    [
        (b"x = 1\r\n", "x = 1\r\n", "utf-8", False),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8", True),
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = '\xe9'\n", "iso-8859-1", False),
        (b"", "", "utf-8", False),
    ],
)
def test_a_python_file_keeps_its_bytes(tmp_path: Path, content: bytes, text: str, encoding: str, bom: bool) -> None:  # noqa: FBT001
    path = tmp_path / "a.py"
    path.write_bytes(content)
    source = Source.read(path)
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert source.encoded(source.text) == content
    assert source.module.code == text
    assert source.with_text("y").encoding == encoding


def test_a_config_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"criteria": {}}\r\n')
    source = ConfigSource.read(path)
    assert source.encoded(source.text) == path.read_bytes()
    assert source.with_text('{"criteria": {"a": 1}}').criteria == {"a": 1}
    assert source.lines == ('{"criteria": {}}', "")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.py", b"x = '\xff'", "a.py:1: its encoding cannot be read"),
        ("a.py", b"# coding: no-such\n", "a.py:1: its encoding cannot be read"),
        ("a.py", b"x = 1\ndef f(:\n", "a.py:2: it cannot be parsed as Python 3."),
        ("a.json", b"\xff", "a.json: it is not UTF-8"),
        ("a.json", b'{\n"criteria": }', "a.json:2: it is not JSON"),
        ("a.json", b"[" * 100_000, "a.json: it nests too deeply to be parsed."),
    ],
)
def test_a_broken_file_is_one_sentence_with_its_place(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=says.replace("(", r"\(")):
        _ = Source.read(path).module if name.endswith(".py") else ConfigSource.read(path).criteria


def test_a_file_that_is_gone_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="it cannot be read"):
        Source.read(tmp_path / "gone.py")


def test_python_that_nests_too_deeply_is_a_source_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_deep(_: str) -> None:
        raise RecursionError

    monkeypatch.setattr("libcst.parse_module", too_deep)
    with pytest.raises(SourceError, match="nests too deeply"):
        _ = source_of("x = 1").module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.py", "b/c.py", "b/d.txt", "venv/e.py", "b/__pycache__/f.py", "lib/site-packages/g.py", "gen/h.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(JUDGE)
    (tmp_path / "b" / "test_config.json").write_text('{"criteria": {"safety_v1": 1}}')
    (tmp_path / "b" / "other.json").write_text('{"a": 1}')
    (tmp_path / "loop").symlink_to(tmp_path)
    return tmp_path


def names(tree: Path, paths: tuple[Path, ...]) -> list[str]:
    return [path.relative_to(tree).as_posix() for path in paths]


def test_installed_and_hidden_folders_are_skipped_unless_named(tree: Path) -> None:
    assert names(tree, python_files([tree])) == ["a.py", "b/c.py", "gen/h.py"]
    assert names(tree, python_files([tree / "venv", tree / "lib" / "site-packages"])) == [
        "venv/e.py",
        "lib/site-packages/g.py",
    ]
    assert names(tree, python_files([tree / "b" / "d.txt", tree / "a.py", tree])) == [
        "b/d.txt",
        "a.py",
        "b/c.py",
        "gen/h.py",
    ]
    assert names(tree, config_files([tree, tree / "b" / "test_config.json"])) == ["b/test_config.json"]
    assert config_files([tree / "b" / "other.json", tree / "a.py"]) == ()


@pytest.mark.parametrize(
    ("pattern", "left"),
    [("gen", ["a.py", "b/c.py"]), ("gen/", ["a.py", "b/c.py"]), ("b/*.py", ["a.py", "gen/h.py"]), ("?.py", [])],
)
def test_patterns_leave_files_and_folders_out(tree: Path, pattern: str, left: list[str]) -> None:
    assert names(tree, python_files([tree], exclude=[pattern])) == left


def test_a_path_that_does_not_exist_is_refused(tree: Path) -> None:
    with pytest.raises(UsageError, match="does not exist: name a file or a folder"):
        python_files([tree / "nowhere"])


def test_a_folder_that_cannot_be_listed_holds_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "iterdir", forbidden)
    assert python_files([tree]) == ()


def test_broken_files_do_not_stop_the_rest(tree: Path) -> None:
    (tree / "b" / "c.py").write_text("judge = create_llm_as_judge(")
    (tree / "gen" / "h.json").write_text('{"criteria" 1')
    told: list[tuple[int, int]] = []
    report = scan([tree], progress=lambda done, files: told.append((done, files)))
    assert [str(error.path.name) for error in report.unreadable] == ["c.py", "h.json"]
    assert (report.files, len(report.findings)) == (3, 3)
    assert told[-1] == (5, 5)
    assert report.to_dict()["statistics"] == {"JH002": 3}


def test_without_libcst_the_pip_line_is_named(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda _: None)
    with pytest.raises(NotInstalledError, match=r"pip install '\.\[migration\]'"):
        scan([tree])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(document=JSON, indent=st.sampled_from([None, 0, 2]))
def test_the_place_of_every_key_holds_that_key_and_its_value(document: object, indent: int | None) -> None:
    text = f" \n{json.dumps(document, indent=indent)}\n"
    for path, (start, end) in key_places(text).items():
        value = document
        for step in path:
            value = value[step]  # type: ignore[index]
        inside = text[start:end]
        if isinstance(path[-1], str):
            assert json.loads("{" + inside + "}") == {path[-1]: value}
        else:
            assert json.loads(inside) == value


def finding(line: int, code: str = "JH002", end: int | None = None) -> Finding:
    return Finding(code=code, path=Path("a.py"), line=line, column=1, end_line=end or line, end_column=2, message="m")


@pytest.mark.parametrize(
    ("comment", "code", "hidden"),
    [
        ("# noqa", "JH002", True),
        ("# NOQA", "JH002", True),
        ("# noqa: JH002", "JH002", True),
        ("#noqa:jh002,JH004", "JH004", True),
        ("# noqa: E501, JH002 - for a reason", "JH002", True),
        ("# noqa: JH004", "JH002", False),
        ("# noqa: E501", "JH002", False),
        ("# noqa: for a reason", "JH002", False),
        ("# no quality", "JH002", False),
        ("'# noqa'", "JH002", False),
    ],
)
def test_comments_hide_the_findings_of_their_line(comment: str, code: str, hidden: bool) -> None:  # noqa: FBT001
    suppressions = suppressions_of(
        source_of(f"x = 1\ny = 2  {comment if comment.startswith('#') else '+ ' + comment}\n")
    )
    assert suppressions.hide(finding(2, code)) is hidden
    assert suppressions.hide(finding(1, code, end=2)) is hidden
    assert not suppressions.hide(finding(1, code))


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# judgeharness: noqa", {"JH002", "JH004"}),
        ("  # judgeharness:noqa: JH004", {"JH004"}),
        ("# judgeharness: noqa for now", set()),
    ],
)
def test_a_comment_hides_a_whole_file(comment: str, hidden: set[str]) -> None:
    suppressions = suppressions_of(source_of(f"x = 1\n{comment}\n"))
    assert {code for code in ("JH002", "JH004") if suppressions.hide(finding(1, code))} == hidden


def test_json_has_no_comments() -> None:
    assert not suppressions_of(ConfigSource(path=Path("a.json"), text='"# noqa"')).hide(finding(1))


def test_settings_come_from_the_nearest_table(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.judgeharness.scan]\nselect = ["JH00"]\nignore = ["JH003"]\nexclude = ["gen"]\n'
        '[tool.judgeharness.scan.per-file-ignores]\n"a/*" = ["JH002"]\n'
    )
    (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'without our table'\n")
    settings = nearest_settings(inner)
    assert settings.exclude == ("gen",)
    assert settings.codes_for(tmp_path / "a" / "x.py") == {f"JH00{n}" for n in (1, 4, 5, 6, 7, 8, 9)}
    assert "JH002" in settings.codes_for(tmp_path / "x.py")
    assert "JH002" in settings.codes_for(Path("/elsewhere/x.py"))
    wider = settings.overridden(select=["JH003", "JH010"], exclude=["more"])
    assert wider.codes_for(tmp_path / "x.py") == {"JH003", "JH010"}
    assert wider.exclude == ("gen", "more")
    assert settings.overridden(ignore=["JH00"]).codes_for(inner) == set()
    assert nearest_settings(tmp_path / "x.py").select == ("JH00",)


def test_without_a_table_every_rule_is_selected(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\njudgeharness = 3\n")
    assert nearest_settings(tmp_path) == ScanSettings()
    assert len(ScanSettings().codes_for(tmp_path)) == 13


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        ("[tool.judgeharness.scan]\nselct = []", UnknownNameError, "unknown key 'selct': did you mean 'select'"),
        ("[tool.judgeharness.scan]\nselect = ['JX']", UnknownNameError, "unknown rule 'JX'"),
        ("[tool.judgeharness.scan]\nselect = 'JH002'", ConfigError, "'select' of .* must be a list of texts"),
        ("[tool.judgeharness.scan]\nper-file-ignores = 3", ConfigError, "must be a table of lists"),
        ("[tool.judgeharness]\nscan = 3", ConfigError, "must be a table"),
        ("[tool", ConfigError, "cannot be read"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, table: str, error: type[Exception], says: str) -> None:
    (tmp_path / "pyproject.toml").write_text(table)
    with pytest.raises(error, match=says):
        nearest_settings(tmp_path)
