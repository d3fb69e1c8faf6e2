"""Configuration files of `judgeharness run` and `judgeharness calibrate`: YAML, TOML or JSON through one schema."""

from judgeharness_integrations.config.building import (
    build_calibration,
    build_cases,
    build_certificate,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
)
from judgeharness_integrations.config.importing import import_object, imported_rule
from judgeharness_integrations.config.reading import load_config
from judgeharness_integrations.config.schema import Config, JudgeConfig
from judgeharness_integrations.config.sending import SendableJudge

__all__ = [
    "Config",
    "JudgeConfig",
    "SendableJudge",
    "build_calibration",
    "build_cases",
    "build_certificate",
    "build_executor",
    "build_harness_options",
    "build_judge",
    "cases_digest",
    "import_object",
    "imported_rule",
    "load_config",
]
