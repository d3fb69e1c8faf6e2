"""The version of the package: beside the root, which names everything, so that any room may name it."""

__version__ = "0.1.0"
