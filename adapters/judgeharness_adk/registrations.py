"""What an agent registers for its own evaluations: rules and models by name, and the folder its files lie below.

A criterion may come from `test_config.json` or in a request to ADK's server; an evaluator cannot tell. So a block is
data either way: it names what is built in or registered here, and nothing it names is imported or created.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from judgeharness_adk import _seams
from judgeharness_integrations._errors import ConfigError, UnknownNameError, UsageError
from judgeharness_integrations.analysis.aggregation.rules import RULE_NAMES, Rule, rule
from judgeharness_integrations.analysis.calibration import CalibrationReport

if TYPE_CHECKING:
    from os import PathLike

    from google.adk.models.base_llm import BaseLlm

    from judgeharness_integrations.analysis.aggregation.rules import RuleLike

DEFAULT_SIDECAR = ".adk/judgeharness"
_LOGGER = logging.getLogger("judgeharness_adk")
_BLOCK = "judge_harness"
# no part begins with a dot: neither a way out nor a hidden file. Drives, addresses and streams of Windows need a colon
_PART = r"[^./\\:\0][^/\\:\0]*"
_BELOW = re.compile(rf"{_PART}(?:/{_PART})*")
_NO_RULE = "{where}: {spec!r} is not imported: name a built-in rule, or one that register(rules=...) in agent.py names."
_NO_FILE = (
    "{where}: {name!r} is no {what} below the folder of this agent: put one there (it is that of agent.py, or of "
    "register(folder=...) in it), and write the path from there, as in {example}."
)


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What the blocks of one agent may name besides what is built in.

    `module` holds the names of the module that called `register`, by which its agent is known.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    models: Mapping[str, BaseLlm] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    module: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def rule(self, spec: str) -> Rule:
        """Return a rule by its name.

        Raises:
            UsageError: it is neither built in nor registered; whether anything of that name exists makes no difference.

        """
        if spec in self.rules:
            return self.rules[spec]
        if ":" in spec:
            raise ConfigError(_NO_RULE.format(where=f"{_BLOCK}.aggregation_rule", spec=spec))
        try:
            return rule(spec)
        except UnknownNameError:
            if not self.rules:
                raise
            raise UnknownNameError("rule", spec.partition("(")[0].strip(), (*RULE_NAMES, *self.rules)) from None

    def calibration(self, name: str) -> CalibrationReport:
        """Return a saved calibration from below the folder.

        Raises:
            ConfigError: there is none; the same sentence wherever the path leads, and whether or not a file is there.

        """
        refused = self._refusal("calibration", name, "calibration", "weather.calibration.json")
        path = self._below(name)
        if path is None or not path.is_file():
            raise refused
        try:
            return CalibrationReport.load(path)
        except UsageError as error:
            _LOGGER.warning("%s", error)  # what a file holds is told to whoever runs the server alone
            raise refused from None

    def directory(self, name: str) -> Path:
        """Return the directory of measurements a block names: the default, or one that exists below the folder.

        Raises:
            ConfigError: it is neither; the same sentence wherever the path leads, and whether or not it exists.

        """
        if name == DEFAULT_SIDECAR:
            return Path(DEFAULT_SIDECAR)
        path = self._below(name)
        if path is None or not path.is_dir():
            raise self._refusal("sidecar", name, "directory", "measurements")
        return path

    def _below(self, name: str) -> Path | None:
        """Return where a relative path leads, None if that is not below the folder; elsewhere nothing is looked at."""
        if self.folder is None or not _BELOW.fullmatch(name):
            return None
        try:
            top = self.folder.resolve(strict=True)
            path = (top / name).resolve(strict=True)  # links are followed
        except (OSError, ValueError, RuntimeError):  # missing, no path at all, links in a circle
            return None
        return path if top in path.parents else None

    @staticmethod
    def _refusal(key: str, name: str, what: str, example: str) -> ConfigError:
        return ConfigError(_NO_FILE.format(where=f"{_BLOCK}.{key}", name=name, what=what, example=example))


NOTHING = Registered()

# the module that called register() -> what it registered in ADK's default registry, which all agents of a process share
_agents: dict[str, Registered] = {}


def registered_by(
    module: Mapping[str, Any],
    rules: Mapping[str, RuleLike] | None,
    folder: str | PathLike[str] | None,
    models: Mapping[str, BaseLlm] | None = None,
) -> Registered:
    """Return what the caller of `register` registers; a relative folder starts at that of its file.

    Raises:
        ConfigError: a rule's name is taken by a built-in one or it cannot be called, a model is none of ADK's, or the
            folder does not exist.

    """
    file = module.get("__file__")
    home = Path(file).absolute().parent if file else Path.cwd()  # a notebook has no file
    place = home / (folder or "")
    if not place.is_dir():
        raise ConfigError(f"register(folder={str(folder)!r}): {place} is no directory.")
    return Registered(
        rules=MappingProxyType({name: _own_rule(name, given) for name, given in (rules or {}).items()}),
        models=MappingProxyType({name: _own_model(name, given) for name, given in (models or {}).items()}),
        folder=place,
        module=module,
    )


def _own_rule(name: str, given: RuleLike) -> Rule:
    if not (isinstance(name, str) and name.strip()):
        raise ConfigError(f"register(rules=...): {name!r} is no name of a rule.")
    if _built_in(name):
        raise ConfigError(f"register(rules=...): {name!r} is a built-in rule: give yours another name.")
    if isinstance(given, Rule):
        return replace(given, name=name)
    if not callable(given):
        raise ConfigError(f"register(rules=...): {name!r} must be a function of rows or a Rule, not {given!r}.")
    return Rule(name, given)


def _own_model(name: str, given: BaseLlm) -> BaseLlm:
    from google.adk.models.base_llm import BaseLlm  # noqa: PLC0415

    if not (isinstance(name, str) and name.strip()):
        raise ConfigError(f"register(models=...): {name!r} is no name of a model.")
    if not isinstance(given, BaseLlm):
        raise ConfigError(f"register(models=...): {name!r} must be a model of ADK's, a BaseLlm, not {given!r}.")
    return given


def _built_in(name: str) -> bool:
    try:
        rule(name)
    except UsageError:
        return name.partition("(")[0].strip() in RULE_NAMES
    return True


def share(registered: Registered) -> None:
    """Keep what an agent of this process registered; the same module's earlier call is replaced."""
    _agents[str(registered.module.get("__file__") or registered.module.get("__name__"))] = registered


