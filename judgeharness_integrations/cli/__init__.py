"""The `judgeharness` command: options stand in light files of their own, what a command does in a file of its name."""

from .app import main

__all__ = ["main"]
