"""The runs of a log for people: the latest beside the one before, trends, then every run with progress and cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import join
from typing import Any, Final, TypeAlias

from judgeharness_integrations.verdictlog.encoding import counted, fixed, listed, percent, share

from .measured import named_after
from .sections import Block, Finding, Section, Table

Run: TypeAlias = Mapping[str, Any]

_STATES: Final = {"budget_exhausted": "out of budget", "judge_down": "a judge is down", None: "imported"}
_BARS: Final = "▁▂▃▄▅▆▇█"
_MOST_BARS: Final = 20
_LEAST_RANGE: Final = 0.1
_NAMED: Final = 3  # judges with a sentence of their own
_CHANGED: Final = {"cases": "other cases", "judges": "another judge", "harness": "another design or rule"}


def runs_section(document: Mapping[str, Any], *, changed: Sequence[str] = ()) -> Section:
    """Return the list of runs for people.

    Args:
        document: what `judgeharness runs --json` prints.
        changed: which parts of the last two runs that were measured differ.

    """
    runs = document["runs"]
    found = runs_finding(document, changed=changed)
    left = [run["run"] for run in runs if run["answered_calls"] and run["measured"] is None]
    told = "its rule does not stand in the log, or older answers were left out: try --all, or `judgeharness report`"
    unmeasured = [f"not measured here: {listed(left, _MOST_NAMES)}; {told}"] if left else []
    return Section(
        title=found.answer,
        blocks=(
            *found.opening(),
            *_trends(runs),
            *_measured(runs),
            _table(runs),
            f"log: {document['log']}",
            *unmeasured,
        ),
    )


_MOST_NAMES: Final = 3


def runs_finding(document: Mapping[str, Any], *, changed: Sequence[str] = ()) -> Finding:
    """Return what the latest run came to beside the one before, and the command that tests the difference.

    Args:
        document: see `runs_section`.
        changed: see there.

    """
    runs = document["runs"]
    measured = [one for one in runs if one["measured"]]
    if not measured:
        return Finding(answer=f"{counted(len(runs), 'run')}; none is measured here")
    latest, before = measured[-1], measured[-2] if len(measured) > 1 else None
    earlier = {} if before is None else {_key(one): one for one in before["measured"]}
    lines = [_beside(one, earlier.get(_key(one))) for one in latest["measured"]]
    answer = f"{latest['run']}: {lines[0]}"
    more = [f"{len(lines) - _NAMED} more judges or criteria are below"] if len(lines) > _NAMED else []
    differs = " and ".join(map(_CHANGED.__getitem__, changed))
    told = [f"{latest['run']} has {differs} than the run before it"] if changed else []
    following = _next(latest, before, document["log"])
    return Finding(answer=answer, reasons=(*lines[1:_NAMED], *more, *told), next=following)


def _next(latest: Run, before: Run | None, source: str) -> str:
    if before is None or before["rule"] != latest["rule"]:
        return join(["judgeharness", "report", source, "--run", latest["run"], "--rule", latest["rule"]])
    runs = ("--run-a", before["run"], "--run-b", latest["run"], "--rule", latest["rule"])
    return join(["judgeharness", "compare", source, source, *runs])


def _key(one: Mapping[str, Any]) -> tuple[str, str]:
    return one["judge"], one["criterion"]


def _beside(one: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """Return `house abstained on 8 of 24 cases (before: 4 of 24), right on 93.8 % of 16 decided with gold (...)`."""
    told = [f"abstained on {one['abstained']} of {counted(one['cases'], 'case')}{_was(before, 'abstained', 'cases')}"]
    if one["accuracy"] is not None:
        was = "" if before is None else f" (before: {_right(before)})"
        told.append(f"right on {_right(one)} decided cases with gold{was}")
    return f"{named_after(one['judge'], one['criterion'])} {', '.join(told)}"


def _was(before: Mapping[str, Any] | None, part: str, whole: str) -> str:
    return "" if before is None else f" (before: {before[part]} of {before[whole]})"


def _right(one: Mapping[str, Any]) -> str:
    return "-" if one["accuracy"] is None else f"{percent(one['accuracy'])} % of {one['decided_with_gold']}"


def _trends(runs: Sequence[Run]) -> Iterator[Block]:
    """Yield a row a judge and criterion: its last runs as bars, with what the latest came to."""
    entries: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for run in runs:
        for one in run["measured"] or ():
            entries.setdefault(_key(one), []).append(one)
    several = {key: found for key, found in entries.items() if len(found) > 1}
    if several:
        columns = ("judge", "runs", "right %", "abstained %", "consistency %")
        yield Table.of(
            "trends, the oldest run left, and the latest value", columns, (_trend(*one) for one in several.items())
        )
        yield f"a bar a run, at most {_MOST_BARS}: from the lowest to the highest of them, at least 10 points apart"


def _trend(key: tuple[str, str], found: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    shares = ([value(one) for one in found] for value in _SHARES)
    return named_after(*key), str(len(found)), *map(sparkline, shares)


def _accuracy(one: Mapping[str, Any]) -> float | None:
    value: float | None = one["accuracy"]
    return value


def _abstained(one: Mapping[str, Any]) -> float | None:
    return one["abstained"] / one["cases"] if one["cases"] else None


def _consistency(one: Mapping[str, Any]) -> float | None:
    value: float | None = one["consistency_rate"]
    return value


_SHARES: Final = (_accuracy, _abstained, _consistency)


def sparkline(shares: Sequence[float | None]) -> str:
    """Return shares as bars with the last one in per cent, `▁▅█ 93.8`; a blank where nothing was measured."""
    last = shares[-_MOST_BARS:]
    known = [one for one in last if one is not None]
    if not known:
        return "-"
    low, high = min(known), max(known)
    if high - low < _LEAST_RANGE:
        low = min(max(0.0, (low + high - _LEAST_RANGE) / 2), 1 - _LEAST_RANGE)
        high = low + _LEAST_RANGE
    step = (len(_BARS) - 1) / (high - low)
    bars = "".join(" " if one is None else _BARS[round((one - low) * step)] for one in last)
    return f"{bars} {percent(last[-1])}"


def _measured(runs: Sequence[Run]) -> Iterator[Table]:
    columns = ("run", "judge", "right, % of decided\nwith gold", "abstained,\n% of cases", "consis-\ntency %")
    rows = [(run["run"], *_came_to(one)) for run in runs for one in run["measured"] or ()]
    if rows:
        yield Table.of("measured", columns, rows[-_MOST_BARS:], texts=2, left=max(0, len(rows) - _MOST_BARS))


def _came_to(one: Mapping[str, Any]) -> tuple[str, ...]:
    right = "-" if one["accuracy"] is None else f"{percent(one['accuracy'])} of {one['decided_with_gold']}"
    abstained = share(one["abstained"], one["cases"])
    return named_after(*_key(one)), right, abstained, percent(one["consistency_rate"])


_FACTS: Final = ("answered,\n% of calls", "re-\nused", "failed", "tokens", "cost")


def _table(runs: Sequence[Run]) -> Table:
    """Return how far runs are and what they used; columns that tell nothing are left out."""
    rows = [(_begun(run), _STATES.get(run["state"], str(run["state"])), *_facts(run)) for run in runs]
    heads = ("begun (UTC)", "state", *_FACTS)
    shown = [place for place in range(len(heads)) if place < _ALWAYS or {row[place] for row in rows} - {"-", "0"}]
    cells = ((run["run"], *(row[place] for place in shown)) for run, row in zip(runs, rows, strict=True))
    return Table.of("runs", ("run", *(heads[place] for place in shown)), cells)


_ALWAYS: Final = 3  # columns


def _facts(run: Run) -> tuple[str, ...]:
    tokens = [run["input_tokens"], run["output_tokens"]]
    used = "-" if tokens == [None, None] else str(sum(filter(None, tokens)))
    return _answered(run), str(run["reused"]), str(run["failed_rows"]), used, fixed(run["cost"], 4)


def _begun(run: Run) -> str:
    return "-" if run["begun"] is None else run["begun"][5:16].replace("T", " ")


def _answered(run: Run) -> str:
    """Return how many of the planned calls of a run are answered, and how many stopping early saved."""
    planned, answered, saved = run["planned_calls"], run["answered_calls"], run["saved_calls"]
    if planned is None:
        return str(answered)
    return share(answered, planned) + (f" ({saved} saved)" if saved else "")