def registered_for_this_agent() -> Registered:
    """Return what the agent under evaluation registered; nothing where that cannot be told."""
    for agent in _with_parents(_seams.evaluated_agent()):
        for registered in _agents.values():
            if _defines(registered.module, agent):
                return registered
        if any(_holds(module, agent) for module in _loaded()):
            return NOTHING  # an agent of its own that registered nothing, whoever else has it as a sub-agent
    return NOTHING


def _with_parents(agent: object | None) -> Iterator[object]:
    """Yield an agent and those it is a sub-agent of, one of which `AgentEvaluator` can be told to evaluate."""
    while agent is not None:
        yield agent
        agent = getattr(agent, "parent_agent", None)


def _defines(module: Mapping[str, Any], agent: object) -> bool:
    """Whether a module, or the module `agent` of its package, holds an agent where ADK looks for it."""
    inner = module.get("agent")
    own = isinstance(inner, ModuleType) and inner.__name__ == f"{module.get('__name__')}.agent"
    return _holds(module, agent) or (own and _holds(vars(inner), agent))


def _holds(module: Mapping[str, Any], agent: object) -> bool:
    from google.adk.apps.app import App  # noqa: PLC0415 - who evaluates has it loaded

    app: Any = module.get("app")  # of any framework
    return module.get("root_agent") is agent or (issubclass(type(app), App) and app.root_agent is agent)


def _loaded() -> Iterator[Mapping[str, Any]]:
    """Yield the names of every module there is."""
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield object.__getattribute__(module, "__dict__")  # a lazy one is not loaded by that
