"""Records -> a data frame whose columns have types, also where it is empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Columns", "Kind", "frame", "label_and_score"]

Kind: TypeAlias = Literal["text", "count", "number", "flag"]
Columns: TypeAlias = "Mapping[str, Kind]"

# pandas' nullable types: a missing count stays a count, and NA is neither NaN nor False
_TYPES: Final[Mapping[Kind, str]] = {"text": "string", "count": "Int64", "number": "Float64", "flag": "boolean"}


def frame(records: Iterable[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Return a data frame of these columns, in their order; None, and what a record lacks, is NA.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise NotInstalledError("pandas, which holds data frames,", "pandas") from None
    listed = list(records)
    made = {
        name: pd.array([_value(record.get(name), kind) for record in listed], dtype=_TYPES[kind])
        for name, kind in columns.items()
    }
    return pd.DataFrame(made, columns=list(columns), index=pd.RangeIndex(len(listed)))


def _value(value: Any, kind: Kind) -> Any:
    """Return a value as its column takes it: half an emoji becomes the escape it came from, as in files."""
    if value is None or kind != "text":
        return value
    return str(value).encode("utf-8", errors=LONE_SURROGATES).decode("utf-8")


def label_and_score(verdict: Verdict | None) -> tuple[str | None, float | None]:
    """Return a verdict as text (a set as `{a, b}`) and, where it is a number, as one."""
    if verdict is None:
        return None, None
    score = float(verdict) if isinstance(verdict, (int, float)) and is_number(verdict) else None
    return verdict_text(verdict), score
