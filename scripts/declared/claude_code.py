"""Claude Code: what it prints and what its tools return, in the declarations of its Agent SDK, which has the version of the command; and the
names of the types of the lines and attachments in its transcripts, which its program lists."""

import glob
import os
import re

from declared import typescript
from declared.forms import ref
from declared.table import Table
from declared.types import Form, Types

SOURCE = ("the declarations (`sdk.d.ts`, `sdk-tools.d.ts`) of @anthropic-ai/claude-agent-sdk, and the lists of types in the program of "
          "@anthropic-ai/claude-code")
SDK = "@anthropic-ai/claude-agent-sdk/sdk.d.ts"
TOOLS = "@anthropic-ai/claude-agent-sdk/sdk-tools.d.ts"

# Tools whose types have another name.
NAMES = {"FileRead": ["Read"], "FileEdit": ["Edit", "MultiEdit"], "FileWrite": ["Write"], "Agent": ["Agent", "Task"],
         "ListMcpResources": ["ListMcpResourcesTool"], "ReadMcpResource": ["ReadMcpResourceTool"],
         "ReadMcpResourceDir": ["ReadMcpResourceDirTool"], "RefreshMcpTools": ["RefreshMcpToolsTool"]}


# How the program lists what it does with each type of line, and the types of attachments. Its other names differ from version to version.
LINES = re.compile(rb'\{user:"transcript",assistant:"transcript",[^{}]*\}')
LINE = re.compile(rb'[{,]"?([a-z-]+)"?:')
ATTACHMENTS = re.compile(rb'\[(?:"[a-z_]+",)*"nested_memory",(?:"[a-z_]+",)*"[a-z_]+"\]')
ATTACHMENT = re.compile(rb'"([a-z_]+)"')

HERE = os.path.dirname(os.path.abspath(__file__))
MEMBERS = os.path.join(HERE, "../../engram-adapters/src/claude_code/members")


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
    for name in sorted(set().union(*map(listed, installed)) - set(records(types))):
        if not is_named(name):
            made.named(name)
    return made


def listed(place):
    """The types of lines and attachments that a version's program lists."""
    found = set()
    for path in glob.glob(os.path.join(place, "node_modules/@anthropic-ai/claude-code-*/claude")):
        with open(path, "rb") as file:
            program = file.read()
        for lines in LINES.findall(program):
            found |= {name.decode() for name in LINE.findall(lines)}
        longest = max(ATTACHMENTS.findall(program), key=len, default=b"")
        found |= {"attachment/" + name.decode() for name in ATTACHMENT.findall(longest)}
    return found


def is_named(name):
    """Whether the rows by hand name a type, or types that begin with its name. Their members are known, so that any other is noticed."""
    by_hand = set()
    for path in glob.glob(os.path.join(MEMBERS, "*.members")):
        if not path.endswith("declared.members"):
            with open(path, encoding="utf-8") as file:
                by_hand |= set(re.findall(r'^record "?([^" \n]+)', file.read(), re.MULTILINE))
    return any(one == name or one.startswith(name + "/") or (one.endswith("*") and name.startswith(one[:-1])) for one in by_hand)


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
