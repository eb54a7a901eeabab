"""Codex: the JSON Schema of its rollout lines, which `codex app-server generate-internal-json-schema` prints."""

import json
import os
import subprocess

from declared.table import Table
from declared.types import Types, add_schemas, form_of_schema, of_schema

SOURCE = "`codex app-server generate-internal-json-schema` (RolloutLine.json) of @openai/codex"


def table(installed, work):
    """The table of the versions that are installed in these directories."""
    types, lines = Types(), []
    for place in installed:
        schema = schema_of(place, work)
        add_schemas(types, schema["definitions"])
        outer = form_of_schema(types, {"properties": schema["properties"], "required": schema["required"]})
        outer.rest = None
        lines += [outer.with_form(form) for form in of_schema(types, {"oneOf": schema["oneOf"]}).objects]
    return table_of(types, lines)


def schema_of(place, work):
    out = os.path.join(work, "schema-" + os.path.basename(place))
    home = os.path.join(work, "home")
    os.makedirs(home, exist_ok=True)
    command = [os.path.join(place, "node_modules/.bin/codex"), "app-server", "generate-internal-json-schema", "--out", out]
    subprocess.run(command, env={**os.environ, "HOME": home, "CODEX_HOME": home}, check=True, capture_output=True)
    with open(os.path.join(out, "RolloutLine.json"), encoding="utf-8") as file:
        return json.load(file)


def table_of(types, lines):
    """One record for each type of line, and of payload and item where those have types."""
    made, by_line = Table(types), {}
    for line in lines:
        for name in types.constants(line.members["type"][1]):
            by_line.setdefault(name, []).append(line)
    for line, forms in sorted(by_line.items()):
        made.shared(f"line.{line}", forms)
        for name in sorted(names(types, line, types.merged(forms))):
            made.include(name, f"line.{line}")
    return made


def names(types, line, form):
    """The record types of a line: `TYPE`, `TYPE/PAYLOAD` or `TYPE/PAYLOAD/ITEM`."""
    found = set()
    for payload in types.whole(form.members["payload"][1]).objects:
        for name in constants(types, payload) or [None]:
            items = types.whole(payload.members["item"][1]).objects if "item" in payload.members else []
            of_items = {item for form in items for item in constants(types, form)}
            start = line if name is None else f"{line}/{name}"
            found |= {f"{start}/{item}" for item in of_items} or {start}
    return found


def constants(types, form):
    return types.constants(form.members["type"][1]) if "type" in form.members else set()
