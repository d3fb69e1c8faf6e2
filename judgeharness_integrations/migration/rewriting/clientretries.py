"""Where the model of a judge is made with retries of its own, which multiply with those of the harness."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from judgeharness_integrations.migration.inspection import Inspection
from judgeharness_integrations.migration.model_facts import model_calls
from judgeharness_integrations.migration.view import ModuleView

__all__ = ["retrying_clients"]

_CHAT_MODELS = re.compile(r"^langchain\w*\.(?:\w+\.)*(?:Chat[A-Z]\w*|AzureChat\w+|init_chat_model)$")
# clients of a provider: the adapters switch their retries off, code that asks them by hand does not
_CLIENTS = re.compile(r"^(?:openai|anthropic)\.(?:Async)?(?:Azure)?(?:OpenAI|Anthropic)\w*$")
_RETRIES = "max_retries"


def retrying_clients(inspection: Inspection) -> Iterator[tuple[int, str]]:
    """Yield line and sentence of every chat model of a judge that retries by itself; a literal 0 says nothing."""
    view, seen = inspection.view, set[cst.Call]()
    for site in inspection.sites:
        for call in (
            ()
            if site.node is None or site.deterministic or site.definition is not None
            else model_calls(view, site.node)
        ):
            name = _name(view, call, by_hand=site.framework == "handwritten")
            if name is None or call in seen:
                continue
            seen.add(call)
            given = view.argument(call, _RETRIES)
            value = ... if given is None else view.value(given)
            if value == 0 and value is not False:
                continue
            own = f"its {_RETRIES}={value}" if isinstance(value, int) else f"its own {_RETRIES}"
            why = "its attempts multiply with those of the harness, which does not see them"
            yield view.position(call).start.line, f"{name} keeps {own}: {why}: give it {_RETRIES}=0."


def _name(view: ModuleView, call: cst.Call, *, by_hand: bool) -> str | None:
    """Return what a call makes, where that retries by itself."""
    known = [_CHAT_MODELS, _CLIENTS] if by_hand else [_CHAT_MODELS]
    names = (name for name in sorted(view.names(call.func)) if any(one.match(name) for one in known))
    return next((name.rpartition(".")[2] for name in names), None)
