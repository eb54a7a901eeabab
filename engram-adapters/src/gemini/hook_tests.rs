//! What hooks around a call leave known of its file.

use engram_core::adapter::convert_str;
use engram_core::pipeline::Options;

use super::Gemini;
use super::tests::{HEADER, TIME};

#[test]
fn only_a_hook_behind_the_call_hides_the_file_after_it() {
    let hashes = |name: &str, output: &str, before: &str, after: &str| {
        let change = format!(
            r#"{{"filePath":"/a","originalContent":"{before}","newContent":"{after}","isNewFile":false}}"#
        );
        let args = r#"{"file_path":"/a","old_string":"x","new_string":"y","content":"y"}"#;
        let result = format!(
            r#"[{{"functionResponse":{{"id":"c","name":"{name}","response":{{"output":"{output}"}}}}}}]"#
        );
        let call = format!(
            r#"{{"id":"c","name":"{name}","args":{args},"result":{result},"status":"success","resultDisplay":{change}}}"#
        );
        let turn =
            format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#);
        let tape = convert_str(&Gemini, &format!("{HEADER}\n{turn}\n"), &Options::default())
            .expect("the line converts");
        (
            tape.contains("file_before_hash"),
            tape.contains("file_after_hash"),
        )
    };
    let note = r"done\n\n[System] Tool input parameters were modified by a hook before execution.";
    assert_eq!(hashes("replace", note, "x\\n", "y\\n"), (true, true));
    assert_eq!(
        hashes(
            "replace",
            r"done\n\n<hook_context>formatted</hook_context>",
            "x\\n",
            "y\\n"
        ),
        (true, false)
    );
    // `write_file` shows the file as it is, `replace` without the CR of its line ends.
    assert_eq!(hashes("write_file", "done", r"x\r\n", "y"), (true, true));
    assert_eq!(
        hashes("replace", "done", r"x\r\n", r"y\r\n"),
        (false, false)
    );
}

#[test]
fn the_tail_call_of_a_hook_edits_in_place_of_another_tool() {
    let edits = |new: bool, output: &str| {
        let change = format!(
            r#"{{"filePath":"/a","originalContent":"x\n","newContent":"x\ny\n","isNewFile":{new}}}"#
        );
        let result = format!(
            r#"[{{"functionResponse":{{"id":"c","name":"run_shell_command","response":{{"output":"{output}"}}}}}}]"#
        );
        let call = format!(
            r#"{{"id":"c","name":"run_shell_command","args":{{"command":"ls"}},"result":{result},"status":"success","resultDisplay":{change}}}"#
        );
        let turn =
            format!(r#"{{"id":"m",{TIME},"type":"gemini","content":"","toolCalls":[{call}]}}"#);
        let tape = convert_str(&Gemini, &format!("{HEADER}\n{turn}\n"), &Options::default())
            .expect("the line converts");
        let edit = tape
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a tape is JSON"))
            .find(|event| event["k"] == "code.edit")
            .expect("an edit");
        [&edit["op"], &edit["file"]].map(|value| value.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(edits(true, "Successfully created"), ["create", "/a"]);
    assert_eq!(edits(false, "Successfully overwrote"), ["overwrite", "/a"]);
    assert_eq!(edits(false, "Successfully modified"), ["update", "/a"]);
}
