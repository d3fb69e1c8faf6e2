"""What is known about judges from outside the log, and what several of them are worth together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from judgeharness_integrations._documents import load_yaml
from judgeharness_integrations._errors import ConfigError, LogFormatError, UnknownNameError, UsageError
from judgeharness_integrations.verdictlog.encoding import counted
from judgeharness_integrations.verdictlog.files import iter_records, open_text
from judgeharness_integrations.verdictlog.row import VerdictRow

from ..aggregation.grouping import Clusters, by_case, by_judge
from ..aggregation.rules import RuleLike
from ..calibration.items import read_golds
from ..calibration.rates import Rate
from ..replay.replaying import replay
from ..replay.report import JudgeReplay
from ..replay.votes import MEMBER, PanelVotes
from ..spending import Prices, UsageSums, used
from ..statistics.means import cluster_degrees, t_quantile
from ..usage import Price
from .correctness import Credits, Floats, Ints, Marks

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_TABLES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz")
_YAML = (".yaml", ".yml")


def fact_records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (place, cells) of every judge in a file, its format told by its ending.

    Raises:
        ConfigError: the file cannot be read, or is no list and no mapping of judges.

    """
    name = path.name.lower()
    try:
        if name.endswith(_TABLES):
            yield from ((f"{path}, line {line}", cells) for line, cells in iter_records(path))
        elif name.endswith((".json", *_YAML)):
            yield from _entries(_parsed(path), path)
        else:
            raise ConfigError(f"{path}: judge facts are .csv, .jsonl, .json, .yaml or .yml.")
    except LogFormatError as error:
        raise ConfigError(str(error)) from error


