"""Source files and the modules they are."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from judgeharness_integrations._errors import NotInstalledError, UsageError

from .syntax import RUN_METHODS, OtherFiles, Outline, outline_of, words_of

if TYPE_CHECKING:
    import libcst as cst
    from libcst.metadata import MetadataWrapper

    from .view import ModuleView

_SKIPPED_FOLDERS = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"})
# what a named file can be that is no Python, whatever its text looks like: many a YAML file can be parsed as Python
_NOT_PYTHON = frozenset(
    {
        *(".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".md", ".rst", ".ipynb", ".csv", ".tsv"),
        *(".html", ".xml", ".lock", ".sh", ".js", ".ts", ".gz", ".zip", ".parquet", ".sqlite", ".db", ".png", ".pdf"),
    }
)
_BOM = "\ufeff"
_LARGEST_CONFIG = 2_000_000  # bytes; what people write by hand is smaller


class SourceError(UsageError):
    """A file that cannot be read or parsed; `path` and `line` say where."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        """Build the sentence `path:line: reason`."""
        self.path, self.line = path, line
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {reason}")


def check_parser() -> None:
    """Raise a NotInstalledError unless libcst is installed."""
    if find_spec("libcst") is None:
        raise NotInstalledError("libcst, which reads Python sources,", "migration")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Text:
    """A file's text with its line endings as they are, without byte order mark.

    `tree` are the files that are scanned with it, in which its imports are followed; None where it stands alone.
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    tree: OtherFiles | None = None

    def with_text(self, text: str) -> Self:
        """Return the same file with another text."""
        return type(self)(path=self.path, text=text, encoding=self.encoding, bom=self.bom, tree=self.tree)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines without their endings, as editors count them."""
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    def encoded(self, text: str) -> bytes:
        """Return another text of this file as bytes: its encoding, its byte order mark."""
        return (_BOM if self.bom else "").encode("utf-8") + text.encode(self.encoding)


@dataclass(frozen=True, kw_only=True, eq=False)
class Source(_Text):
    """A Python file. `module` and `wrapper` are its libcst tree, parsed at first use; `view` what the tree says."""

    @classmethod
    def read(cls, path: Path, *, tree: OtherFiles | None = None) -> Self:
        """Read a file in the encoding it declares.

        Raises:
            SourceError: it cannot be read, or is not in that encoding.

        """
        content = _content(path)
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
            text = content.decode(encoding)  # utf-8-sig takes the byte order mark off
        except (SyntaxError, UnicodeDecodeError) as error:
            raise SourceError(path, 1, f"its encoding cannot be read ({error}).") from None
        bom = encoding == "utf-8-sig"
        return cls(path=path, text=text, encoding="utf-8" if bom else encoding, bom=bom, tree=tree)

    @cached_property
    def wrapper(self) -> MetadataWrapper:
        """The tree with its metadata; its nodes are those of `module` and of every site.

        Raises:
            SourceError: it is not Python.

        """
        import libcst as cst  # noqa: PLC0415 - few files are parsed
        from libcst.metadata import MetadataWrapper  # noqa: PLC0415

        try:
            return MetadataWrapper(cst.parse_module(self.text), unsafe_skip_copy=True)
        except cst.ParserSyntaxError as error:
            raise SourceError(self.path, error.raw_line, "it cannot be parsed as Python 3.") from None
        except RecursionError:
            raise SourceError(self.path, None, "it nests too deeply to be parsed.") from None

    @property
    def module(self) -> cst.Module:
        """The libcst tree; `module.code` is `text` again."""
        return self.wrapper.module

    @cached_property
    def view(self) -> ModuleView:
        """Names, bindings and positions of the tree."""
        from .view import ModuleView  # noqa: PLC0415 - few files are parsed

        return ModuleView(self.wrapper, self.path, self.tree)

    def forget(self) -> None:
        """Forget what was found out about the tree, as other files have changed what it means; it stays parsed."""
        self.__dict__.pop("view", None)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConfigSource(_Text):
    """A JSON evaluation config of ADK: an object with `criteria`."""

    @classmethod
    def read(cls, path: Path, *, tree: OtherFiles | None = None) -> Self:
        """Read a file.

        Raises:
            SourceError: it cannot be read or is not UTF-8.

        """
        try:
            text = _content(path).decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(path, None, f"it is not UTF-8 ({error.reason}).") from None
        return cls(path=path, text=text.removeprefix(_BOM), bom=text.startswith(_BOM), tree=tree)

    @cached_property
    def document(self) -> Any:
        """The parsed JSON.

        Raises:
            SourceError: it is not JSON.

        """
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise SourceError(self.path, error.lineno, f"it is not JSON ({error.msg}).") from None
        except RecursionError:
            raise SourceError(self.path, None, "it nests too deeply to be parsed.") from None

    @property
    def criteria(self) -> Mapping[str, Any]:
        """Metric name -> its criterion (a threshold or an object); empty for other JSON."""
        document = self.document
        found = document.get("criteria") if isinstance(document, dict) else None
        return found if isinstance(found, dict) else {}


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(path, None, f"it cannot be read ({error.strerror or error}).") from None


def excluded(path: Path, patterns: Sequence[str]) -> bool:
    """Whether a path, one of its folders or its name matches one of the patterns (`build`, `*/generated/*`)."""
    text = path.as_posix()
    return any(
        fnmatch(text, pattern) or fnmatch(text, f"*/{pattern}") or any(fnmatch(part, pattern) for part in path.parts)
        for pattern in (given.rstrip("/") for given in patterns)
    )


def python_files(paths: Iterable[Path], *, exclude: Sequence[str] = ()) -> tuple[Path, ...]:
    """Return the Python files below paths, sorted; files that are named are taken whatever they are called.

    Raises:
        UsageError: a path does not exist.

    """
    return tuple(dict.fromkeys(_files(paths, (".py",), exclude)))


def config_files(paths: Iterable[Path], *, exclude: Sequence[str] = ()) -> tuple[Path, ...]:
    """Return the JSON files below paths that look like ADK evaluation configs: they hold a key `criteria`.

    Raises:
        UsageError: a path does not exist.

    """
    return tuple(dict.fromkeys(path for path in _files(paths, (".json",), exclude) if _has_criteria(path)))


def _files(paths: Iterable[Path], suffixes: tuple[str, ...], exclude: Sequence[str]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from (found for found in _below(path, path, exclude) if found.suffix in suffixes)
        elif not path.exists():
            raise UsageError(f"{path} does not exist: name a file or a folder.")
        elif path.suffix in suffixes or (".py" in suffixes and path.suffix not in _NOT_PYTHON):
            yield path


def _below(folder: Path, root: Path, exclude: Sequence[str]) -> Iterator[Path]:
    """Yield files, never through a skipped folder or a link to a folder; what cannot be listed holds none."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if excluded(entry.relative_to(root), exclude):
            continue
        if entry.is_dir():
            if entry.name not in _SKIPPED_FOLDERS and not entry.is_symlink():
                yield from _below(entry, root, exclude)
        elif entry.is_file():
            yield entry


