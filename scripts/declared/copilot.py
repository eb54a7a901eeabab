"""Copilot CLI: the JSON Schema of its events, which each version ships."""

import glob
import json
import os
import subprocess

from declared.table import Table
from declared.types import Types, of_schema

SOURCE = "the JSON Schema (`schemas/session-events.schema.json`) that each version of @github/copilot ships"
SCHEMA = "schemas/session-events.schema.json"


def table(installed, work):
    types, events = Types(), {}
    for place in installed:
        schema = schema_of(place, work)
        definitions = schema["definitions"]
        for name, definition in definitions.items():
            if name != "SessionEvent":
                types.add(name, of_schema(types, definition))
        for part in definitions["SessionEvent"]["anyOf"]:
            event = definitions[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else part
            if is_kept(event):
                events.setdefault(event["properties"]["type"]["const"], []).append(event)
    made = Table(types)
    for name, schemas in sorted(events.items()):
        forms = [form for schema in schemas for form in of_schema(types, schema).objects]
        for form in forms:
            form.members.pop("ephemeral", None)
            form.rest = None
        made.record(name, forms)
    return made


def is_kept(event):
    """True for an event that is written to the log."""
    return event["properties"].get("ephemeral", {}).get("const") is not True


def schema_of(place, work):
    """The schema of an installed version. Later versions unpack it when they first run."""
    home = os.path.join(work, "home-" + os.path.basename(place))
    found = glob.glob(os.path.join(place, "node_modules/@github/*/", SCHEMA))
    if not found:
        os.makedirs(home, exist_ok=True)
        command = [os.path.join(place, "node_modules/.bin/copilot"), "--version"]
        subprocess.run(command, env={**os.environ, "HOME": home}, check=True, capture_output=True)
        found = glob.glob(os.path.join(home, ".cache/copilot/pkg/*/*/", SCHEMA))
    with open(found[0], encoding="utf-8") as file:
        return json.load(file)
