//! The notes of a turn of the model: its thoughts and texts, its calls and their results.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind;
use engram_core::keys::{KeyMap, hash64};
use engram_core::steps::Check;
use engram_core::text::Text;

use super::{CallList, Note, Notes, call_key, key, response_key, text_key, thought_key};
use crate::gemini::readers::{Call, FileArgs, FunctionCall, FunctionResponse, Line, Thought};
use crate::gemini::schema::{TASKS, joined_thought, parts};
use crate::shared::value::{Value, text};

impl Notes {
    /// A turn of the model.
    pub(super) fn turn(&mut self, line: &Line<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
        if let Some(model) = line
            .model()
            .filter(|model| model.non_empty_text().is_some())
        {
            self.list.push(Note::Model {
                key: hash64(model.raw()),
            });
        }
        let content = line
            .content()
            .filter(|content| content.non_empty_text().is_some() || content.is_array());
        self.list.push(Note::Turn {
            content: key(content),
            tokens: key(line.tokens()),
        });
        if let Some(thoughts) = line.thoughts().filter(|thoughts| !thoughts.is_empty_list()) {
            self.thoughts(thoughts, check)?;
        }
        self.model_content(line, "/content", check)?;
        if let Some(calls) = line.tool_calls() {
            self.tool_calls(calls, check)?;
        }
        Ok(())
    }

    fn thoughts(&mut self, thoughts: Value<'_>, check: &Check<'_>) -> Result<(), Fault> {
        let mut counts: KeyMap<u32> = KeyMap::default();
        for (n, thought) in thoughts.elements().enumerate() {
            let joined = joined_thought(&Thought::lenient(thought));
            if !Text::Token(&joined).is_empty() {
                check.gives(Kind::MsgOut, Pointer::Item("/thoughts", n))?;
                let key = thought_key(&joined);
                let nth = counts.entry(key).or_default();
                *nth += 1;
                self.list.push(Note::Thought { key, nth: *nth });
            }
        }
        Ok(())
    }

    /// The content of a turn: what it says and the calls in it.
    pub(super) fn model_content(
        &mut self,
        line: &Line<'_>,
        path: &str,
        check: &Check<'_>,
    ) -> Result<(), Fault> {
        let Some(content) = line.content() else {
            return Ok(());
        };
        if let Some(text) = content.text() {
            if !text.is_empty() {
                check.gives(Kind::MsgOut, Pointer::At(path))?;
                self.list.push(Note::Content {
                    key: text_key("model", text),
                });
            }
            return Ok(());
        }
        if !content.is_array() {
            return Err(Fault::malformed(
                path,
                "text or a list of parts",
                content.raw(),
            ));
        }
        for (n, part) in parts(Some(content)).enumerate() {
            if let Some(call) = part.call() {
                let (call, place) = (
                    FunctionCall::lenient(call),
                    Pointer::Field(path, n, "/functionCall"),
                );
                check.gives(Kind::ToolCall, place)?;
                self.function_call(&call)
                    .map_err(|fault| fault.within(place))?;
            } else if let Some(text) = text(part.plain_text()) {
                if !text.is_empty() {
                    check.gives(Kind::MsgOut, Pointer::Field(path, n, "/text"))?;
                    let is_thought = part.thought().is_some_and(Value::is_true);
                    self.list.push(Note::Text {
                        key: if is_thought {
                            thought_key(text.raw())
                        } else {
                            text_key("model", text)
                        },
                    });
                }
            } else {
                check.unknown_block(part.unknown_name())?;
            }
        }
        Ok(())
    }

    /// A call in the form of the model's interface, which has no result.
    fn function_call(&mut self, call: &FunctionCall<'_>) -> Result<(), Fault> {
        let Some(name) = call.name() else {
            return Err(Fault::malformed("/name", "the name of a tool", "none"));
        };
        let args = key(call.args());
        self.list.push(match call.id() {
            Some(id) => Note::Call {
                id: hash64(id.raw()),
                args,
                list: CallList::Content,
            },
            None => Note::NamelessCall {
                key: call_key(name, args),
            },
        });
        Ok(())
    }

    /// The calls of a turn, and then their results.
    fn tool_calls(&mut self, list: Value<'_>, check: &Check<'_>) -> Result<(), Fault> {
        const PATH: &str = "/toolCalls";
        let first = self.list.len();
        let strict = |(n, call)| {
            Call::strict(call, "").map_err(|fault| fault.within(Pointer::Item(PATH, n)))
        };
        let calls = list
            .elements()
            .enumerate()
            .map(strict)
            .collect::<Result<Vec<_>, _>>()?;
        for call in &calls {
            let id = call.id().map_or(0, |id| hash64(id.raw()));
            self.list.push(Note::Call {
                id,
                args: key(call.args()),
                list: CallList::Calls,
            });
            let task = |name| {
                let argument = call.args()?.first_member(name)?;
                argument.text().is_some().then(|| hash64(argument.raw()))
            };
            self.tasks.extend(TASKS.into_iter().filter_map(task));
        }
        for (n, call) in calls.iter().enumerate() {
            check.gives(Kind::ToolCall, Pointer::Item(PATH, n))?;
            self.result(call, first + n, check)
                .map_err(|fault| fault.within(Pointer::Item(PATH, n)))?;
        }
        Ok(())
    }

    /// The result of a call, whose note is at `at`.
    fn result(&mut self, call: &Call<'_>, at: usize, check: &Check<'_>) -> Result<(), Fault> {
        let Some(name) = call.name() else {
            return Err(Fault::malformed("/name", "the name of a tool", "none"));
        };
        let Note::Call { id, args, .. } = self.list[at] else {
            return Ok(());
        };
        let back = (self.list.len() - at) as u32;
        self.list.push(Note::Result {
            call: back,
            key: call_key(name, args),
            has_ended: call.has_ended(),
        });
        if !call.has_ended() {
            return Ok(());
        }
        check.gives(Kind::ToolResult, Pointer::Root)?;
        for (_, text) in call.interjections() {
            self.list.push(Note::Interjection {
                key: text_key("user", text),
            });
        }
        for response in parts(call.result()).filter_map(|part| part.response()) {
            self.list.push(Note::OwnResponse {
                id,
                key: response_key(&FunctionResponse::lenient(response)),
            });
        }
        if call.succeeded() {
            check_edit(call)?;
        }
        Ok(())
    }
}

/// An edit that has the file before and after must name the file, and have its text.
fn check_edit(call: &Call<'_>) -> Result<(), Fault> {
    let Some(change) = call.change() else {
        return Ok(());
    };
    let missing = |field: &str, expected| {
        Err(Fault::malformed(
            format!("/resultDisplay{field}"),
            expected,
            "none",
        ))
    };
    if change
        .file_path()
        .or(FileArgs::lenient_opt(call.args()).file_path())
        .is_none()
    {
        return missing("/filePath", "a path");
    }
    if change.new_content().is_none() {
        missing("/newContent", "the text of a file")
    } else {
        Ok(())
    }
}