def _has_criteria(path: Path) -> bool:
    try:
        return path.stat().st_size <= _LARGEST_CONFIG and b'"criteria"' in path.read_bytes()
    except OSError:
        return False


# how the prompts of judges begin; what follows need not become a verdict in this file
ROLE = re.compile(
    r"(?:^|\\n|[\"'])\W*(?:"
    r"(?:(?:system|user|please)\W+)?(?:you(?: are|'re| will be| will act as| act as)|act(?:ing)? as|assume the role of)"
    r"\s+(?:an?|the)\s+(?:[\w-]+,? ){0,5}?(?:judge|grader|evaluator|assessor|referee|rater|adjudicator|examiner)\b"
    r"|you are (?:an?|the) [^.\n]{0,60}\b(?:tasked with|that|who|responsible for|whose (?:job|task) is to)"
    r"\s+(?:\w+\s+){0,2}(?:judg|evaluat|grad|assess|rat|scor)(?:e|es|ing)\b"
    r"|your (?:task|job|goal|role) is to (?:\w+ly )?(?:judge|evaluate|grade|assess|rate|score)\b)",
    re.IGNORECASE | re.MULTILINE,
)
# an answer out of few: quotation marks, and the ends of joined literals, may stand between its words
CLOSED = re.compile(
    r"\b(?:yes|y)\b\W{0,12}(?:\bor\b\W{0,6})?\bno?\b|\b(?-i:A)\b\W{0,4}(?:(?:\bor\b|/|,)\W{0,6})+\b(?-i:B)\b"
    r"|\btrue\b\W{0,6}(?:\bor\b|/|\|)\W{0,6}\bfalse\b|\bpass\w*\W{0,6}(?:\bor\b|/|\|)\W{0,6}\bfail"
    r"|\b(?:in)?correct\b\W{0,6}(?:\bor\b|/|\|)\W{0,6}\b(?:in)?correct\b|\b(?:0\W{1,3}or\W{1,3}1|1\W{1,3}or\W{1,3}0)\b"
    r"|\b[01](?:\.0)?\s*(?:to|-|\N{EN DASH}|and|through)\s*(?:1\.0|[345]|10|100)\b",
    re.IGNORECASE,
)
_ANSWER = (
    r"(?:answers?|responses?|repl(?:y|ies)|outputs?|predictions?|completions?|summar(?:y|ies)|submissions?|essays?"
    r"|translations?)"
)
# a question about an answer
ABOUT_ANSWERS = re.compile(
    r"\b(?:does|do|did|is|are|was|were|has|have|can|could|would|should|how well|whether|if|compare|which of|mark"
    r"|give)\b[^.?!]{0,60}?\b(?:the|this|that|these|those|both|two|each|either)\W+(?:[\w'-]+\W+){0,3}?"
    rf"{_ANSWER}\b(?!\W+(?:as|with|must|yes)\b)"
    rf"|\bwhich\W+(?:[\w'-]+\W+){{0,2}}?{_ANSWER}\b"
    r"|\b(?:which|choose|pick|select)\b[^.?!]{0,40}\b(?:better|preferred|stronger|winner)\b",
    re.IGNORECASE,
)
# names without which no judge of a framework is made
_FRAMEWORKS = re.compile(
    r"load_evaluators?\b|EvalChain\b|\bdspy\b|\b(?:open|agent)evals\b|_as_judge\b|LangChainStringEvaluator|RunEvalConfig|StringEvaluator\b"
    r"|json_match_evaluator|judgeharness_|langchain\.(?:evaluation|smith)"
)
# a model is asked ...
_ASKED = re.compile(
    r"\.(?:a?invoke|a?predict|a?generate|a?complete|a?batch|a?call|create|parse|acreate|a?completion|chat"
    r"|generate_content(?:_async)?|apredict_messages|predict_messages|run|run_sync|arun|apply|aapply|send_message|converse|__call__)\s*\("
    r"|\b(?:litellm|aisuite|ollama)\b|\ba?completion\s*\(|_evaluate\w*\(|\b\w*(?:llm|model|client|chain|chat)\w*\s*\("
)
# the same, by what few other objects have
_CLIENT = re.compile(
    r"completions?\.(?:create|parse)|responses\.(?:create|parse)|messages\.create|generate_content|\.converse\s*\("
    r"|\.a?invoke\s*\(|\b(?:litellm|aisuite|ollama)\b|\ba?completion\s*\(|\.post\s*\(|\.a?(?:predict|generate|complete)\s*\("
    r"|\b(?:\w*llm|model|chat_?model|chat)\s*\("
)
# ... with words of judging: no text that `questions.asks_to_judge` takes for a judge's goes by
_JUDGING = re.compile(
    r"judg|evaluat|(?:\b|\\n)(?:grad(?:e|er|ing)|rat(?:e|er|ing)|scor(?:e|ing))|verdict|\[\[|better|PASS|rubric|assess"
    r"|critique|on a scale|compare|(?:determine|decide|check) (?:if|whether)|out of (?:5|10|100|five|ten)|prefer|best"
    r"|is (?:the|this) (?:\w+ ){1,3}(?:correct|good|helpful|faithful|grounded|polite|relevant)",
    re.IGNORECASE,
)

