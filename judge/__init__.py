"""Measures and decides. Pure: no Django, no Celery, no Docker, no database."""

from judge.calibration import Calibration, calibration_of
from judge.config import Config, check_config, read_config
from judge.engine import Engine, Model, load_engine, plan_launch
from judge.errors import ConfigError, JudgeError, PromptSetError
from judge.lap import run_lap
from judge.measurements import Lap
from judge.plan import LapPlan, Rules
from judge.process import EngineProcess, free_port
from judge.prompts import PromptSet
from judge.protocol import Progress, Protocol, Stage
from judge.schema import Schema
from judge.trusted import trust
from judge.verdict import Outcome, Verdict, decide

__all__ = [
    "Calibration",
    "Config",
    "ConfigError",
    "Engine",
    "EngineProcess",
    "JudgeError",
    "Lap",
    "LapPlan",
    "Model",
    "Outcome",
    "Progress",
    "PromptSet",
    "PromptSetError",
    "Protocol",
    "Rules",
    "Schema",
    "Stage",
    "Verdict",
    "calibration_of",
    "check_config",
    "decide",
    "free_port",
    "load_engine",
    "plan_launch",
    "read_config",
    "run_lap",
    "trust",
]
