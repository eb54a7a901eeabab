"""Types of the declarations (`*.d.ts`) of a package, by TypeScript's own compiler."""

import json
import os
import subprocess

from declared.types import Types, add_schemas, of_schema

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILER = "typescript@5.9.3"


def install(packages, place):
    """Installs packages of npm, once."""
    os.makedirs(place, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--prefix", place]
    if not os.path.isdir(os.path.join(place, "node_modules")):
        subprocess.run(command + [COMPILER] + packages, check=True)
    return os.path.join(place, "node_modules")


def add(types, modules, file, names):
    """Adds these types of a file to `types`, and those that they need."""
    command = ["node", os.path.join(HERE, "typescript.js"), os.path.join(modules, "typescript"),
               os.path.join(modules, file)] + names
    printed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    add_schemas(types, printed["definitions"])
    for name, schema in printed["types"].items():
        if schema is None:
            print(f"{file} has no type {name}")
        elif schema != {"$ref": f"#/definitions/{name}"}:
            types.add(name, of_schema(types, schema))