_EVALUATORS = re.compile(r"\bevaluators\s*=")
_EXPERIMENT = re.compile(r"\ba?evaluate(?:_\w+)?\s*\(|run_evaluator|HarnessRunEvaluator")


def may_hold_judges(text: str) -> bool:
    """Whether a Python text names an evaluator, asks a model and speaks of judging, or makes somebody a judge."""
    if _FRAMEWORKS.search(text) or ROLE.search(text) or may_evaluate(text):
        return True
    return bool(_ASKED.search(text) and speaks_of_judging(text))


def may_evaluate(text: str) -> bool:
    """Whether a Python text may give evaluators to LangSmith's `evaluate`."""
    return bool(_EVALUATORS.search(text) or ("langsmith" in text.lower() and _EXPERIMENT.search(text)))


def asks_somebody(text: str) -> bool:
    """Whether a Python text may ask a model, about whatever."""
    return bool(_CLIENT.search(text))


def speaks_of_judging(text: str) -> bool:
    """Whether there are words of judging in a text, or a question about an answer that allows few answers."""
    return bool(_JUDGING.search(text) or (CLOSED.search(text) and ABOUT_ANSWERS.search(text)))


def unread_files(paths: Iterable[Path]) -> tuple[SourceError, ...]:
    """Return why those of some paths that are files are not read; files that can be read, and folders, say nothing.

    Python files that may hold judges are left out: whoever parses them says what is wrong with them.
    """
    return tuple(error for path in dict.fromkeys(paths) if path.is_file() for error in _unread(path))


