//! Sessions that are there in several forms: one form of each is converted, and the others are skipped if they repeat it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::form_facts::{FormFacts, FormSink};

use super::location::SessionLocation;
use super::options::SessionOptions;

/// At most this many sessions are compared at a time.
const MAX_THREADS: usize = 8;

/// A session in another form than the one that says most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OtherForm {
    /// Where it is.
    pub location: SessionLocation,
    /// The same session in the form that says more.
    pub used: SessionLocation,
    /// True if it is skipped; false if it is converted too, because `used` lacks some of its prompts, calls or results.
    pub is_skipped: bool,
    /// Why it is skipped or not, without a full stop.
    pub reason: String,
}

/// Whose session it is, and in which form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormIdentity {
    /// The harness.
    pub harness: &'static str,
    /// The id of the session.
    pub session_id: String,
    /// The index of the form in the list of the harness. The first says most.
    rank: usize,
    /// The log is of what stands between the harness and its client: the harness may have a log of its own, which says more.
    is_relayed: bool,
}

impl FormIdentity {
    /// The identity of a location, if it has a form that its harness lists.
    fn of(location: &SessionLocation, options: &SessionOptions) -> Option<FormIdentity> {
        let place = location.form_place();
        let adapters = options
            .registry
            .adapters()
            .filter(|adapter| options.adapter.is_none_or(|only| only.id() == adapter.id()));
        adapters
            .filter(|adapter| location.may_be_of(adapter))
            .find_map(|adapter| {
                let mut forms = adapter.forms().iter().enumerate();
                let (rank, session_id) =
                    forms.find_map(|(rank, form)| Some((rank, (form.session_id)(place)?)))?;
                Some(FormIdentity {
                    harness: adapter.descriptor().harness_family,
                    session_id,
                    rank,
                    is_relayed: adapter.is_relay(),
                })
            })
    }

    /// True if it may be the session with this id of this harness.
    pub fn is_of(&self, harness: &str, session_id: &str) -> bool {
        self.session_id == session_id && (self.is_relayed || self.harness == harness)
    }
}

/// What was found, with the form of each.
pub(super) type Located = (Result<SessionLocation, AdapterError>, Option<FormIdentity>);

/// The form of a location that was found.
pub(super) fn identity(
    location: &SessionLocation,
    options: &SessionOptions,
) -> Option<FormIdentity> {
    FormIdentity::of(location, options)
}

/// The sessions to convert, and the other forms of them. What the caller named is never skipped.
pub(super) fn separate(
    found: Vec<Located>,
    options: &SessionOptions,
) -> (Vec<Result<SessionLocation, AdapterError>>, Vec<OtherForm>) {
    let identities = found.iter().filter_map(|(_, identity)| identity.as_ref());
    let relayed: BTreeSet<&str> = identities
        .filter(|identity| identity.is_relayed)
        .map(|identity| &*identity.session_id)
        .collect();
    let mut groups: BTreeMap<(&str, &str), Vec<Member<'_>>> = BTreeMap::new();
    for (index, (location, identity)) in found.iter().enumerate() {
        let Ok(location) = location else {
            continue;
        };
        let (id, harness, order) = match identity {
            Some(form) => (
                Some(&*form.session_id),
                form.harness,
                (form.is_relayed, form.rank),
            ),
            None => (location.id_among(&relayed), "", (false, 0)),
        };
        let Some(id) = id else {
            continue;
        };
        // A session of a relay is in one group with those of all harnesses.
        let of = if relayed.contains(id) { "" } else { harness };
        groups.entry((of, id)).or_default().push(Member {
            index,
            order,
            location,
            harness,
        });
    }
    let groups: Vec<Vec<Member<'_>>> = groups
        .into_values()
        .filter(|members| {
            members
                .iter()
                .any(|member| member.order != members[0].order)
        })
        .collect();
    let mut others: Vec<(usize, OtherForm)> =
        in_threads(groups, |members| compared(members, options));
    others.sort_by_key(|(index, _)| *index);
    let skipped: Vec<usize> = others
        .iter()
        .filter(|(_, other)| other.is_skipped)
        .map(|(index, _)| *index)
        .collect();
    let kept = found
        .into_iter()
        .enumerate()
        .filter(|(index, _)| skipped.binary_search(index).is_err());
    (
        kept.map(|(_, (location, _))| location).collect(),
        others.into_iter().map(|(_, other)| other).collect(),
    )
}

