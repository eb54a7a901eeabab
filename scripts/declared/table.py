"""A member table of declared types."""

import json
import re

from declared.types import Form, Type

# Words of the format that a name or a value must not be taken for.
WORDS = {"by", "case", "else", "include", "tape", "as", "omit", "opaque", "free", "records", "in", "context", "feeds",
         "unrecognized"}


class Table:
    """Records and the shapes that they need."""

    def __init__(self, types):
        self.types, self.records, self.shapes, self.waiting = types, [], {}, []

    def record(self, name, forms):
        """A record type with these forms. Every value of it is omitted by one rule."""
        lines = [f"record {word(name)} feeds meta omit declared"]
        self.records.append("\n".join(lines + self.object(forms, 1)))

    def named(self, name):
        """A record type of which only the name is known: any member."""
        self.records.append(f"record {word(name)} feeds meta omit declared\n  * any free")

    def document(self, forms):
        """The outer part of an artifact that is one document."""
        self.records.append("\n".join(["document object feeds meta omit declared"] + self.object(forms, 1)))

    def by_tool(self, name, cases):
        """A type whose forms the adapter chooses, by the tool of a call. `cases` has the type of each tool's results."""
        lines = [f"shape {name}", "  by @tool"]
        for tool, of in sorted(cases.items()):
            forms = self.types.whole(self.types.named[of]).objects
            lines += [f"  case {word(tool)}"] + self.object(forms, 2) if forms else []
        self.shapes[name] = "\n".join(lines)
        # Any object, so that others can have it as a member.
        self.types.named[name] = Type()
        self.types.named[name].objects.append(Form())

    def shared(self, name, forms):
        """As `record`, for the members that several records share."""
        self.shapes[name] = "\n".join([f"shape {name}"] + self.object(forms, 1))

    def include(self, record, shape):
        self.records.append(f"record {word(record)} feeds meta omit declared\n  include {shape}")

    def text(self):
        while self.waiting:
            name = self.waiting.pop()
            if name not in self.shapes:
                self.shapes[name] = ""
                forms = self.types.whole(self.types.named[name]).objects
                self.shapes[name] = "\n".join([f"shape {name}"] + self.object(forms, 1))
        return "\n\n".join(sorted(self.records) + [self.shapes[name] for name in sorted(self.shapes)]) + "\n"

    def object(self, forms, depth):
        """The rows of an object, a case for each of its forms."""
        tag, cases = self.types.by_tag(forms)
        if not tag:
            return self.members(self.types.merged(forms), depth)
        space = "  " * depth
        lines = [f"{space}by {word(tag)}"]
        for some, values in sorted(cases.items(), key=lambda case: case[1]):
            lines.append(f"{space}case " + " ".join(map(word, values)))
            lines += self.members(self.types.merged([forms[at] for at in some]), depth + 1)
        return lines

    def members(self, form, depth):
        lines = []
        for name in sorted(form.members):
            required, of = form.members[name]
            lines += self.row(word(name) + ("" if required else "?"), of, depth)
        if form.rest:
            lines += self.row("*", form.rest, depth)
        return lines

    def row(self, name, of, depth):
        """The row of a value, and those of what it contains."""
        whole = self.types.whole(of)
        start = "  " * depth + name
        if "any" in whole.names:
            return [f"{start} any free"]
        names = sorted(whole.names | ({"string"} if whole.constants else set()))
        names += (["object"] if whole.objects else []) + (["array"] if whole.items else [])
        if not names:
            return []
        start += " " + "|".join(names)
        if any(not form.members and form.rest and "any" in self.types.whole(form.rest).names for form in whole.objects):
            return [f"{start} free"]
        lines = []
        shape = self.types.name_of_objects(of) if whole.objects else None
        if shape:
            self.waiting.append(shape)
            start += f" ={shape}"
        elif whole.objects:
            lines += self.object(whole.objects, depth + 1)
        if whole.items:
            lines += self.row("[]", whole.items, depth + 1)
        return [start] + lines


def word(text):
    """A name or a value, as a JSON string where it is more than a plain word."""
    is_plain = re.fullmatch(r"[A-Za-z0-9_$./-]+", text) and text not in WORDS
    return text if is_plain else json.dumps(text)
