"""Loads session traces and conversations with `datasets`, and compares their counts with what was written."""

import os
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_CACHE"] = tempfile.mkdtemp()

import datasets

datasets.disable_progress_bars()
traces, conversations, expected = sys.argv[1:]
lines, calls, sessions = map(int, expected.split())

loaded = datasets.load_dataset(traces, split="train")
assert len(loaded) == lines, (len(loaded), lines)
assert sum(row["type"] == "session" for row in loaded) == sessions
messages = [row["message"] for row in loaded if row["type"] == "message"]
assert len(messages) == lines - sessions
assert sum(len(message["toolCalls"] or []) for message in messages) == calls
assert {message["role"] for message in messages} <= {"user", "system", "assistant", "tool"}
print(f"datasets: {len(loaded)} rows of {sessions} traces, {calls} calls")

rows = datasets.load_dataset(conversations, split="train")
assert len(rows) == sessions
assert sum(len(message["tool_calls"] or []) for row in rows for message in row["messages"]) == calls
assert sum(len(row["messages"]) for row in rows) == len(messages)
print(f"datasets: {len(rows)} conversations, {len(messages)} messages, features {list(rows.features)}")
