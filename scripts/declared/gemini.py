"""Gemini CLI: the types of its recorded conversations and of what it prints, in the declarations of its core package."""

import os

from declared import typescript
from declared.forms import by_tag, form, ref
from declared.table import Table
from declared.types import Types

SOURCE = "the declarations (`chatRecordingTypes.d.ts`, `output/types.d.ts`) of @google/gemini-cli-core"
RECORDS = "@google/gemini-cli-core/dist/src/services/chatRecordingTypes.d.ts"
STREAM = "@google/gemini-cli-core/dist/src/output/types.d.ts"
EVENTS = ["InitEvent", "MessageEvent", "ToolUseEvent", "ToolResultEvent", "ErrorEvent", "ResultEvent"]


def table(installed, work):
    types = Types()
    for place in installed:
        package = "@google/gemini-cli-core@" + os.path.basename(place)
        modules = typescript.install([package], os.path.join(work, "types-" + os.path.basename(place)))
        typescript.add(types, modules, RECORDS, ["MessageRecord", "ConversationRecord", "PartialMetadataRecord", "RewindRecord"])
        typescript.add(types, modules, STREAM, EVENTS)
    made = Table(types)
    messages = by_tag(types, ref("MessageRecord"), "type")
    for kind, forms in by_tag(types, ref("PartialMetadataRecord"), "kind").items():
        made.record(kind, forms)
    for name in EVENTS:
        for kind, forms in by_tag(types, ref(name), "type").items():
            for start, some in by_tag(types, ref(name), "role").items() if name == "MessageEvent" else [("", forms)]:
                # A notice of a log and one of a stream have one type.
                made.record(f"{kind}/{start}" if start else kind, some + messages.pop(kind, []))
    for kind, forms in messages.items():
        made.record(kind, forms)
    made.record("", types.whole(types.named["RewindRecord"]).objects)
    # A line that changes the conversation has the name of the first member that it sets.
    conversation = types.whole(types.named["ConversationRecord"]).objects
    for name in types.merged(conversation).members:
        made.record(name, [form(**{"$set": ref("ConversationRecord")})])
    made.document(conversation)
    return made
