"""The `judgeharness` command: thin, one module a command; what is heavy is imported by the command that needs it."""

from judgeharness_integrations.cli.app import main

__all__ = ["main"]