/// One of several forms of a session.
struct Member<'f> {
    index: usize,
    /// Whether a relay wrote it, and its place in the list of its harness: the first says most.
    order: (bool, usize),
    location: &'f SessionLocation,
    harness: &'static str,
}

/// Compares the forms of one session, from the one that says most to the one that says least.
fn compared(mut members: Vec<Member<'_>>, options: &SessionOptions) -> Vec<(usize, OtherForm)> {
    members.sort_by_key(|member| (member.order, member.index));
    let (mut used, mut others): (Vec<(&Member<'_>, FormFacts)>, Vec<_>) = (Vec::new(), Vec::new());
    for member in &members {
        // A form that cannot be converted takes the place of no other one. Its error is reported when it is converted.
        let Ok(facts) = facts_of(member.location, options) else {
            continue;
        };
        let better: Vec<&(&Member<'_>, FormFacts)> = used
            .iter()
            .filter(|(better, _)| better.order < member.order)
            .collect();
        let repeated =
            better
                .iter()
                .find(|(better, used)| match member.order.0 && !better.order.0 {
                    true => used.has_as_much(&facts),
                    false => used.contain(&facts, |_, _| false),
                });
        if let Some((better, _)) = repeated
            .or(better.first())
            .filter(|_| !member.location.is_named())
        {
            let is_skipped = repeated.is_some();
            let reason = reason(member, better, is_skipped, options);
            let other = OtherForm {
                location: member.location.clone(),
                used: better.location.clone(),
                is_skipped,
                reason,
            };
            others.push((member.index, other));
            if is_skipped {
                continue;
            }
        }
        used.push((member, facts));
    }
    others
}

/// Converts a session and keeps what is compared. One without an id is `unknown_harness`.
fn facts_of(
    location: &SessionLocation,
    options: &SessionOptions,
) -> Result<FormFacts, AdapterError> {
    let options = SessionOptions {
        on_read: None,
        ..options.clone()
    };
    let mut sink = FormSink::default();
    location.open(&options)?.convert(&mut sink)?;
    sink.facts()
        .ok_or_else(|| AdapterError::new(ErrorCode::UnknownHarness))
}

fn reason(
    member: &Member<'_>,
    used: &Member<'_>,
    is_skipped: bool,
    options: &SessionOptions,
) -> String {
    let form = |member: &Member<'_>| {
        let mut adapters = options.registry.adapters();
        let adapter =
            adapters.find(|adapter| adapter.descriptor().harness_family == member.harness);
        adapter.and_then(|adapter| adapter.forms().get(member.order.1))
    };
    let (name, only_here) = form(member)
        .map(|form| (form.name, form.only_here))
        .unwrap_or_default();
    let (used_name, place) = (
        form(used).map_or("own log", |form| form.name),
        used.location.path().to_string_lossy(),
    );
    match (is_skipped, only_here) {
        (true, "") => {
            format!("{name} of a session that is converted from its {used_name}, {place}")
        }
        (true, only) => format!(
            "{name} of a session that is converted from its {used_name}, {place}, which does not state {only}"
        ),
        (false, _) => {
            format!(
                "{name} of a session that is converted from its {used_name} too, {place}, which lacks prompts, calls or results of it"
            )
        }
    }
}

/// Does the work on several threads, since each session is converted to be compared.
fn in_threads<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> Vec<R> + Sync) -> Vec<R> {
    let threads = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len())
        .min(MAX_THREADS);
    let (items, next): (Vec<Mutex<Option<T>>>, _) = (
        items
            .into_iter()
            .map(|item| Mutex::new(Some(item)))
            .collect(),
        AtomicUsize::new(0),
    );
    let results = Mutex::new(Vec::new());
    let take = || {
        items
            .get(next.fetch_add(1, Ordering::Relaxed))?
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    };
    let run = || {
        while let Some(item) = take() {
            let done = work(item);
            results
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .extend(done);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(run);
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