def _entries(data: Any, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(data, Mapping):
        for name, cells in data.items():
            where = f"{path}, judge {name!r:.80}"
            yield where, {**_mapping({} if cells is None else cells, where), "judge": name}
    elif isinstance(data, list):
        for number, cells in enumerate(data, start=1):
            where = f"{path}, entry {number}"
            yield where, _mapping(cells, where)
    else:
        raise ConfigError(f"{path}: judge facts are a list of judges or a mapping of their names.")


def _mapping(cells: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(cells, Mapping):
        raise ConfigError(f"{where}: what is known of a judge is a mapping (provider, open, price ...).")
    return cells


def _parsed(path: Path) -> Any:
    with open_text(path) as file:
        text = file.read()
    kind = "YAML" if path.name.lower().endswith(_YAML) else "JSON"
    try:
        return load_yaml(text, distinct=_distinct) if kind == "YAML" else json.loads(text, object_pairs_hook=_distinct)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not {kind} ({' '.join(str(error).split())}).") from error


def _distinct(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ConfigError(f"{name!r:.80} stands twice: keep one.")
        found[name] = value
    return found


_OPEN: Final = ("true", "yes", "1", "open", "open-weights", "open-weight", "open-source")
_CLOSED: Final = ("false", "no", "0", "proprietary", "closed", "closed-weights", "closed-source")


def judge_name(cells: Mapping[str, Any], where: str) -> str:
    """Return the judge's name, which must not be missing."""
    if "judge" not in cells:
        raise ConfigError(f"{where}: 'judge' is missing: name the judge as the log does.")
    name = word(cells, "judge", where)
    if name is None:
        raise ConfigError(f"{where}: 'judge' is empty: name the judge as the log does.")
    return name


def word(cells: Mapping[str, Any], name: str, where: str) -> str | None:
    """Return a text; None where it is missing or empty."""
    value = cells.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ConfigError(f"{where}: {name!r} must be a text, not {value!r:.40}.")
    return str(value).strip() or None


def openness(cells: Mapping[str, Any], name: str, where: str) -> bool | None:
    """Return whether weights are open; None where it is missing or empty."""
    value = cells.get(name)
    said = "" if value is None else str(value).strip().lower().replace("_", "-").replace(" ", "-")
    if not said:
        return None
    if said not in (*_OPEN, *_CLOSED):
        raise ConfigError(f"{where}: {name!r} must be true, false, open-weights or proprietary, not {value!r:.40}.")
    return said in _OPEN


def price(cells: Mapping[str, Any], name: str, where: str) -> float | None:
    """Return a price; None where it is missing or empty."""
    value = cells.get(name)
    if value is None or value == "":
        return None
    try:
        amount = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        amount = math.nan
    if not 0 <= amount < math.inf:
        raise ConfigError(f"{where}: {name!r} must be a number of at least 0 per million tokens, not {value!r:.40}.")
    return amount


def model_and_variant(judge: str) -> tuple[str, str]:
    """Return model and variant, which is empty where the name has none: a model's own name may hold an `@`, too."""
    model, _, variant = judge.rpartition("@")
    return (model, variant) if model and variant else (judge, "")


def model_names(judge: str) -> tuple[str, ...]:
    """Return what a fact about the judge may be filed under, the most particular name first: `a@b@c`, `a@b`, `a`."""
    model, variant = model_and_variant(judge)
    return (judge, *model_names(model)) if variant else (judge,)


def plain_record(result: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by name; tuples become lists."""
    values = {name: getattr(result, name) for name in result.__dataclass_fields__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class JudgeFacts:
    """Facts about a judge; None is not known.

    `open`: whether its weights are. Prices are money per million tokens, in one currency for all judges: read and
    written, read from the provider's prompt cache, written to it (see `Price`), and by served tier in `tiers`.
    """

    judge: str
    provider: str | None = None
    family: str | None = None
    open: bool | None = None
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    cache_write_price: float | None = None
    tiers: Mapping[str, Price] = field(default_factory=dict)

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None without both prices."""
        if self.input_price is None or self.output_price is None:
            return None
        return Price(
            input=self.input_price,
            output=self.output_price,
            cached_input=self.cached_input_price,
            cache_write=self.cache_write_price,
            tiers=self.tiers,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON keeps them."""
        return plain_record(self) | {"tiers": {name: one.to_dict() for name, one in self.tiers.items()}}


def facts_of(judge: str, facts: Mapping[str, JudgeFacts] | None) -> JudgeFacts:
    """Return what is known about a judge; what is not said of `model@variant` itself is taken from `model`."""
    found = [facts[name] for name in model_names(judge) if name in facts] if facts else []
    known: dict[str, Any] = {}
    for one in reversed(found):
        values = ((each.name, getattr(one, each.name)) for each in fields(one))
        known |= {name: value for name, value in values if value not in (None, {})}
    known["judge"] = judge
    return JudgeFacts(**known)


def family_of(name: str, facts: Mapping[str, JudgeFacts] | None) -> str:
    """Return the family of a judge or an author: its family, else its provider, else its name up to the first `@`."""
    found = facts_of(name, facts)
    return found.family or found.provider or name.partition("@")[0] or name


def read_judge_facts(path: str | PathLike[str]) -> dict[str, JudgeFacts]:
    """Read facts about judges: `judge` and any of `provider, family, open`, and prices.

    Prices are `input_price`, `output_price`, `price`, `cached_input_price` and `cache_write_price`.

    `open` is true or false, or a word like `open-weights` or `proprietary`; `price` stands for both prices where they
    are not given. Other columns are ignored.

    Args:
        path: `.csv` (`.gz` too) or `.jsonl`; `.json` or `.yaml`: a list of objects, or one object a judge by its name.

    Raises:
        ConfigError: the file cannot be read, a value cannot be used, or a judge stands twice; file and place are named.

    """
    facts: dict[str, JudgeFacts] = {}
    for where, cells in fact_records(Path(path)):
        one = _facts(cells, where)
        if one.judge in facts:
            raise ConfigError(f"{where}: judge {one.judge!r:.80} stands twice: keep one.")
        facts[one.judge] = one
    if not facts:
        raise ConfigError(f"{path}: holds no judges.")
    return facts


def _facts(cells: Mapping[str, Any], where: str) -> JudgeFacts:
    both = price(cells, "price", where)
    read, written = price(cells, "input_price", where), price(cells, "output_price", where)
    return JudgeFacts(
        judge=judge_name(cells, where),
        provider=word(cells, "provider", where),
        family=word(cells, "family", where),
        open=openness(cells, "open", where),
        input_price=both if read is None else read,
        output_price=both if written is None else written,
        cached_input_price=price(cells, "cached_input_price", where),
        cache_write_price=price(cells, "cache_write_price", where),
    )


_SIZES: Final = (3, 5, 9)  # of panels of the best judges: odd, so that they have a majority
_LEAST: Final = 3  # judges that have one
_SAME: Final = 1e-12  # of a variance or a correlation: rounding alone
_HALVES: Final = 3  # credits that a tie can make: 0, 1/2, 1
_CLUSTERS: Final = 3  # of which any may be deleted: two leave one, in which nothing is between clusters


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The judges of a log, or the best of them, as one panel.

    Every number is of the `pairs` with gold about which each of the `judges` (best first) was asked; `left_out` others
    were not. `correlation`: mean over pairs of judges of the correlation of their errors (phi), with a jackknife
    interval over clusters; judges in `alike` err, or are right, in too few clusters to have one, and are in none.
    `effective`: k / (1 + (k - 1) correlation) of the k others, the number of independent judges whose mean varies as
    much (Kish 1965). `majority`: share of pairs about which more than half of the judges are right; `independent`: the
    same for judges as often right each, and independent (Poisson-binomial, exact). `best`: mean credit of the best of
    them. None is not measured, and `reason` says why.
    """

    judges: tuple[str, ...]
    pairs: int
    left_out: int
    correlation: float | None = None
    correlation_ci95: tuple[float, float] | None = None
    alike: tuple[str, ...] = ()
    effective: float | None = None
    effective_ci95: tuple[float, float] | None = None
    majority: float | None = None
    majority_ci95: tuple[float, float] | None = None
    independent: float | None = None
    best: float | None = None
    reason: str = ""

    @property
    def sentence(self) -> str:
        """What the panel is worth, in a sentence with its denominator."""
        told = []
        if self.correlation is not None:
            worth = "" if self.effective is None else f", as much as {self.effective:.1f} independent judges"
            told.append(f"errors correlate at {self.correlation:.2f}{_ends(self.correlation_ci95)}{worth}")
        if self.majority is not None:
            promise = "" if self.independent is None else f", where independence promises {self.independent:.3f}"
            told.append(f"the majority is right about {self.majority:.3f}{_ends(self.majority_ci95, 3)}{promise}")
        if self.reason:
            told.append(f"not measured: {self.reason}")
        count = counted(self.pairs, "pair")
        return f"{len(self.judges)} judges together, on {count} asked of each: {'; '.join(told)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the panel as JSON keeps it."""
        return plain_record(self)


def panels(matrix: Credits, *, clusters: Ints | None = None) -> tuple[Panel, ...]:
    """Return the panels of the best 3, 5 and 9 judges, of those there are more of, and of all; () of one judge.

    The best are those of the highest mean credit on the pairs they were asked about. They are chosen by the same pairs,
    which flatters them.

    Args:
        matrix: credits of all labelled pairs, before curation: unanimous pairs count.
        clusters: (pairs,) of `matrix`; each pair stands alone without.

    """
    asked = np.flatnonzero(matrix.seen.any(axis=0))
    mean = np.nanmean(matrix.values[:, asked], axis=0)
    order = asked[np.argsort(-mean, kind="stable")]
    keys = np.arange(len(matrix.pairs)) if clusters is None else clusters
    sizes = [*(size for size in _SIZES if size < len(order)), len(order)]
    return tuple(_panel(matrix, keys, order[:size]) for size in sizes if size > 1)


def panel_errors(votes: PanelVotes, criterion: str) -> Panel:
    """Return how alike the members err about one criterion, and what their majority is worth; see `Panel`.

    Raises:
        UnknownNameError: there is no such criterion.
        UsageError: no decision, or none of a member, has a gold label.

    """
    mine = [row for row in votes.rows if row.criterion == criterion]
    if not mine:
        raise UnknownNameError("criterion", criterion, {row.criterion for row in votes.rows})
    right = _right(mine)
    if not right:
        raise UsageError(f"no decision about {criterion!r} has a gold label: how alike members err is not known.")
    if silent := next((one for one in votes.members if not any(member == one for _, member in right)), None):
        raise UsageError(
            f"no decision of {silent!r:.60} about {criterion!r:.60} has a gold label: how alike all members err is not "
            "known."
        )
    cases = tuple(dict.fromkeys(case for case, _ in right))
    values = [[right.get((case, member), np.nan) for member in votes.members] for case in cases]
    clusters, numbers = Clusters.of_rows(mine), dict[Any, int]()
    keys = [numbers.setdefault(clusters.of(case), len(numbers)) for case in cases]
    matrix = Credits(judges=votes.members, pairs=cases, values=np.array(values, dtype=float))
    return panels(matrix, clusters=np.array(keys, dtype=np.intp))[-1]


def panel_document(
    votes: PanelVotes, rule: RuleLike, *, asked: Iterable[VerdictRow], prices: Prices | None = None
) -> dict[str, Any]:
    """Return a panel as documents keep it: decisions, how alike members err, what each cost; see `PanelVotes.record`.

    Raises:
        UnknownNameError: there is no such rule.
        UsageError: the rule does not fit the votes, as one that compares two orders.

    """
    report = replay(votes.rows, rule)
    sums, groups = {member: UsageSums() for member in votes.members}, by_judge(asked)
    for member in votes.members:
        for rows in by_case(groups.get(member, ())).values():
            sums[member].add(rows)
    return {
        "panel": votes.name,
        "members": list(votes.members),
        "member_rule": votes.member_rule,
        "rule": report.rule,
        "decisions": [_decisions(one) for one in report.judges],
        "errors": [_errors_record(votes, one.criterion) for one in report.judges],
        "usage": [{"judge": member, **used(sums[member].usages, prices)} for member in votes.members],
    }


def _decisions(entry: JudgeReplay) -> dict[str, Any]:
    interval = entry.accuracy_interval
    said = {"accuracy_95": None if interval is None else list(interval), "decided_with_gold": entry.labelled}
    return {"measured": entry.to_dict(), **said}


def _errors_record(votes: PanelVotes, criterion: str) -> dict[str, Any]:
    """Return how alike members err about a criterion, and why that is not known where it is not."""
    try:
        panel = panel_errors(votes, criterion)
    except UsageError as error:
        return {"criterion": criterion, "measured": None, "sentence": str(error).rstrip(".")}
    return {"criterion": criterion, "measured": panel.to_dict(), "sentence": panel.sentence}


def _right(rows: Sequence[VerdictRow]) -> Mapping[tuple[str, str], float]:
    """Return (case, member) -> 1 where its decision is that of people, else 0; decisions with a gold label alone."""
    decided = [
        (row.case_id, str(row.attributes[MEMBER]), row.verdict, row.gold)
        for row in rows
        if row.verdict is not None and row.gold is not None
    ]
    read = read_golds((gold for *_, gold in decided), (verdict for *_, verdict, _ in decided))
    return {
        (case_id, member): float(read[gold] == verdict)
        for case_id, member, verdict, gold in decided
        if read[gold] is not None
    }


def _panel(matrix: Credits, keys: Ints, places: Ints) -> Panel:
    common = np.asarray(matrix.seen[:, places].all(axis=1), np.bool_)
    judges = tuple(matrix.judges[place] for place in places)
    pairs = int(common.sum())
    if not pairs:
        why = "no pair was asked of every one of them"
        return Panel(judges=judges, pairs=0, left_out=len(common), reason=why)
    credit, mine = matrix.values[common][:, places], keys[common]
    told = _errors(1 - credit, mine)
    measured = {} if told is None else told.fields(judges)
    why = "fewer than two of them are right, and wrong, often enough" if told is None else ""
    return Panel(
        judges=judges,
        pairs=pairs,
        left_out=len(common) - pairs,
        best=float(credit.mean(axis=0).max()),
        reason="; ".join(filter(None, (why, *_no_majority(credit)))),
        **measured,
        **_majority(credit, mine),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Errors:
    """The mean correlation of the errors of some judges (`varying`, of all), and its interval."""

    varying: Marks
    correlation: float
    ci95: tuple[float, float] | None

    def fields(self, judges: tuple[str, ...]) -> dict[str, Any]:
        """Return what a panel keeps of it."""
        count = int(self.varying.sum())
        ends = None if self.ci95 is None else [_effective(count, end) for end in reversed(self.ci95)]
        known = ends is not None and None not in ends
        return {
            "correlation": self.correlation,
            "correlation_ci95": self.ci95,
            "alike": tuple(judge for judge, varies in zip(judges, self.varying, strict=True) if not varies),
            "effective": _effective(count, self.correlation),
            "effective_ci95": tuple(ends) if known and ends is not None else None,
        }


def _effective(count: int, correlation: float) -> float | None:
    """Return how many independent judges are worth as much; None where errors cancel out altogether."""
    inflation = 1 + (count - 1) * correlation
    return None if inflation <= _SAME else count / inflation


def _errors(errors: Floats, keys: Ints) -> _Errors | None:
    """Return how errors (pairs, judges) correlate; None of fewer than two judges that vary without any one cluster."""
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    centred = (errors - errors.mean(axis=0))[order]
    sizes = np.diff(starts, append=len(centred))
    if len(starts) < _CLUSTERS:
        return None
    varying = np.asarray((_deviations(centred, starts, sizes)[1] > _SAME).all(axis=0), np.bool_)
    if varying.sum() < 2:  # noqa: PLR2004 - a correlation is of two
        return None
    mine = centred[:, varying]
    correlation = _correlations(mine, np.array([0]), np.array([0]))[0]  # nothing deleted
    return _Errors(
        varying=varying,
        correlation=correlation,
        ci95=_jackknife(correlation, _correlations(mine, starts, sizes)),
    )


def _deviations(centred: Floats, starts: Ints, sizes: Ints) -> tuple[Floats, Floats]:
    """Return means and variances (clusters, judges) of what is left without each cluster."""
    left = (len(centred) - sizes)[:, None]
    gone = np.add.reduceat(centred, starts, axis=0), np.add.reduceat(centred**2, starts, axis=0)
    if not sizes.any():
        gone = np.zeros_like(gone[0]), np.zeros_like(gone[1])
    mean = (centred.sum(axis=0) - gone[0]) / left
    return mean, ((centred**2).sum(axis=0) - gone[1]) / left - mean**2


def _correlations(centred: Floats, starts: Ints, sizes: Ints) -> Floats:
    """Return (clusters,) the mean correlation of two judges without each cluster.

    The sum over judges of standardised errors has the sum of all correlations as its variance, so that one quadratic
    form a cluster stands for the k x k correlations.
    """
    mean, variance = _deviations(centred, starts, sizes)
    weight = 1 / np.sqrt(variance)
    left, count = len(centred) - sizes, centred.shape[1]
    every = ((weight @ (centred.T @ centred)) * weight).sum(axis=1)
    if sizes.any():
        of = np.repeat(np.arange(len(sizes)), sizes)
        every = every - np.add.reduceat((centred * weight[of]).sum(axis=1) ** 2, starts)
    total = every / left - (weight * mean).sum(axis=1) ** 2
    found: Floats = (total - count) / (count * (count - 1))
    return found


def _jackknife(value: float, without: Floats) -> tuple[float, float] | None:
    """Return a 95 % interval by the delete-one-cluster jackknife, on Fisher's scale.

    Degrees of freedom are those of the clusters that move the value: where few errors do, G - 1 covers 89 %.
    """
    moved = without - without.mean()
    count, spread = len(moved), float(moved @ moved)
    if spread <= _SAME**2 or abs(value) >= 1 - _SAME:
        return None
    error = math.sqrt((count - 1) / count * spread)
    squares = moved**2
    width = t_quantile(cluster_degrees(squares)) * error / (1 - value * value)
    return math.tanh(math.atanh(value) - width), math.tanh(math.atanh(value) + width)


def _majority(credit: Floats, keys: Ints) -> dict[str, Any]:
    """Return what more than half of the judges are right about, and what independent ones would be."""
    if credit.shape[1] < _LEAST:
        return {}
    hits = credit.sum(axis=1) > credit.shape[1] / 2
    rate = Rate.over(hits.tolist(), keys.tolist())
    assert rate is not None  # noqa: S101 - there are pairs
    return {"majority": rate.value, "majority_ci95": (rate.low, rate.high), "independent": _independent(credit)}


def _independent(credit: Floats) -> float | None:
    """Return the probability that more than half are right; None of credits other than 0, 1/2 and 1."""
    halves = np.rint(2 * credit).astype(np.intp)
    if not np.allclose(2 * credit, halves):
        return None
    total: Floats = np.ones(1)
    for judge in halves.T:
        total = np.asarray(np.convolve(total, np.bincount(judge, minlength=_HALVES) / len(judge)), np.float64)
    return float(total[credit.shape[1] + 1 :].sum())


def _no_majority(credit: Floats) -> Iterator[str]:
    if credit.shape[1] < _LEAST:
        yield "two judges have no majority"
    elif _independent(credit) is None:
        yield "what independence promises is worked out for credits of 0, 1/2 and 1"


def _ends(ci95: tuple[float, float] | None, digits: int = 2) -> str:
    return "" if ci95 is None else f" [{ci95[0]:.{digits}f}, {ci95[1]:.{digits}f}]"
