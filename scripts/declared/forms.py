"""Types that a script puts together itself, of those that a harness declares."""

from declared.types import Form, Type


def form(**members):
    """An object with these members, which it always has."""
    made = Form()
    made.members = {name: (True, of) for name, of in members.items()}
    return made


def ref(name):
    of = Type()
    of.refs.append(name)
    return of


def items(*of):
    """A list of values of these types: names, or forms of objects."""
    made = Type()
    made.items = union(*of)
    return made


def union(*of):
    made = Type()
    for one in of:
        if isinstance(one, str):
            made.refs.append(one)
        else:
            made.objects.append(one)
    return made


def by_tag(types, of, tag):
    """The forms of a type by the values of a member."""
    found = {}
    for one in types.whole(of).objects:
        for value in types.constants(one.members[tag][1]) if tag in one.members else ():
            found.setdefault(value, []).append(one)
    return found