def _unread(path: Path) -> Iterator[SourceError]:
    if path.suffix == ".json":
        if not config_files([path]):
            yield SourceError(path, None, "it is no config of ADK (an object with criteria): it was not read.")
    elif path.suffix in _NOT_PYTHON:
        yield SourceError(path, None, "it is neither Python nor a config of ADK: it was not read.")
    else:
        yield from _unparsed(path)


def _unparsed(path: Path) -> Iterator[SourceError]:
    try:
        source = Source.read(path)
        if not may_hold_judges(source.text):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its string escapes
                ast.parse(source.text)
    except SourceError:
        return  # whoever reads it says so
    except SyntaxError as error:
        yield SourceError(path, error.lineno, "it cannot be parsed as Python 3.")
    except (ValueError, RecursionError, MemoryError):  # a null character; nested too deeply
        yield SourceError(path, None, "it cannot be parsed as Python 3.")


CONFTEST = "conftest.py"
_INIT = "__init__.py"
_STEPS = 30  # re-exports that are followed

Place: TypeAlias = tuple[Path, str, tuple[str, ...]]
"""A file, a name in it (empty for the module) and the attributes behind it."""


class Modules:
    """Python files and how they name each other; paths are absolute."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Nothing is read yet."""
        self.files = {path.absolute(): path for path in files}
        self._texts: dict[Path, str] = {}
        self._outlines: dict[Path, Outline] = {}
        self._words: dict[Path, Mapping[str, str]] = {}
        self._places: dict[tuple[Path, str], Place | None] = {}

    def place(self, importer: Path, full: str) -> Place | None:
        """Return what a full name, as a file imports it, means, through re-exports; a circle of them ends."""
        # what one folder means by a name, all of its files mean by it
        key = (importer.parent, full)
        if key not in self._places:
            self._places[key] = self._look_up(importer, full, frozenset())
        return self._places[key]

    def outline(self, path: Path) -> Outline:
        """Return what a file binds; one that is not among the files binds nothing."""
        if path not in self._outlines:
            self._outlines[path] = outline_of(self.text(path)) if path in self.files else Outline()
        return self._outlines[path]

    def words(self, importer: Path, full: str) -> str:
        """Return the texts in what a full name is bound to in these files."""
        found = self.place(importer, full)
        if found is None:
            return ""
        path, name, _ = found
        if path not in self._words:
            self._words[path] = words_of(self.text(path))
        return self._words[path].get(name, "")

    def text(self, path: Path) -> str:
        """Return a file's text; an empty one where it cannot be read."""
        if path not in self._texts:
            try:
                self._texts[path] = Source.read(self.files[path]).text
            except SourceError:  # whoever scans it says so
                self._texts[path] = ""
        return self._texts[path]

    def forget_texts(self) -> None:
        """Give the memory of the texts back; what is asked for later is read again."""
        self._texts.clear()

    @cached_property
    def _by_name(self) -> dict[str, list[Path]]:
        """Last part of a module's name -> the files that may be meant."""
        found: dict[str, list[Path]] = {}
        for path in sorted(self.files):
            found.setdefault(path.parent.name if path.name == _INIT else path.stem, []).append(path)
        return found

    def _module(self, importer: Path, dots: int, parts: list[str]) -> Path | None:
        """Return the file of a module: for an absolute name the nearest one that a folder above it could give."""
        if dots:
            home = importer.parents[dots - 1] if dots <= len(importer.parents) else None
            return None if home is None else self._below(home, parts)
        if not parts or (parts[0] in sys.stdlib_module_names and not self._below(importer.parent, parts[:1])):
            return None
        beside = self._below(importer.parent, parts)
        return beside or max(self._roots(parts), key=lambda one: _common(one, importer.parent), default=None)

    def _roots(self, parts: list[str]) -> Iterator[Path]:
        """Files whose path ends as a name does, below a folder that is no package itself."""
        for path in self._by_name.get(parts[-1], ()):
            levels = len(parts) + (path.name == _INIT)
            root = path.parents[levels - 1] if levels <= len(path.parents) else None
            if root is not None and self._below(root, parts) == path and root / _INIT not in self.files:
                yield path

    def _below(self, home: Path, parts: list[str]) -> Path | None:
        at = home.joinpath(*parts)
        candidates = (at / _INIT, *((at.with_name(f"{at.name}.py"),) if parts else ()))
        return next((candidate for candidate in candidates if candidate in self.files), None)

    def _look_up(self, importer: Path, full: str, seen: frozenset[tuple[Path, str]]) -> Place | None:
        plain = full.lstrip(".")
        dots, parts = len(full) - len(plain), plain.split(".") if plain else []
        for split in range(len(parts), -1, -1):
            path = self._module(importer, dots, parts[:split])
            if path is not None:
                rest = tuple(parts[split:])
                return self._bound(path, rest[0], rest[1:], seen) if rest else (path, "", ())
        return None

    def _bound(self, path: Path, name: str, rest: tuple[str, ...], seen: frozenset[tuple[Path, str]]) -> Place | None:
        if (path, name) in seen or len(seen) > _STEPS:
            return None
        seen |= {(path, name)}
        outline = self.outline(path)
        if name in outline.names:
            return path, name, rest
        if name in outline.imports:
            return self._look_up(path, ".".join((outline.imports[name], *rest)), seen)
        for star in outline.stars:
            base = star if star.endswith(".") else f"{star}."
            found = self._look_up(path, base + ".".join((name, *rest)), seen)
            if found is not None:
                return found
        return None


