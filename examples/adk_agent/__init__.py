"""The package ADK loads; it looks for `agent.root_agent` in it."""

from . import agent as agent
