"""Ray itself, which few have installed and which takes a second to import."""

from __future__ import annotations

import importlib
import os
from typing import Any

from judgeharness_integrations._errors import ClusterError, NotInstalledError
from judgeharness_integrations.execution.ray_engine.heads import head

__all__ = ["connected_ray", "loaded_ray"]


def loaded_ray() -> Any:
    """Import Ray.

    Raises:
        NotInstalledError: the extra is missing.

    """
    # Nobody who runs a judge asked for statistics to be sent; a value that is set already stays.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise NotInstalledError("Ray", "ray") from error


def connected_ray() -> Any:
    """Return Ray if it is connected: where it is not, some of its calls would start a local one or block for a minute.

    Raises:
        ClusterError: the connection was lost.

    """
    ray = loaded_ray()
    if not ray.is_initialized() or not head.answers():
        raise ClusterError("the connection to the Ray cluster was lost: see `ray status`.")
    return ray
