//! A bare transcript as the log of an episode.

use crate::episode::{Driver, Header, Ids, Record, Said, SchemaName};
use crate::error::ProfileError;
use crate::grammar::{Limits, response};
use crate::nonce::Nonce;
use crate::profile::Profile;

/// The log of an episode of which only the transcript was kept: the lines of the agent, and between them the answers of the driver. It has
/// no times, no decisions and no outputs, since a transcript has none.
///
/// # Errors
/// `profile_invalid` if a record cannot be written as JSON.
pub fn wrap(
    transcript: &str,
    nonce: &Nonce,
    profile: &Profile,
    ids: Ids,
) -> Result<String, ProfileError> {
    let header = Header {
        schema: SchemaName::V1,
        ids,
        harness: profile.harness.as_str().to_owned(),
        version: None,
        model: None,
        nonce_hash: nonce.hash().as_str().to_owned(),
        capability_map: profile.capability_map.clone(),
        tool_limits: Limits::of(profile).into(),
        t: None,
    };
    let mut log = line(&header)?;
    let hash = nonce.hash();
    let is_answer = |line: &str| response(line.trim_end_matches(['\n', '\r']), &hash).is_some();
    let lines: Vec<&str> = transcript.split_inclusive('\n').collect();
    // A run of lines of one side is one record.
    for run in lines.chunk_by(|before, next| is_answer(before) == is_answer(next)) {
        let said = |text: String| Said {
            t: None,
            part: None,
            text,
            result: None,
        };
        if is_answer(run[0]) {
            for answer in run {
                log.push_str(&line(&Record::Driver(Driver::Said(said(
                    (*answer).to_owned(),
                ))))?);
            }
        } else {
            log.push_str(&line(&Record::Agent(said(run.concat())))?);
        }
    }
    Ok(log)
}

fn line(value: &impl serde::Serialize) -> Result<String, ProfileError> {
    let text = serde_json::to_string(value).map_err(|error| ProfileError::invalid("", error))?;
    Ok(format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Answer, Request, Response, request_frame, response_frame};
    use crate::registry;

    #[test]
    fn lines_of_each_side_are_its_records() {
        let (nonce, shipped) = (
            Nonce::scripted("tests", "e1"),
            registry::all().next().unwrap(),
        );
        let ask = |id: &str| {
            request_frame(
                &nonce,
                &Request {
                    id: id.into(),
                    tool: "read".into(),
                    args: "{}".into(),
                },
            )
        };
        let deny = |id: &str| {
            response_frame(
                &nonce,
                &Response {
                    id: id.into(),
                    answer: Answer::Denied("NO".into()),
                },
            )
        };
        let transcript = format!(
            "look\n{}{}{}{}done",
            ask("a"),
            ask("b"),
            deny("a"),
            deny("b")
        );
        let hash = shipped.hash.clone();
        let ids = Ids {
            work_id: "w".into(),
            episode_id: "e".into(),
            session_id: "s".into(),
            adapter_profile_hash: hash,
        };
        let log = wrap(&transcript, &nonce, &shipped.profile, ids).unwrap();
        let mut lines = log.lines();
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with(r#"{"schema":"engram.episode/1""#)
        );
        let records: Vec<Record> = lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let texts = records.iter().map(|record| match record {
            Record::Agent(said) => ("agent", said.text.clone()),
            Record::Driver(Driver::Said(said)) => ("driver", said.text.clone()),
            Record::Driver(Driver::Event(event)) => panic!("{event:?}"),
        });
        let expected = [
            ("agent", format!("look\n{}{}", ask("a"), ask("b"))),
            ("driver", deny("a")),
            ("driver", deny("b")),
            ("agent", "done".into()),
        ];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }
}
