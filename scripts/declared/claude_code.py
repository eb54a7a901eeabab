"""Claude Code: what it prints and what its tools return, in the declarations of its Agent SDK, which has the version of the command; and what
only its program lists: members of what it prints, and the names of the types of the lines and attachments in its transcripts."""

import fnmatch
import glob
import os
import re

from declared import program, typescript
from declared.forms import form, ref, union
from declared.table import Table
from declared.types import Form, Type, Types, any_value

SOURCE = ("the declarations (`sdk.d.ts`, `sdk-tools.d.ts`) of @anthropic-ai/claude-agent-sdk, and the schemas and lists in the program of "
          "@anthropic-ai/claude-code")
SDK = "@anthropic-ai/claude-agent-sdk/sdk.d.ts"
# All lines but the questions to the program that runs the harness, and the question whether a call may run.
PRINTED = ["SDKMessage", "SDKActiveGoalMessage", "SDKControlCancelRequest", "SDKKeepAliveMessage"]
ASKED = "SDKControlPermissionRequest"
TOOLS = "@anthropic-ai/claude-agent-sdk/sdk-tools.d.ts"

# Tools whose types have another name.
NAMES = {"FileRead": ["Read"], "FileEdit": ["Edit", "MultiEdit"], "FileWrite": ["Write"], "Agent": ["Agent", "Task"],
         "ListMcpResources": ["ListMcpResourcesTool"], "ReadMcpResource": ["ReadMcpResourceTool"],
         "ReadMcpResourceDir": ["ReadMcpResourceDirTool"], "RefreshMcpTools": ["RefreshMcpToolsTool"]}


HERE = os.path.dirname(os.path.abspath(__file__))
# The beginning of a record; the rest of the line that begins a record or a shape, and its rows.
RECORD = r'^record "?([^" \n]+)'
BLOCK = r".*\n((?:(?:  .*|#.*)\n)*)"
MEMBERS = os.path.join(HERE, "../../engram-adapters/src/claude_code/members")


# The head of `given.members`.
GIVEN = """# Made by `scripts/declared-members claude-code`: do not change it by hand.
# Attachments that only the program lists. The tape has what the model got, or without it the attachment. `declared.members` has their members.

shape given
  include attached
  attachment  object
    type       string         as k

# Not all of their members are known.
shape given.open
  include attached
  attachment  object free     omit attachment.detail
"""


def table(installed, work):
    types, outputs = Types(), set()
    for place in installed:
        # 2.1.332 is 0.3.332.
        version = re.sub(r"^2\.1\.", "0.3.", os.path.basename(place))
        modules = typescript.install([f"@anthropic-ai/claude-agent-sdk@{version}", "@types/node"], os.path.join(work, "types-" + version))
        typescript.add(types, modules, SDK, [*PRINTED, ASKED])
        with open(os.path.join(modules, TOOLS), encoding="utf-8") as file:
            found = re.findall(r"^export (?:interface|type) (\w+)Output\b", file.read(), re.MULTILINE)
        outputs |= set(found)
        typescript.add(types, modules, TOOLS, [name + "Output" for name in found])
    made = Table(types)
    made.by_tool("tool_result", {tool: name + "Output" for name in outputs for tool in NAMES.get(name, [name])})
    programs = [program.text_of(place) for place in installed]
    given = write_given(programs)
    lines = records(types)
    for text in programs:
        for name, members in program.printed(text).items():
            add_names(lines, name, members)
    for name, members in written(programs, given).items():
        add_written(lines, name, members)
    for name, forms in sorted(lines.items()):
        if name == "user":
            forms = [one.with_form(results(one)) for one in forms]
        made.record(name, forms)
    for name in sorted(set().union(*map(program.listed, programs)) - set(lines)):
        if not is_named(name):
            made.named(name)
    return made


def add_names(lines, name, members):
    """Adds the members of a type of line that the declarations leave out, and the type if they leave it out. Only the names are known."""
    name = "result/*" if name.startswith("result") else name
    # A row by hand has the type too.
    members = members - named_by_hand() if name in by_hand() else members
    if name == program.ASKED_NAME:
        members = members - named_by_hand()
        request = lines["control_request"][0].members["request"][1]
        request.objects = [without_types(members).with_form(one) for one in request.objects]
    elif name in lines:
        lines[name] = [without_types(members).with_form(one) for one in lines[name]]
    elif "session_id" in members and not is_named(name):
        lines[name] = [without_types(members | {"type", "subtype"})]


