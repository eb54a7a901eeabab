"""The Agent Client Protocol, version 1: the JSON Schema of its package, with what is not stable yet."""

import json
import os

from declared.forms import form, ref, union
from declared.table import Table
from declared.types import Type, Types, add_schemas, of_schema

SOURCE = "the JSON Schema (schema/v1/schema.unstable.json) of @agentclientprotocol/sdk"
SCHEMA = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.unstable.json"


def table(installed, work):
    types, methods, results, updates = Types(), {}, set(), {}
    for place in installed:
        with open(os.path.join(place, SCHEMA), encoding="utf-8") as file:
            named = json.load(file)["$defs"]
        add_schemas(types, named)
        for name, schema in named.items():
            if schema.get("x-side") in ("agent", "client", "protocol"):
                if name.endswith("Response"):
                    results.add(name)
                else:
                    methods.setdefault(schema["x-method"], set()).add(name)
        for part in named["SessionUpdate"]["oneOf"]:
            name = part["properties"]["sessionUpdate"]["const"]
            updates.setdefault(name, Type()).add(of_schema(types, part))
    made = Table(types)
    for method in sorted(methods.keys() - {"session/update"}):
        made.record(method, [line(method=word(), params=union(*sorted(methods[method])))])
    for name, of in sorted(updates.items()):
        params = Type()
        params.objects = [form(sessionId=word(), update=of)]
        made.record("session/update/" + name, [line(method=word(), params=params)])
    answer = line(id=scalar("number", "string", "null"), result=union(*sorted(results)), error=ref("Error"))
    made.record("", [answer])
    return made


def scalar(*names):
    of = Type()
    of.names |= set(names)
    return of


def word():
    return scalar("string")


def line(**members):
    """A line of a log, and the message in it. A part of a message may be absent."""
    message = form(**{"jsonrpc": word(), "id": scalar("number", "string"), **members})
    message.members = {name: (name == "jsonrpc", of) for name, (_, of) in message.members.items()}
    of = Type()
    of.objects = [message]
    return form(dir=word(), t=scalar("number"), m=of)
