"""What the program of Claude Code lists and its declarations leave out: types of lines and attachments, and members of what it prints."""

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
