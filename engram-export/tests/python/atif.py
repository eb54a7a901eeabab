"""Judges ATIF documents by Harbor's own validator, and loads them as Harbor does."""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator

try:
    from harbor.utils.trajectory_utils import load_model_usage_from_trajectory
except Exception as error:  # This part of Harbor needs Python 3.12, and fails in its own way before.
    print(f"skipped: usage by model, as Harbor reads it: {type(error).__name__} with Python {sys.version.split()[0]}")
    load_model_usage_from_trajectory = lambda path: None

valid = steps = agents = with_usage = 0
paths = sorted(Path(sys.argv[1]).rglob("*.json"))
for path in paths:
    validator = TrajectoryValidator()
    assert validator.validate(path), f"{path}: {validator.get_errors()[:3]}"
    valid += 1
    text = path.read_text(encoding="utf8")
    loaded = Trajectory.model_validate_json(text)
    steps += len(loaded.steps)
    agents += len(loaded.subagent_trajectories or [])
    with_usage += bool(load_model_usage_from_trajectory(path))
    again = loaded.to_json_dict()
    assert len(again["steps"]) == len(json.loads(text)["steps"])
assert valid > 0
print(f"Harbor: {valid} of {len(paths)} documents valid, {steps} steps, {agents} sub-agents embedded, usage read from {with_usage}")

broken = json.loads(paths[0].read_text(encoding="utf8"))
broken["steps"][0]["step_id"] = 7
assert not TrajectoryValidator().validate(broken), "a wrong step_id is accepted"
