"""Writes the JSON Schema of ATIF documents from the models of the Harbor that is installed: atif_schema.py > tests/atif.schema.json"""

import importlib.metadata
import json

from harbor.models.trajectories import Trajectory


def without_words(schema):
    if isinstance(schema, dict):
        return {key: without_words(value) for key, value in schema.items() if key not in ("description", "title") or not isinstance(value, str)}
    if isinstance(schema, list):
        return [without_words(item) for item in schema]
    return schema


head = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$comment": f"The structure of ATIF documents, made from the models of Harbor {importlib.metadata.version('harbor')} by tests/python/atif_schema.py.",
}
print(json.dumps({**head, **without_words(Trajectory.model_json_schema())}, indent=1))
