"""The `judgeharness` command."""