def written(programs, given):
    """The members of attachments and notices that have no row by hand. Several types may have one row: then they stand under its name."""
    made, records = [program.written(text) for text in programs], [record for record, _ in in_rows(RECORD + BLOCK)]
    found = {}
    for one in made:
        for name, members in one.items():
            record = next((record for record in records if fnmatch.fnmatch(name, record)), name)
            known = {"type"} if name in given else words_by_hand(name) | {program.OTHERS}
            found.setdefault(record, set()).update(members - known)
    return {name: members for name, members in found.items() if program.OTHERS not in members}


def write_given(programs):
    """Writes the rows of the types of attachments that the programs list and no row by hand names. Returns their names."""
    listed = {name for text in programs for name in program.listed(text) if name.startswith("attachment/")}
    by_hand = in_rows(RECORD, but=["declared.members", "given.members"])
    names = sorted(name for name in listed if not any(fnmatch.fnmatch(name, record) for record in by_hand))
    made = [program.written(text) for text in programs]
    rows = []
    for name in names:
        forms = [one[name] for one in made if name in one]
        # Of a type that no program makes, or of one with the members of another object, they are not known.
        shape = "given" if forms and not any(program.OTHERS in form for form in forms) else "given.open"
        rows.append(f"\nrecord {name} in attachment context text /rendered feeds meta\n  include {shape}\n")
    with open(os.path.join(MEMBERS, "given.members"), "w", encoding="utf-8") as file:
        file.write(GIVEN + "".join(rows))
    return names


def add_written(lines, name, members):
    """Adds the members of an attachment or of a notice, if the rows by hand have its type. Of others only the type is known."""
    if not is_named(name):
        for one in lines.get(name, []):
            one.rest = any_value()
    elif members and name.startswith("attachment/"):
        attachment = Type()
        attachment.objects.append(without_types(members))
        made = Form()
        made.members["attachment"] = (True, attachment)
        lines[name] = [made.with_form(one) for one in lines.get(name, [Form()])]
    elif members:
        lines[name] = [without_types(members).with_form(one) for one in lines.get(name, [Form()])]


def words_by_hand(name):
    """All words of the rows by hand of a type, and of the shapes that they include."""
    blocks = [block for record, block in in_rows(RECORD + BLOCK) if fnmatch.fnmatch(name, record)]
    shapes, seen = dict(in_rows(r"^shape (\S+)" + BLOCK)), set()
    while blocks:
        words = blocks.pop()
        seen |= set(re.findall(r"\w+", words))
        blocks += [shapes.pop(shape) for shape in re.findall(r"include (\S+)", words) if shape in shapes]
    return {"type", "subtype"} | seen


def without_types(names):
    made = Form()
    made.members = {name: (False, any_value()) for name in names}
    return made


def is_named(name):
    """Whether the rows by hand name a type, or types that begin with its name. Their members are known, so that any other is noticed."""
    return any(one == name or one.startswith(name + "/") or (one.endswith("*") and name.startswith(one[:-1])) for one in by_hand())


def by_hand():
    """The types of which the other files of the table have rows."""
    return in_rows(RECORD)


def named_by_hand():
    """The names of all members of which the other files of the table have rows."""
    return set(re.findall(r"\w+", " ".join(in_rows(r"^ +([\w|]+)\??\+? "))))


def in_rows(pattern, but=("declared.members",)):
    """What a pattern finds in the rows by hand."""
    found = set()
    for path in glob.glob(os.path.join(MEMBERS, "*.members")):
        if os.path.basename(path) not in but:
            with open(path, encoding="utf-8") as file:
                found |= set(re.findall(pattern, file.read(), re.MULTILINE))
    return found


def records(types):
    """The forms of each type of line: `TYPE` or `TYPE/SUBTYPE`, and `result/*`, as the other files of the table name it."""
    found = {"control_request": [question(types)]}
    for one in types.whole(union(*PRINTED)).objects:
        kinds = types.constants(one.members["type"][1])
        subtypes = types.constants(one.members["subtype"][1]) if "subtype" in one.members else {""}
        for kind in kinds:
            for subtype in subtypes:
                name = "result/*" if kind == "result" else f"{kind}/{subtype}" if subtype else kind
                found.setdefault(name, []).append(one)
    return found


def question(types):
    """The question whether a call may run."""
    request = Type()
    request.objects = types.whole(ref(ASKED)).objects
    word = Type()
    word.names.add("string")
    return form(type=word, request_id=word, request=request)


def results(of):
    """The result of a tool, in a transcript and as it is printed."""
    made = Form()
    for name in ["toolUseResult", "tool_use_result"]:
        made.members[name] = (False, ref("tool_result"))
    return made
