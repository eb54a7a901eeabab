"""What the program of Claude Code has and its declarations leave out: types of lines and attachments, and members of what it prints and writes."""

import glob
import os
import re

# How the program lists what it does with each type of line, and the types of attachments. Its other names differ from version to version.
LINES = re.compile(r'\{user:"transcript",assistant:"transcript",[^{}]*\}')
LINE = re.compile(r'[{,]"?([a-z-]+)"?:')
ATTACHMENTS = re.compile(r'\[(?:"[a-z_]+",)*"nested_memory",(?:"[a-z_]+",)*"[a-z_]+"\]')
ATTACHMENT = re.compile(r'"([a-z_]+)"')

# The beginning of the schema of a line: `{type:f("system"),subtype:f("init"),`. `f` is any short name.
SCHEMA = re.compile(r'\{type:\w+\("([a-z_]+)"\),(?:subtype:\w+\("([a-z_]+)"\),)?')
ASKED_NAME = "can_use_tool"
ASKED = re.compile(r'\{subtype:\w+\("' + ASKED_NAME + r'"\),')
MEMBER = re.compile(r"([a-z_]+):\w+[.(]")
QUOTES = "\"'`"

# The beginning of an object that the program makes: `{type:"system",subtype:"turn_duration",`, and that of a member of it: `durationMs:e`, `verb,`.
MADE = re.compile(r'\{type:"([a-z_]+)",?(?:subtype:"([a-z_]+)",?)?')
MADE_MEMBER = re.compile(r"(\w+)(?=[:,}])")
# Objects that may be added: `...e&&{verb:e}`, `...e?{verb:e}:{}`.
ADDED = "&?:"
MAX_OBJECT = 20_000
# Members whose names are not found: those of another object.
OTHERS = "*"

# How the program looks at the members of notices when a session goes on: `case"turn_duration":return[...f(e.durationMs),...g(e,names)]`.
LOOKED_AT = re.compile(r'case"([a-z_]+)":return')
ANCHOR = 'case"turn_duration":return['
LOOKED_AT_MEMBER = re.compile(r'\be\.(\w+)|\(e,"(\w+)"|\["(\w+)"')
NAMED_LIST = re.compile(r"\(e,(\w+)\)|(\w+)\.every")


def text_of(place):
    """The text of the program of an installed version."""
    found = []
    for path in glob.glob(os.path.join(place, "node_modules/@anthropic-ai/claude-code-*/claude")):
        with open(path, "rb") as file:
            found.append(file.read().decode("latin-1"))
    return "".join(found)


def listed(program):
    """The types of lines and attachments."""
    found = set()
    for lines in LINES.findall(program):
        found |= set(LINE.findall(lines))
    longest = max(ATTACHMENTS.findall(program), key=len, default="")
    return found | {"attachment/" + name for name in ATTACHMENT.findall(longest)}


def printed(program):
    """The names of the members of each type of printed line, `TYPE` or `TYPE/SUBTYPE`, and of the question whether a call may run."""
    found = {}
    for schema in SCHEMA.finditer(program):
        found.setdefault("/".join(filter(None, schema.groups())), set()).update(members(program, schema.end()))
    for schema in ASKED.finditer(program):
        found.setdefault(ASKED_NAME, set()).update(members(program, schema.end()))
    return found


def written(program):
    """The names of the members of each attachment and of each notice that the program writes to a transcript, `attachment/TYPE` or `system/SUBTYPE`."""
    attachments, found = listed(program), {}
    for made in MADE.finditer(program):
        kind, subtype = made.groups()
        name = f"system/{subtype}" if kind == "system" and subtype else f"attachment/{kind}"
        names, _ = made_members(program, made.end())
        is_notice = kind == "system" and "timestamp" in names and "session_id" not in names
        if is_notice or name in attachments:
            found.setdefault(name, set()).update(names)
    for subtype, names in looked_at(program):
        found.setdefault(f"system/{subtype}", set()).update(names)
    return found


def looked_at(program):
    """The subtypes of notices with names of members that the program looks at when a session goes on."""
    at = program.find(ANCHOR)
    if at < 0:
        return
    begin, end = max(program.rfind("switch(", 0, at), at - MAX_OBJECT), program.find("default:", at)
    cases = LOOKED_AT.split(program[begin:end])
    for subtype, body in zip(cases[1::2], cases[2::2]):
        names = {name for found in LOOKED_AT_MEMBER.findall(body) for name in found if name}
        for name in {name for found in NAMED_LIST.findall(body) for name in found if name}:
            start = program.find(f"{name}=[", end, end + MAX_OBJECT)
            if start >= 0:
                names |= set(re.findall(r'"(\w+)"', program[start:program.find("]", start)]))
        yield subtype, names


def made_members(program, at):
    """The names of the members of the object that is made here, with `OTHERS` if it has more, and where it ends."""
    names, depth, is_start, is_added, end = set(), 0, True, False, at + MAX_OBJECT
    is_open = False
    while at < min(len(program), end):
        letter = program[at]
        if is_start and depth == 0:
            names |= {OTHERS} if is_open else set()
            is_added = is_open = program.startswith("...", at)
            member = MADE_MEMBER.match(program, at)
            names |= {member.group(1)} if member else set()
        if letter in QUOTES:
            at = end_of_text(program, at)
        elif letter == "{" and is_added and program[at - 1] in ADDED:
            more, at = made_members(program, at + 1)
            names |= more
            is_open = False
        elif letter in "({[":
            depth += 1
        elif letter in ")}]":
            depth -= 1
            if depth < 0:
                break
        is_start = letter == "," and depth == 0
        at += 1
    return names | ({OTHERS} if is_open else set()), at


def members(program, at):
    """The names of the members of the object that goes on here."""
    depth, is_start = 0, True
    while at < len(program) and depth >= 0:
        if is_start and depth == 0:
            member = MEMBER.match(program, at)
            if member:
                yield member.group(1)
        letter = program[at]
        if letter in QUOTES:
            at = end_of_text(program, at)
        depth += (letter in "({[") - (letter in ")}]")
        is_start = letter == ","
        at += 1


def end_of_text(program, at):
    """The quotation mark that ends a text."""
    quote, at = program[at], at + 1
    while at < len(program) and program[at] != quote:
        at += 2 if program[at] == "\\" else 1
    return at
