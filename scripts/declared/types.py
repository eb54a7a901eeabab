"""Types that a harness declares: made of a JSON Schema, or of the JSON that `typescript.js` prints."""

# The order in which a selector looks for the member whose constant values tell the forms of an object apart.
TAGS = ["type", "kind", "role", "subtype", "mode", "status", "event"]


class Type:
    """The values that a member may have."""

    def __init__(self):
        self.names = set()  # of string, number, bool, null, any
        self.constants = set()  # strings that are written out in the type
        self.items = None  # Type of the items, if it may be an array
        self.objects = []  # forms of the object, if it may be one
        self.refs = []  # names of other types that it may have

    def add(self, other):
        """Makes it the union with another type."""
        self.names |= other.names
        self.constants |= other.constants
        self.objects += other.objects
        self.refs += [name for name in other.refs if name not in self.refs]
        if other.items:
            self.items = self.items or Type()
            self.items.add(other.items)
        return self


class Form:
    """One form of an object: its members, and the type of all others."""

    def __init__(self):
        self.members = {}  # name: (required, Type)
        self.rest = None

    def with_form(self, other):
        """The form with the members of both."""
        form = Form()
        form.members = {**self.members, **other.members}
        form.rest = self.rest or other.rest
        return form


class Types:
    """Named types."""

    def __init__(self):
        self.named = {}

    def add(self, name, of):
        self.named.setdefault(name, Type()).add(of)

    def whole(self, of, seen=()):
        """The type with the types that it names put in their place."""
        whole = Type()
        whole.names, whole.constants = set(of.names), set(of.constants)
        whole.objects = list(of.objects)
        if of.items:
            whole.items = Type().add(of.items)
        for name in of.refs:
            if name in seen:
                continue
            if name in self.named:
                whole.add(self.whole(self.named[name], seen + (name,)))
            else:
                whole.names.add("any")
        return whole

    def name_of_objects(self, of):
        """The name of the type that has all forms of its object."""
        named = [name for name in of.refs if name in self.named and self.whole(self.named[name]).objects]
        if of.objects or len(named) != 1:
            return None
        return self.name_of_objects(self.named[named[0]]) or named[0]

    def constants(self, of):
        """The strings that it can be, if it is nothing else."""
        whole = self.whole(of)
        is_constant = whole.constants and not (whole.names - {"string"} or whole.objects or whole.items)
        return whole.constants if is_constant and not whole.names else set()

    def tag(self, forms):
        """The member whose constants tell forms apart. One form may lack it."""
        tags = []
        for name in {name for form in forms for name in form.members}:
            members = [form.members[name] for form in forms if name in form.members]
            having = [self.constants(of) if required else set() for required, of in members]
            if all(having) and len(having) >= len(forms) - 1 and len(set.union(*having)) + len(forms) - len(having) > 1:
                tags.append(name)
        return min(tags, key=lambda name: (TAGS.index(name) if name in TAGS else len(TAGS), name), default=None)

    def by_tag(self, forms):
        """A tag, and for each list of forms the values of the tag that mean one of them. None if nothing tells them apart."""
        tag, by_value, cases = self.tag(forms), {}, {}
        if not tag:
            return None, {}
        for at, form in enumerate(forms):
            for value in self.constants(form.members[tag][1]) if tag in form.members else {""}:
                by_value.setdefault(value, []).append(at)
        for value in sorted(by_value):
            cases.setdefault(tuple(by_value[value]), []).append(value)
        return (tag, cases) if len(cases) > 1 else (None, {})

    def merged(self, forms):
        """One form with the members of all: one that some lack is optional."""
        merged = Form()
        for form in forms:
            for name, (required, of) in form.members.items():
                known = merged.members.get(name, (True, Type()))
                merged.members[name] = (known[0] and required, known[1].add(of))
            if form.rest:
                merged.rest = (merged.rest or Type()).add(form.rest)
        for name, (required, of) in merged.members.items():
            merged.members[name] = (required and all(name in form.members for form in forms), of)
        return merged


def any_value():
    of = Type()
    of.names.add("any")
    return of


def of_schema(types, schema):
    """The type of a JSON Schema. Named ones are those of `types`."""
    of = Type()
    if schema is True or schema == {}:
        return any_value()
    if schema is False or "not" in schema:
        return of
    if "$ref" in schema:
        of.refs.append(schema["$ref"].rsplit("/", 1)[1])
        return of
    inner = [(key, part) for key in ("oneOf", "anyOf", "allOf") for part in schema.get(key, ())]
    if inner:
        return of_parts(types, schema, inner)
    if "const" in schema or "enum" in schema:
        for value in schema.get("enum", [schema.get("const")]):
            add_constant(of, value)
        return of
    names = schema.get("type", "object" if "properties" in schema else None)
    for name in names if isinstance(names, list) else [names]:
        if name == "array":
            items = schema.get("items", True)
            of.items = of_schema(types, {"anyOf": items} if isinstance(items, list) else items)
        elif name == "object":
            of.objects.append(form_of_schema(types, schema))
        elif name is None:
            of.names.add("any")
        else:
            of.names.add({"integer": "number", "boolean": "bool"}.get(name, name))
    return of


def add_constant(of, value):
    if isinstance(value, str):
        of.constants.add(value)
    else:
        of.names.add("null" if value is None else "bool" if isinstance(value, bool) else "number")


def form_of_schema(types, schema):
    form, required = Form(), schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        form.members[name] = (name in required, of_schema(types, part))
    rest = schema.get("additionalProperties", not form.members)
    if rest is not False and rest is not None:
        form.rest = of_schema(types, rest)
    return form


def of_parts(types, schema, inner):
    """A union, an intersection, or a form that all parts of a union have."""
    of = Type()
    own = form_of_schema(types, schema) if "properties" in schema else None
    if any(key == "allOf" for key, _ in inner) and len(inner) > 1:
        form = own or Form()
        for _, part in inner:
            for other in types.whole(of_schema(types, part)).objects:
                form = form.with_form(other)
        of.objects.append(form)
        return of
    for _, part in inner:
        of.add(of_schema(types, part))
    if own:
        whole = types.whole(of)
        own.rest = None
        forms = [own.with_form(form) for form in whole.objects] or [own]
        of.refs, of.objects = [], forms
    return of


def add_schemas(types, schemas):
    """Adds the named types of a JSON Schema: first those that others have as parts."""
    for name, schema in schemas.items():
        types.add(name, of_schema(types, schema))
