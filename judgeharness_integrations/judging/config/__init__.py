"""Configuration files of `judgeharness run` and `judgeharness calibrate`: YAML, TOML or JSON through one schema."""

from .building import (
    SendableJudge,
    build_calibration,
    build_cascade,
    build_cases,
    build_certificate,
    build_executor,
    build_harness_options,
    build_judge,
    cases_digest,
)
from .schema import Config, JudgeConfig, load_config

__all__ = [
    "Config",
    "JudgeConfig",
    "SendableJudge",
    "build_calibration",
    "build_cascade",
    "build_cases",
    "build_certificate",
    "build_executor",
    "build_harness_options",
    "build_judge",
    "cases_digest",
    "load_config",
]
