"""A Python file with its judges at a level."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.prefilter import may_hold_judges
from judgeharness_integrations.migration.rewriting.deciding import Wrap, decision, is_discrete, is_harnessed
from judgeharness_integrations.migration.rewriting.edits import edited
from judgeharness_integrations.migration.rewriting.filework import FileWork
from judgeharness_integrations.migration.rewriting.harnessedcost import harnessed_calls
from judgeharness_integrations.migration.rewriting.noting import line_notes_on, notes_on, notes_on_uses
from judgeharness_integrations.migration.rewriting.outcome import ByHand, Level, Rewrite
from judgeharness_integrations.migration.rewriting.places import Places
from judgeharness_integrations.migration.rewriting.raising import raises
from judgeharness_integrations.migration.rewriting.removing import removed_imports
from judgeharness_integrations.migration.rewriting.stringevaluators import KIND, Replacement, replacement
from judgeharness_integrations.migration.sites import JudgeSite, find_sites
from judgeharness_integrations.migration.sources import Source, SourceError
from judgeharness_integrations.migration.unresolved import may_call_judges, unresolved_judges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import libcst as cst

__all__ = ["rewritten_python"]


def rewritten_python(source: Source, level: Level) -> Rewrite:
    """Return a file with every judge that can be wrapped mechanically at a level; no level is ever lowered.

    Raises:
        SourceError: the file cannot be parsed.

    """
    inspection = _inspected(source)
    if inspection is None:
        return Rewrite(before=source.text, after=source.text)
    found = [site for site in inspection.sites if site.definition is None]
    sites, unknown = _judges(found), _unknown(inspection)
    notes = (*line_notes_on(inspection), *notes_on_uses(inspection))
    if not sites and "JudgeHarness" not in source.text:
        return Rewrite(before=source.text, after=source.text, by_hand=unknown, line_notes=notes)
    work = FileWork(Places(source), level)
    bare = [site for site in sites if not is_harnessed(source.view, site)]
    by_hand = _rewrite(work, bare)
    raised = _raise(work, sites) if level == "measured" else []
    done = [site for site in sites if site not in bare and site not in raised]
    after = edited(source.text, work.all_edits())
    problem = _problem(source.with_text(after), by_hand) if after != source.text else None
    return Rewrite(
        before=source.text,
        after=source.text if problem else after,
        changes=() if problem else tuple(sorted(work.changes, key=lambda one: one.line)),
        by_hand=tuple(sorted((*by_hand, *unknown), key=lambda one: one.line)),
        harnessed_calls=tuple(harnessed_calls(source.view, site) for site in done),
        notes=() if problem else tuple(notes_on(work.changes)),
        line_notes=notes,
        problem=problem,
    )


def _inspected(source: Source) -> Inspection | None:
    """Return a file under inspection; None where nothing in its text speaks of judges."""
    text = source.text
    tree = source.tree
    concerned = tree is not None and tree.concerns(source.path, text)
    named = tree is not None and may_call_judges(text, tree.outline(source.path))
    if not (concerned or named or may_hold_judges(text) or "JudgeHarness" in text):
        return None
    return Inspection(source)


def _unknown(inspection: Inspection) -> tuple[ByHand, ...]:
    """Return what looks like a judge and is not resolved, where a tree of files was looked through."""
    found = unresolved_judges(inspection) if inspection.source.tree is not None else ()
    todo = "name the file that makes it too, or wrap it there"
    return tuple(ByHand(line=one.line, framework="handwritten", kind=one.name, why=one.why, todo=todo) for one in found)


def _judges(found: Iterable[JudgeSite]) -> list[JudgeSite]:
    """Return the judges that ask a model, and those that only a class LangSmith has removed could run."""
    return [site for site in found if not site.deterministic or site.kind == KIND]


def _rewrite(work: FileWork, bare: Sequence[JudgeSite]) -> list[ByHand]:
    """Wrap and replace what can be, and return the rest."""
    by_hand: list[ByHand] = []
    wraps: dict[cst.CSTNode, list[Wrap]] = {}
    for site in bare:
        found = None if site.kind == KIND else decision(work.places.view, site)
        if isinstance(found, Wrap):
            wraps.setdefault(found.node, []).append(found)
        elif found is not None:
            by_hand.append(found)
    for node in sorted(wraps, key=work.names.is_local):  # what the module imports, its functions need not
        work.wrap(wraps[node])
    replaced = []
    for site in bare:
        if site.kind == KIND:
            stands_in = replacement(work.places, site, wraps)
            if isinstance(stands_in, Replacement):
                work.replace(stands_in)
                replaced.append(stands_in.node)
            else:
                by_hand.append(stands_in)
    work.edits += removed_imports(work.places, KIND, replaced)
    return by_hand


def _raise(work: FileWork, sites: Iterable[JudgeSite]) -> list[JudgeSite]:
    """Raise every harness of one sample, and return the judges that were seen beside them."""
    of_node: dict[cst.CSTNode | None, list[JudgeSite]] = {}
    for site in sites:
        of_node.setdefault(site.node, []).append(site)
    discrete = frozenset(s.node for s in sites if s.node is not None and is_discrete(work.places.view, s.node))
    seen: list[JudgeSite] = []
    for found in raises(work.places, discrete=discrete, quote=work.quote):
        beside = of_node.get(found.judge, []) if found.judge is not None else []
        work.raise_(found, beside)
        seen += beside
    return seen


def _problem(after: Source, by_hand: Sequence[ByHand]) -> str | None:
    """Return why a new text is not to be written: it cannot be parsed, or a judge of it is still asked bare."""
    try:
        bare = Counter(
            (str(site.framework), site.kind)
            for site in _judges(find_sites(after))
            if not is_harnessed(after.view, site)
        )
    except SourceError as error:
        return f"the new text could not be parsed ({error}), so the file stays as it is: please report it."
    bare.subtract((one.framework, one.kind) for one in by_hand)
    left = sorted(kind for (_, kind), count in bare.items() if count > 0)
    if not left:
        return None
    return f"{', '.join(left)} would still be asked without a harness, so the file stays as it is: wrap it by hand."
