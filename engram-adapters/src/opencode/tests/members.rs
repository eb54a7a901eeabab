//! Members that the table does not name, in each form of a session.

use engram_core::adapter::SideInfo;
use engram_core::error::ErrorCode;
use engram_core::policy::Policy;

use super::{convert, export};

/// An export whose records have what the tests of the member table change.
const SESSION: &str = concat!(
    r#"{"info":{"id":"ses_1","version":"1.18.34","title":"T","time":{"created":1000,"updated":2000}},"messages":["#,
    r#"{"info":{"role":"user","time":{"created":1001},"agent":"build"},"parts":[{"type":"text","text":"the prompt"}]},"#,
    r#"{"info":{"role":"assistant","time":{"created":1002},"finish":"stop"},"parts":["#,
    r#"{"type":"step-start","snapshot":"0"},"#,
    r#"{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"false"},"output":"","title":"false","#,
    r#""metadata":{"output":"","exit":1,"truncated":false},"time":{"start":1003,"end":1004}}},"#,
    r#"{"type":"tool","tool":"mine_tool","callID":"d","state":{"status":"completed","input":{},"output":"","title":"","#,
    r#""metadata":{"exits":1},"time":{"start":1005,"end":1006}}},"#,
    r#"{"type":"text","text":"the answer"}]}]}"#
);

/// A stream with a call.
const STREAM: &str = concat!(
    r#"{"type":"tool_use","timestamp":1001,"sessionID":"ses_1","part":{"id":"prt_1","sessionID":"ses_1","messageID":"msg_1","type":"tool","#,
    r#""callID":"c","tool":"bash","state":{"status":"completed","input":{},"output":"","title":"","metadata":{"output":"","exit":1}}}}"#,
    "\n",
    r#"{"type":"step_start","timestamp":1002,"sessionID":"ses_1","part":{"messageID":"msg_1","type":"step-start"}}"#,
    "\n",
    r#"{"type":"text","timestamp":1003,"sessionID":"ses_1","part":{"messageID":"msg_1","type":"text","text":"the answer"}}"#,
    "\n",
    r#"{"type":"error","timestamp":1004,"sessionID":"ses_1","error":{"name":"UnknownError","data":{"message":"m"}}}"#,
    "\n",
);

/// A session of 0.1.174: the message has what a tool adds to its result.
const OLD_SESSION: &str = concat!(
    r#"{"info":{"id":"ses_1","version":"0.1.174","title":"T","time":{"created":1000,"updated":2000}},"messages":["#,
    r#"{"info":{"role":"assistant","metadata":{"time":{"created":1002},"sessionID":"ses_1","tool":{"c/1":"#,
    r#"{"exit":1,"stdout":"","title":"","time":{"start":1003,"end":1004}}}}},"parts":["#,
    r#"{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c/1","toolName":"bash","args":{},"result":""}}]}]}"#
);

#[test]
fn strict_policy_refuses_members_that_the_table_does_not_name() {
    let exit = "/messages/1/parts/1/state/metadata";
    for (source, old, new, line, pointer) in [
        (
            SESSION,
            r#""title":"T""#,
            r#""name":"T""#,
            None,
            "/info/name".to_owned(),
        ),
        (
            SESSION,
            r#""title":"T""#,
            r#""title":7,"name":"T""#,
            None,
            "malformed".to_owned(),
        ),
        (
            SESSION,
            r#""updated":2000"#,
            r#""updated":"2000""#,
            None,
            "/info/time/updated".to_owned(),
        ),
        (
            SESSION,
            r#""agent":"build""#,
            r#""persona":"build""#,
            None,
            "/messages/0/info/persona".to_owned(),
        ),
        (
            SESSION,
            r#""finish":"stop""#,
            r#""finish":true"#,
            None,
            "/messages/1/info/finish".to_owned(),
        ),
        (
            SESSION,
            r#""exit":1"#,
            r#""code":1"#,
            None,
            format!("{exit}/code"),
        ),
        (
            SESSION,
            r#""exit":1"#,
            r#""exit":"1""#,
            None,
            format!("{exit}/exit"),
        ),
        (
            SESSION,
            r#""snapshot":"0""#,
            r#""tree":"0""#,
            None,
            "/messages/1/parts/0/tree".to_owned(),
        ),
        (
            SESSION,
            r#"{"info":{"role":"user""#,
            r#"{"extra":1,"info":{"role":"user""#,
            None,
            "/messages/0/extra".to_owned(),
        ),
        (
            STREAM,
            r#""exit":1"#,
            r#""code":1"#,
            Some(1),
            "/part/state/metadata/code".to_owned(),
        ),
        (
            STREAM,
            r#"1002,"sessionID":"ses_1""#,
            r#"1002,"sessionID":"ses_1","x":1"#,
            Some(2),
            "/x".to_owned(),
        ),
        (
            STREAM,
            r#""text":"the answer""#,
            r#""text":"the answer","x":1"#,
            Some(3),
            "/part/x".to_owned(),
        ),
        (
            STREAM,
            r#""data":{"message":"m"}"#,
            r#""data":{"text":"m"}"#,
            Some(4),
            "/error/data/text".to_owned(),
        ),
        (
            OLD_SESSION,
            r#""exit":1"#,
            r#""code":1"#,
            None,
            "/messages/0/info/metadata/tool/c~11/code".to_owned(),
        ),
        (
            OLD_SESSION,
            r#""sessionID""#,
            r#""session""#,
            None,
            "/messages/0/info/metadata/session".to_owned(),
        ),
    ] {
        convert(source, SideInfo::default(), Policy::Strict).unwrap();
        let changed = source.replacen(old, new, 1);
        let refused = convert(&changed, SideInfo::default(), Policy::Strict).unwrap_err();
        if pointer == "malformed" {
            assert_eq!(
                refused.code,
                ErrorCode::MalformedRecord,
                "a malformed record keeps its fault"
            );
            continue;
        }
        assert_eq!(
            (refused.code, refused.line, refused.pointer.as_deref()),
            (ErrorCode::UnknownMember, line, Some(&*pointer)),
            "{new}"
        );
    }
}

