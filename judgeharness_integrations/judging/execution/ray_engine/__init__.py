"""The Ray engine: judge calls on the workers of a cluster, everything else where the run was started."""

from .executor import RayExecutor

__all__ = ["RayExecutor"]
