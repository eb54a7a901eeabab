"""Pi and OpenClaw: the entries of their sessions, in the declarations of their packages."""

import os

from declared import typescript
from declared.forms import by_tag, form, ref
from declared.table import Table
from declared.types import Form, Type, Types, any_value

# OpenClaw writes the same entries, with members of its own. Its declarations are bundled in files whose names change.
OPENCLAW = "openclaw@2026.9.6"

SOURCE = ("the declarations (`core/session-manager.d.ts`, `core/messages.d.ts`) of @earendil-works/pi-coding-agent,\n"
          f"# and those of {OPENCLAW}")
CORE = "@earendil-works/pi-coding-agent/dist/core/"
# The roles that the harness adds to those of the model's interface.
ROLES = ["BashExecutionMessage", "CustomMessage", "BranchSummaryMessage", "CompactionSummaryMessage"]

FREE = ["JsonValue", "TSchema"]


def add_openclaw(types, work):
    modules = typescript.install([OPENCLAW, "@types/node"], os.path.join(work, "types-openclaw"))
    dist = os.path.join(modules, "openclaw/dist")

    def add(first, names):
        for name in sorted(os.listdir(dist)):
            if name.endswith(".d.ts"):
                with open(os.path.join(dist, name), encoding="utf-8") as file:
                    if f"\ninterface {first} " in file.read():
                        return typescript.add(types, modules, "openclaw/dist/" + name, names)
        raise SystemExit(f"{OPENCLAW} declares no {first}")

    add("SessionHeader", ["FileEntry", "SessionMessageEntry", "SessionLeafControl"])
    add("BashExecutionMessage", [*ROLES, "AgentMessage"])


def table(installed, work):
    types = Types()
    for place in installed:
        version = os.path.basename(place)
        package = "@earendil-works/pi-coding-agent@" + version
        modules = typescript.install([package, "@types/node"], os.path.join(work, "types-" + version))
        typescript.add(types, modules, CORE + "session-manager.d.ts", ["FileEntry", "SessionMessageEntry"])
        typescript.add(types, modules, CORE + "messages.d.ts", ROLES)
        typescript.add(types, modules, "@earendil-works/pi-ai/dist/types.d.ts", ["Message"])
    add_openclaw(types, work)
    # JSON of a tool, a provider or an extension.
    for name in FREE:
        types.named[name] = any_value()
    of = Form()
    of.rest = any_value()
    types.named["JsonObject"] = Type()
    types.named["JsonObject"].objects.append(of)
    made = Table(types)
    entries = by_tag(types, ref("FileEntry"), "type")
    messages = entries.pop("message")
    for name in ["Message", *ROLES]:
        for role, forms in by_tag(types, ref(name), "role").items():
            of = ref(name)
            of.refs, of.objects = [], forms
            made.record("message/" + role, [entry.with_form(form(message=of)) for entry in messages])
    entries.update(by_tag(types, ref("SessionLeafControl"), "type"))
    for kind, forms in entries.items():
        made.record(kind, forms)
    return made
