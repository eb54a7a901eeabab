//! Members of records: every change of a member is noticed, and every value is accounted for.

use engram_core::audit::AuditReport;
use rayon::prelude::*;

use crate::case::Case;
use crate::converted_session::ConvertedSession;
use crate::evidence::Evidence;
use crate::leaves;
use crate::members::{Trial, Unnoticed};
use crate::outcome::Findings;
use crate::subject::Subject;

/// The names of the counts in a report, for renames and for changes of type: all of them, and those that were noticed.
pub const COUNTS: [(&str, &str); 2] = [
    ("renames", "renames noticed"),
    ("type changes", "type changes noticed"),
];
/// The name of the count of changes that give another tape, of which nothing shows that it may be wrong.
pub const OTHER_TAPES: &str = "changes that alter a tape unnoticed";

/// The most lost values of one session that are reported.
const MAX_LOST_VALUES: usize = 4;
/// The name in an audit for records that exceed a limit.
const LIMIT: &str = "limit_exceeded";

/// A change of a member is noticed, unless the table declares its value as user data.
pub fn known(subject: &Subject<'_>, evidence: &Evidence, findings: &mut Findings) {
    match subject.descriptor.members.map(|members| members.table()) {
        None => return findings.fail(subject.descriptor.adapter_id, "no member table"),
        Some(Err(error)) => return findings.fail(subject.descriptor.adapter_id, error.to_string()),
        Some(Ok(_)) => findings.add(evidence.members.findings()),
    }
    let trials = evidence.members.trials(evidence.gaps.len());
    findings.note_many(
        "changes beyond the size of the sample",
        (evidence.members.len() - trials.len()) as u64,
    );
    let results: Vec<Result<(), Unnoticed>> = trials
        .par_iter()
        .map(|(trial, with_strict)| trial.run(subject, *with_strict))
        .collect();
    for ((trial, _), result) in trials.into_iter().zip(results) {
        judge(trial, result, findings);
    }
}

/// No value of the source is lost, and the audit looks at each of them.
pub fn leaves(subject: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    if subject.descriptor.members.is_none() {
        return findings.fail(case.recording.name(), "no member table");
    }
    for session in &case.sessions {
        match session.audit(&subject.descriptor) {
            Ok(report) => leaves_of(session, report, &case.place(session), findings),
            // `text.all` and the checks of the format report it.
            Err(_) => findings.note("sessions without an audit"),
        }
    }
}

fn leaves_of(
    session: &ConvertedSession,
    report: &AuditReport,
    place: &str,
    findings: &mut Findings,
) {
    let counts = &report.leaves;
    if counts.left_over > 0 {
        for lost in report.examples.iter().take(MAX_LOST_VALUES) {
            findings.fail(
                format!("{place}:{}", lost.line),
                format!("lost: {} {} `{}`", lost.record, lost.pointer, lost.excerpt),
            );
        }
    }
    if counts.accounted() != counts.total {
        findings.fail(
            place,
            format!(
                "the audit finds {} values and accounts for {}",
                counts.total,
                counts.accounted()
            ),
        );
    }
    // Of text that is not JSON and of records above a limit the audit counts no values.
    let has_only_json = report.cut.strings == 0 && !report.omitted.contains_key(LIMIT);
    match leaves::count(session.source()).filter(|_| has_only_json) {
        None => findings.note("sessions that are not only JSON"),
        Some(count) if count == counts.total => findings.count_many("values", count),
        Some(count) => findings.fail(
            place,
            format!(
                "the source has {count} values, but the audit finds {}",
                counts.total
            ),
        ),
    }
}

fn judge(trial: &Trial, result: Result<(), Unnoticed>, findings: &mut Findings) {
    let (all, noticed) = COUNTS[usize::from(!trial.is_rename())];
    findings.note_many(all, 1);
    let what = match result {
        Ok(()) => return findings.count(noticed),
        Err(Unnoticed::SameTape) => "unnoticed",
        Err(Unnoticed::OtherTape) => "unnoticed, and the tape is another one",
        Err(Unnoticed::ByStrict) => "not refused by strict policy",
        Err(Unnoticed::Panic) => "the adapter panics",
    };
    findings.note_many(OTHER_TAPES, u64::from(result == Err(Unnoticed::OtherTape)));
    let change = if trial.is_rename() {
        "renamed".to_owned()
    } else {
        format!("changed to {}", trial.change.with())
    };
    findings.fail(
        trial.place(),
        format!("`{}` {} {change}: {what}", trial.record, trial.pattern),
    );
}

#[cfg(test)]
mod tests {
    use engram_core::adapter::SideInfo;

    use super::*;
    use crate::session::{Form, Session};

    /// What is wrong with an audit that finds and accounts for so many values of a source.
    fn wrong(source: &str, total: u64, in_tape: u64) -> Vec<String> {
        let (name, path, context) = (String::new(), "log".into(), SideInfo::default());
        let input = Session {
            name,
            path,
            bytes: source.into(),
            context,
            form: Form::Stored,
            is_exported_by_opener: false,
        };
        let (mut report, mut findings) = (AuditReport::default(), Findings::default());
        (report.leaves.total, report.leaves.in_tape) = (total, in_tape);
        leaves_of(
            &ConvertedSession::new(input, String::new()),
            &report,
            "here",
            &mut findings,
        );
        findings
            .outcome()
            .examples
            .into_iter()
            .map(|example| example.what)
            .collect()
    }

    #[test]
    fn an_audit_that_passes_over_values_is_found() {
        let source = "{\"a\":1,\"b\":[\"x\",true,null]}\n";
        assert!(wrong(source, 3, 3).is_empty());
        assert!(wrong("{\"a\":1}\nno JSON\n", 1, 1).is_empty());
        assert_eq!(
            wrong(source, 2, 2),
            ["the source has 3 values, but the audit finds 2"]
        );
        assert_eq!(
            wrong(source, 3, 2),
            ["the audit finds 3 values and accounts for 2"]
        );
    }
}
