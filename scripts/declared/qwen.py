"""Qwen Code: the types of the notices in its sessions, in the program of its package. The package has no declarations, so only their names are
known."""

import glob
import os
import re

from declared.table import Table
from declared.types import Types

SOURCE = "the program of @qwen-code/qwen-code, which names the types of the notices that it writes (`subtype`)"
HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = os.path.join(HERE, "../../engram-adapters/src/qwen/members/records.members")
# A line of a session, and one of a sub-agent.
SESSION = re.compile(r'createBaseRecord\((?:"(\w+)"|entry\.role)\),(?:\s*uuid: \w+,)?(?:\s*parentUuid: \w+,)?(?:\s*type: "\w+",)?\s*subtype: "(\w+)"')
AGENT = re.compile(r'recordSystem\("(\w+)"')
# Events that are counted in a notice of their own type.
COUNTED = "ui_telemetry"
EVENT = re.compile(r'"event\.name": (EVENT_\w+),\s*"event\.timestamp": [^}]*\};\s*(?:[^;]*;\s*){0,2}?(?:if [^{]*\{\s*)?recordUiTelemetryEventToChat')
NAME = re.compile(r'(EVENT_\w+) = "(qwen-code\.\w+)"')


def table(installed, _):
    made, names = Table(Types()), set()
    for place in installed:
        names |= names_in(place)
    for name in sorted(names - by_hand()):
        made.named(name)
    return made


def names_in(place):
    """The types of lines that a version of the program writes."""
    names = set()
    texts = []
    for path in glob.glob(os.path.join(place, "node_modules/@qwen-code/qwen-code/**/*.js"), recursive=True):
        if "/node_modules/" in path[len(place) + len("/node_modules/"):]:
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if "createBaseRecord" in text or "recordUiTelemetryEventToChat" in text or "EVENT_TOOL_CALL" in text:
            texts.append(text)
    events = {constant: name for text in texts for constant, name in NAME.findall(text)}
    for text in texts:
        # The words of a conversation by voice are of both.
        names |= {f"{kind}/{subtype}" for found, subtype in SESSION.findall(text) for kind in ([found] if found else ["user", "assistant"])}
        names |= {f"system/{subtype}" for subtype in AGENT.findall(text)}
        names |= {f"system/{COUNTED}/{events[event]}" for event in EVENT.findall(text) if event in events}
    return names - {"system/" + COUNTED}


def by_hand():
    with open(MEMBERS, encoding="utf-8") as file:
        return set(re.findall(r"^record (\S+)", file.read(), re.MULTILINE))
