"""Claude Code: what it prints and what its tools return, in the declarations of its Agent SDK, which has the version of the command."""

import os
import re

from declared import typescript
from declared.forms import ref
from declared.table import Table
from declared.types import Form, Types

SOURCE = "the declarations (`sdk.d.ts`, `sdk-tools.d.ts`) of @anthropic-ai/claude-agent-sdk"
SDK = "@anthropic-ai/claude-agent-sdk/sdk.d.ts"
TOOLS = "@anthropic-ai/claude-agent-sdk/sdk-tools.d.ts"

# Tools whose types have another name.
NAMES = {"FileRead": ["Read"], "FileEdit": ["Edit", "MultiEdit"], "FileWrite": ["Write"], "Agent": ["Agent", "Task"],
         "ListMcpResources": ["ListMcpResourcesTool"], "ReadMcpResource": ["ReadMcpResourceTool"],
         "ReadMcpResourceDir": ["ReadMcpResourceDirTool"], "RefreshMcpTools": ["RefreshMcpToolsTool"]}


def table(installed, work):
    types, outputs = Types(), set()
    for place in installed:
        # 2.1.332 is 0.3.332.
        version = re.sub(r"^2\.1\.", "0.3.", os.path.basename(place))
        modules = typescript.install([f"@anthropic-ai/claude-agent-sdk@{version}"], os.path.join(work, "types-" + version))
        typescript.add(types, modules, SDK, ["SDKMessage"])
        with open(os.path.join(modules, TOOLS), encoding="utf-8") as file:
            found = re.findall(r"^export (?:interface|type) (\w+)Output\b", file.read(), re.MULTILINE)
        outputs |= set(found)
        typescript.add(types, modules, TOOLS, [name + "Output" for name in found])
    made = Table(types)
    made.by_tool("tool_result", {tool: name + "Output" for name in outputs for tool in NAMES.get(name, [name])})
    for name, forms in sorted(records(types).items()):
        if name == "user":
            forms = [one.with_form(results(one)) for one in forms]
        made.record(name, forms)
    return made


def records(types):
    """The forms of each type of line: `TYPE` or `TYPE/SUBTYPE`, and `result/*`, as the other files of the table name it."""
    found = {}
    for one in types.whole(ref("SDKMessage")).objects:
        kinds = types.constants(one.members["type"][1])
        subtypes = types.constants(one.members["subtype"][1]) if "subtype" in one.members else {""}
        for kind in kinds:
            for subtype in subtypes:
                name = "result/*" if kind == "result" else f"{kind}/{subtype}" if subtype else kind
                found.setdefault(name, []).append(one)
    return found


def results(of):
    """The result of a tool, in a transcript and as it is printed."""
    made = Form()
    for name in ["toolUseResult", "tool_use_result"]:
        made.members[name] = (False, ref("tool_result"))
    return made
