"""OpenCode: the OpenAPI document of its server, which `opencode generate` prints. An exported session has the types of that interface."""

import json
import os
import subprocess

from declared.forms import by_tag, form, items, ref
from declared.table import Table
from declared.types import Types, add_schemas

SOURCE = "`opencode generate` (the OpenAPI document of the server) of opencode-ai"

# Lines that `opencode run --format json` prints have a part each.
PRINTED = ["text", "tool_use", "step_start", "step_finish", "reasoning"]


def table(installed, work):
    types = Types()
    for place in installed:
        add_schemas(types, document_of(place, work)["components"]["schemas"])
    made = Table(types)

    def forms(name):
        return types.whole(types.named[name]).objects

    made.record("session", forms("Session"))
    tagged(made, "message", ref("Message"), "role")
    tagged(made, "part", ref("Part"), "type")
    for line in PRINTED:
        made.record(line, [form(part=ref("Part"))])
    made.record("error", [form(error=types.merged(forms("AssistantMessage")).members["error"][1])])
    message = form(info=ref("Message"), parts=items("Part"))
    made.document([form(info=ref("Session"), messages=items(message, "SessionMessage"))])
    # The sessions of 2.x.
    made.record("step/session", forms("SessionV2Info"))
    tagged(made, "step", ref("SessionMessage"), "type")
    content = types.whole(types.whole(types.merged(forms("SessionMessageAssistant")).members["content"][1]).items)
    tagged(made, "content", content, "type")
    return made


def document_of(place, work):
    dirs = {name: os.path.join(work, "home", name) for name in
            ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    command = [os.path.join(place, "node_modules/.bin/opencode"), "generate"]
    printed = subprocess.run(command, env={**os.environ, **dirs}, check=True, capture_output=True)
    return json.loads(printed.stdout)


def tagged(made, start, of, tag):
    """A record `START/VALUE` for each form of a type."""
    for value, forms in by_tag(made.types, of, tag).items():
        made.record(f"{start}/{value}", forms)