#[test]
fn permissive_policy_counts_unknown_members_and_converts_the_rest() {
    for (source, record, pointer) in [
        (SESSION, "part/tool", "/state/metadata/code"),
        (STREAM, "tool_use", "/part/state/metadata/code"),
        (OLD_SESSION, "tool.metadata", "/code"),
    ] {
        let changed = source.replacen(r#""exit":1"#, r#""code":1"#, 1);
        let [before, after] = [source, &changed]
            .map(|text| convert(text, SideInfo::default(), Policy::Permissive).unwrap());
        let unknown = &after.last().unwrap()["ledger"]["unknown_members"];
        assert_eq!(
            *unknown,
            serde_json::json!([{"type": record, "pointer": pointer, "count": 1}])
        );
        assert!(
            before.last().unwrap()["ledger"]
                .get("unknown_members")
                .is_none()
        );
        let revision = after
            .iter()
            .find(|event| event["label"] == "revision")
            .unwrap();
        assert_eq!(revision["degraded"], serde_json::json!(["unknown_members"]));
        let result = after
            .iter()
            .find(|event| event["k"] == "tool.result")
            .unwrap();
        assert!(revision["seq"].as_u64() < result["seq"].as_u64() && result.get("exit").is_none());
        assert_eq!(
            after.len(),
            before.len() + 1,
            "everything else is converted"
        );
    }
}

#[test]
fn another_member_of_the_document_is_a_record_of_unknown_type() {
    let text = SESSION.replacen("}]}]}", r#"}]}],"todos":[{"content":"c"}]}"#, 1);
    assert_eq!(
        convert(&text, SideInfo::default(), Policy::Strict)
            .unwrap_err()
            .code,
        ErrorCode::UnrecognizedRecord
    );
    let tape = convert(&text, SideInfo::default(), Policy::Permissive).unwrap();
    let unrecognized = tape
        .iter()
        .find(|event| event["label"] == "unrecognized")
        .unwrap();
    assert_eq!(
        (&unrecognized["name"], &unrecognized["raw"][0]["content"]),
        (&"todos".into(), &"c".into())
    );
}

#[test]
fn a_fork_may_show_a_list_of_tasks_once_more() {
    let list = r#"[{"content":"Read","status":"pending","priority":"high"}]"#;
    let part = |tool: &str| {
        format!(
            r#"{{"type":"tool","tool":"{tool}","callID":"c","state":{{"status":"completed","input":{{"todos":{list}}},"output":"x","title":"1 todos","metadata":{{"todos":{list},"view":{{"mode":"full","todos":{list},"changed":1}},"truncated":false}},"time":{{"start":1,"end":2}}}}}}"#
        )
    };
    let strict = |tool: &str| {
        let text = export(&part(tool)).replace("1.18.34", "7.7.7");
        convert(&text, SideInfo::default(), Policy::Strict)
    };
    assert!(strict("todowrite").is_ok());
    assert_eq!(
        strict("todoread").unwrap_err().code,
        ErrorCode::UnknownMember
    );
}
