//! Rendering of the events that frame a tape: its start and stop, changes of version, and records that the adapter does not know.

use super::buffer::Buffer;
use super::members::{key, push_ascii_str, push_number, word};
use crate::event::*;
use crate::ledger::{Ledger, Redactions};
use crate::members::UnknownMembers;
use crate::text::{Push as _, Text, push_text};

pub(super) fn push_start(out: &mut Buffer, start: &TapeStart<'_>) {
    out.push_str(word!("label", "tape.start"));
    out.ascii_str(key!("schema"), start.schema);
    out.object(key!("adapter"), |adapter| {
        adapter.ascii_str(key!("id"), start.adapter_id);
        adapter.ascii_str(key!("version"), start.adapter_version);
    });
    push_harness(out, &start.harness);
    out.ascii_str(key!("policy"), start.policy.as_str());
    out.ascii_str(key!("anchors"), start.anchors);
    if let Some(rules) = start.redaction {
        out.ascii_str(key!("redaction"), rules);
    }
    if let Some(unicode) = start.unicode {
        out.ascii_str(key!("unicode"), unicode);
    }
    if let Some(spans) = start.spans {
        out.ascii_str(key!("spans"), spans);
    }
    push_claims(out, &start.claims);
}

pub(super) fn push_revision(out: &mut Buffer, revision: &RevisionChange<'_>) {
    out.push_str(word!("label", "revision"));
    push_harness(out, &revision.harness);
    push_claims(out, &revision.claims);
}

fn push_harness(out: &mut Buffer, harness: &Harness<'_>) {
    out.object(key!("harness"), |inner| {
        inner.ascii_str(key!("family"), harness.family);
        inner.name(key!("version"), &harness.version);
        if let Some(schema) = harness.schema {
            inner.ascii_str(key!("schema"), schema);
        }
    });
}

fn push_claims(out: &mut Buffer, claims: &Claims<'_>) {
    out.ascii_str(key!("support"), claims.support.as_str());
    out.object(key!("coverage"), |inner| {
        for kind in Kind::ALL {
            push_ascii_str(inner.key(kind.as_str()), claims.grade(kind).as_str());
        }
    });
    out.push_str(key!("degraded"));
    out.ascii(b"[");
    for (n, reason) in claims.degraded.iter().enumerate() {
        if n > 0 {
            out.ascii(b",");
        }
        push_ascii_str(out, reason);
    }
    out.ascii(b"]");
}

pub(super) fn push_unrecognized(out: &mut Buffer, unrecognized: &Unrecognized<'_>) {
    out.push_str(word!("label", "unrecognized"));
    out.text(key!("name"), &unrecognized.name);
    match &unrecognized.text {
        Some(text) => out.text(key!("raw"), text),
        None => out.json(key!("raw"), unrecognized.raw),
    }
    out.number(key!("bytes"), unrecognized.bytes);
    out.hash(key!("hash"), &unrecognized.hash);
    out.bool_if(key!("lossy"), unrecognized.lossy, false);
}

pub(super) fn push_stop(out: &mut Buffer, stop: &TapeStop) {
    out.push_str(word!("label", "tape.stop"));
    out.object(key!("counts"), |inner| {
        for (kind, count) in stop.counts.iter() {
            push_number(inner.key(kind.as_str()), count);
        }
    });
    push_ledger(out, &stop.ledger);
    out.object(key!("input"), |inner| {
        inner.hash(key!("hash"), &Some(stop.input.hash));
        inner.number(key!("bytes"), Some(stop.input.bytes));
        push_beside(inner, &stop.input.beside);
    });
    out.bool(key!("complete"), stop.complete);
}

fn push_beside(out: &mut Buffer, files: &[BesideFile]) {
    if files.is_empty() {
        return;
    }
    out.push_str(key!("beside"));
    out.ascii(b"[");
    for (n, file) in files.iter().enumerate() {
        if n > 0 {
            out.ascii(b",");
        }
        let start = out.len();
        out.push_str(key!("name"));
        push_text(out, Text::Plain(&file.name));
        out.hash(key!("hash"), &file.hash);
        out.number(key!("bytes"), Some(file.bytes));
        out.wrap_object(start);
    }
    out.ascii(b"]");
}

fn push_ledger(out: &mut Buffer, ledger: &Ledger) {
    out.object(key!("ledger"), |inner| {
        inner.number(key!("records"), Some(ledger.records));
        inner.number(key!("mapped"), Some(ledger.mapped));
        inner.number(key!("duplicate"), Some(ledger.duplicate));
        inner.number(key!("bookkeeping"), Some(ledger.bookkeeping));
        inner.number(key!("unrecognized"), Some(ledger.unrecognized));
        inner.number(key!("malformed"), Some(ledger.malformed));
        inner.push_str(key!("omitted"));
        inner.ascii(b"[");
        for (n, row) in ledger.omitted.iter().enumerate() {
            if n > 0 {
                inner.ascii(b",");
            }
            let start = inner.len();
            inner.push_str(key!("type"));
            push_text(inner, Text::Plain(&row.record));
            inner.push_str(key!("rule"));
            push_text(inner, Text::Plain(&row.rule));
            inner.number(key!("count"), Some(row.count));
            inner.wrap_object(start);
        }
        inner.ascii(b"]");
        push_unknown_members(inner, &ledger.unknown);
        push_redactions(inner, &ledger.redactions);
    });
}

fn push_redactions(out: &mut Buffer, redactions: &[Redactions]) {
    if redactions.is_empty() {
        return;
    }
    out.push_str(key!("redactions"));
    out.ascii(b"[");
    for (n, redacted) in redactions.iter().enumerate() {
        if n > 0 {
            out.ascii(b",");
        }
        let start = out.len();
        out.push_str(key!("rule"));
        push_text(out, Text::Plain(&redacted.rule));
        out.number(key!("count"), Some(redacted.count));
        out.wrap_object(start);
    }
    out.ascii(b"]");
}

fn push_unknown_members(out: &mut Buffer, unknown: &UnknownMembers) {
    if !unknown.listed.is_empty() {
        out.push_str(key!("unknown_members"));
        out.ascii(b"[");
        for (n, member) in unknown.listed.iter().enumerate() {
            if n > 0 {
                out.ascii(b",");
            }
            let start = out.len();
            out.push_str(key!("type"));
            push_text(out, Text::Plain(&member.record));
            out.push_str(key!("pointer"));
            push_text(out, Text::Plain(&member.pointer));
            out.text_if(key!("found"), &member.found.as_deref().map(Text::Plain));
            out.number(key!("count"), Some(member.count));
            out.wrap_object(start);
        }
        out.ascii(b"]");
    }
    out.number(
        key!("unknown_members_more"),
        Some(unknown.more).filter(|more| *more > 0),
    );
}