def _common(one: Path, folder: Path) -> int:
    """How many folders a file and a folder share."""
    return next((n for n, (a, b) in enumerate(zip(one.parts, folder.parts, strict=False)) if a != b), len(folder.parts))


class Following:
    """The imports among files that can be uses of a judge; nothing but texts and outlines is looked at."""

    def __init__(self, modules: Modules) -> None:
        """Nothing is looked at yet."""
        self._modules = modules
        self._holding = {path for path in modules.files if may_hold_judges(modules.text(path))}
        # files that give evaluators to LangSmith, and those that define them: whatever they ask, they judge
        self.evaluating = {path for path in modules.files if may_evaluate(modules.text(path))}
        self._asking = {path for path in modules.files if asks_somebody(modules.text(path))}

    def uses(self, path: Path) -> Iterator[tuple[Path, str]]:
        """Yield what a file imports of another and names in its code: the file and the name in it, or none."""
        outline = self._modules.outline(path)
        named = (full for alias, full in outline.imports.items() if alias.rpartition(".")[2] in outline.read)
        for full in (*named, *outline.stars):
            place = self._modules.place(path, full)
            if place is None or place[0] == path:
                continue
            home, name, _ = place
            if not name:
                yield home, ""
                yield from self._re_exported(path, home)
            elif self._is_used(path, home, name):
                yield home, name

    def _re_exported(self, path: Path, module: Path) -> Iterator[tuple[Path, str]]:
        """Yield what a file can name of what a module it imports has imported itself."""
        read, outline = self._modules.outline(path).read, self._modules.outline(module)
        named = (full for alias, full in outline.imports.items() if alias in read)
        places = [self._modules.place(module, full) for full in named]
        places += [self._modules.place(module, f"{star.rstrip('.')}.{name}") for star in outline.stars for name in read]
        for place in places:
            if place is not None and place[0] != path and (not place[1] or self._is_used(path, place[0], place[1])):
                yield place[:2]

    def _is_used(self, path: Path, home: Path, name: str) -> bool:
        """A class is used by its methods alone, and where LangSmith calls its objects."""
        methods = self._modules.outline(home).methods.get(name)
        if methods is None or (path in self.evaluating and not methods.isdisjoint(RUN_METHODS)):
            return True
        return not methods.isdisjoint(self._modules.outline(path).read)

    def reads_judging(self, path: Path) -> bool:
        """Whether a file can make a judge of a client of another: it or its imports speak of judging."""
        return path in self.evaluating or speaks_of_judging(self._modules.text(path)) or self.imports_judging(path)

    def imports_judging(self, path: Path) -> bool:
        """Whether there are words of judging in what a file imports."""
        imports = self._modules.outline(path).imports.values()
        return any(speaks_of_judging(self._modules.words(path, full)) for full in imports)

    @cached_property
    def importers(self) -> dict[Path, tuple[Path, ...]]:
        """File -> the files that can use something of it."""
        found: dict[Path, dict[Path, None]] = {}
        for path in sorted(self._modules.files) if self._holding | self._asking else ():
            for home, _ in self.uses(path):
                found.setdefault(home, {})[path] = None
        return {home: tuple(paths) for home, paths in found.items()}

    def wanted(self) -> tuple[Path, ...]:
        """Return the files that can pass on what they make or ask themselves, those that others import first.

        Those that pass on what they import are found when that is known.
        """
        clients = {one for one in self._asking - self._holding if any(map(self.reads_judging, self._users(one)))}
        return tuple(
            self._in_order({one for one in self._holding | self.evaluating | clients if self.is_followed(one)})
        )

    def is_followed(self, path: Path) -> bool:
        """Whether anything can use what a file offers: an importer, or the tests that a `conftest.py` serves."""
        return path in self.importers or path.name == CONFTEST

    def _users(self, path: Path) -> set[Path]:
        """Return the files that use something of a file, or of one that does, and so on."""
        found: set[Path] = set()
        waiting = [path]
        while waiting:
            new = [one for one in self.importers.get(waiting.pop(), ()) if one not in found]
            found.update(new)
            waiting += new
        return found

    def _in_order(self, wanted: set[Path]) -> Iterator[Path]:
        """Yield each file behind those it imports, as far as they do not import each other."""
        imports: dict[Path, list[Path]] = {}
        for home, users in self.importers.items():
            for user in users if home in wanted else ():
                imports.setdefault(user, []).append(home)
        opened: set[Path] = set()
        for start in sorted(wanted):
            waiting = [(start, False)]
            while waiting:
                path, is_done = waiting.pop()
                if is_done:
                    yield path
                elif path not in opened:
                    opened.add(path)
                    waiting += [(path, True), *((one, False) for one in imports.get(path, ()) if one in wanted)]
