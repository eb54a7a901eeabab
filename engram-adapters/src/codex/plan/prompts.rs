//! Who wrote what stands in the user's place.
//!
//! A message that a person sent is followed by an event or item with the same text, its twin. A message without one is the harness's own.
//! From 0.150 on the message may itself say what its parts are.

use std::collections::HashSet;

use engram_core::keys::{KeyMap, KeySet};

use crate::codex::notes::{Ink, Kind, Note, Notes, Part, PartKind, Twin};

/// What becomes of a text or image in the user's place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PartFate {
    /// Who sends messages to this thread wrote it.
    Users,
    /// The harness wrote it.
    Harness,
    /// Another record has it.
    #[default]
    Dropped,
}

/// The decisions about all messages in the user's place.
#[derive(Debug, Default)]
pub struct Prompts {
    /// By part.
    pub parts: Vec<PartFate>,
    /// The notes of messages with a twin: a turn begins with them.
    pub sent: HashSet<u32>,
    /// The notes of hook prompts whose message is directly before them.
    pub told: HashSet<u32>,
}

/// Decides about all messages in the user's place.
pub fn prompts(notes: &Notes, repeats: &[bool]) -> Prompts {
    let prompts = Prompts {
        parts: vec![PartFate::Dropped; notes.parts.len()],
        ..Prompts::default()
    };
    let mut reader = Reader {
        notes,
        prompts,
        open: Vec::new(),
        texts: KeyMap::default(),
        images: KeyMap::default(),
        views: 0,
        review: None,
    };
    for (at, note) in notes
        .notes
        .iter()
        .enumerate()
        .filter(|(at, _)| !repeats.get(*at).is_some_and(|is| *is))
    {
        reader.read(at as u32, note);
    }
    reader.end();
    reader.prompts
}

/// The state after some of the notes.
struct Reader<'n> {
    notes: &'n Notes,
    prompts: Prompts,
    /// The messages that no record has decided, by note.
    open: Vec<u32>,
    /// How often the screen is ahead with a text.
    texts: KeyMap<u32>,
    /// How often the model (above zero) or the screen (below) is ahead with an image.
    images: KeyMap<i32>,
    /// Results of `view_image` whose message has not been read (up to 0.98).
    views: u32,
    /// The prompts of the review that runs.
    review: Option<KeySet>,
}

impl Reader<'_> {
    fn read(&mut self, at: u32, note: &Note) {
        match note.kind {
            Kind::Message => self.message(at, note),
            Kind::LoneMessage => self.lone_message(note),
            Kind::Twin => self.twin(note),
            Kind::HookPrompt => {
                if note.id != 0
                    && self
                        .open
                        .iter()
                        .filter_map(|at| self.notes.notes.get(*at as usize))
                        .any(|open| open.id == note.id)
                {
                    self.prompts.told.insert(at);
                }
                self.close_all();
            }
            Kind::ReviewBegins => {
                self.close_unless(note.is_between);
                self.review = Some([note.fact].into_iter().filter(|fact| *fact != 0).collect());
            }
            Kind::ReviewEnds => {
                self.close_unless(note.is_between);
                self.review = None;
            }
            Kind::TurnAborted | Kind::TurnClosed => self.views = 0,
            Kind::Call => {
                self.close_unless(note.is_between);
                let exit = self
                    .notes
                    .call_of(note)
                    .and_then(|call| self.notes.exits.get(call.exit as usize));
                self.views += u32::from(exit.is_some_and(|exit| exit.image_follows));
            }
            _ => self.close_unless(note.is_between),
        }
    }

    fn message(&mut self, at: u32, note: &Note) {
        let parts = self.notes.parts_of(note);
        let has_text = parts.iter().any(|part| part.kind == PartKind::Text);
        let has_image = parts.iter().any(|part| part.kind == PartKind::Image);
        if !has_text && has_image && self.views > 0 {
            self.views -= 1;
            self.decide(note, |_, _| PartFate::Harness);
        } else if has_text
            && parts
                .iter()
                .filter(|part| part.kind == PartKind::Text)
                .all(|part| self.texts.contains_key(&part.token))
        {
            self.close(note);
        } else {
            self.open.push(at);
        }
    }

    /// A message in a form without events: only its text says who wrote it.
    fn lone_message(&mut self, note: &Note) {
        let parts = self.notes.parts_of(note);
        let is_view = parts.iter().any(|part| part.kind == PartKind::Image) && self.views > 0;
        self.views -= u32::from(is_view);
        for (at, part) in (note.at..).zip(parts) {
            let is_harness = if part.kind == PartKind::Image {
                is_view
            } else {
                part.is_injected
            };
            self.prompts.parts[at as usize] = if is_harness {
                PartFate::Harness
            } else {
                PartFate::Users
            };
        }
    }

    fn twin(&mut self, note: &Note) {
        let Some(twin) = self.notes.twins.get(note.at as usize) else {
            return;
        };
        let fitting = self.open.iter().enumerate().find_map(|(place, at)| {
            let message = self.notes.notes.get(*at as usize)?;
            let sent = sent_parts(self.notes.parts_of(message), twin.ink)?;
            let is_certain = sent.contains(&true)
                || !self
                    .notes
                    .parts_of(message)
                    .iter()
                    .any(|part| part.kind == PartKind::Text);
            (is_certain || self.open.len() == 1).then_some((place, sent))
        });
        let (before, sent) =
            fitting.map_or((self.open.len(), None), |(place, sent)| (place, Some(sent)));
        for at in self.open.drain(..before).collect::<Vec<_>>() {
            self.close(&self.notes.notes[at as usize]);
        }
        if let Some(sent) = &sent {
            let at = self.open.remove(0);
            self.prompts.sent.insert(at);
            let to_fate = |_: &mut Self, (place, part): (usize, &Part)| {
                let is_users = part.kind == PartKind::Image || sent.get(place) == Some(&true);
                if is_users {
                    PartFate::Users
                } else {
                    PartFate::Harness
                }
            };
            self.decide(&self.notes.notes[at as usize], to_fate);
        }
        self.emit_twin(twin, sent.is_some());
    }

    /// Decides about the texts and images that only a twin has.
    fn emit_twin(&mut self, twin: &Twin, is_told: bool) {
        let by = if twin.is_harness {
            PartFate::Harness
        } else {
            PartFate::Users
        };
        for at in twin.parts..twin.parts + twin.count {
            let part = self.notes.parts[at as usize];
            self.prompts.parts[at as usize] = match part.kind {
                PartKind::Image if self.is_new_image(part.token, -1) => by,
                PartKind::Text if is_told => PartFate::Dropped,
                PartKind::Text => match &mut self.review {
                    Some(prompts) => {
                        if prompts.insert(part.token) {
                            PartFate::Harness
                        } else {
                            PartFate::Dropped
                        }
                    }
                    None => {
                        *self.texts.entry(part.token).or_default() += 1;
                        by
                    }
                },
                _ => PartFate::Dropped,
            };
        }
    }

    /// A record that is neither event nor setting: nobody sent the messages before it.
    fn close_unless(&mut self, is_between: bool) {
        if !is_between {
            self.close_all();
        }
    }

    fn close_all(&mut self) {
        for at in std::mem::take(&mut self.open) {
            self.close(&self.notes.notes[at as usize]);
        }
    }

    /// Nobody sent this message now. What the screen has said before it is not repeated.
    fn close(&mut self, note: &Note) {
        self.decide(note, |reader, (_, part)| {
            if part.kind == PartKind::Text && reader.take_told(part.token) {
                PartFate::Dropped
            } else if part.kind == PartKind::Text && part.is_users == Some(true) {
                PartFate::Users
            } else {
                PartFate::Harness
            }
        });
    }

    fn take_told(&mut self, token: u64) -> bool {
        let Some(ahead) = self.texts.get_mut(&token) else {
            return false;
        };
        *ahead -= 1;
        if *ahead == 0 {
            self.texts.remove(&token);
        }
        true
    }

    /// Sets the fates of the parts of a message. An image that the screen has shown is dropped.
    fn decide(&mut self, note: &Note, fate: impl Fn(&mut Self, (usize, &Part)) -> PartFate) {
        for (place, part) in self.notes.parts_of(note).iter().enumerate() {
            let is_shown = part.kind == PartKind::Image && !self.is_new_image(part.token, 1);
            self.prompts.parts[note.at as usize + place] = if is_shown {
                PartFate::Dropped
            } else {
                fate(self, (place, part))
            };
        }
    }

    /// Records an image of the model's side (1) or of the screen (-1). False if it repeats one of the other side.
    fn is_new_image(&mut self, image: u64, step: i32) -> bool {
        let ahead = self.images.entry(image).or_default();
        let is_new = *ahead * step >= 0;
        *ahead += step;
        is_new
    }

    /// The log ends. A message that is its last record has no twin yet: its text decides, unless messages before it had twins.
    fn end(&mut self) {
        let last = self.notes.notes.len() as u32;
        if self.open.last().is_some_and(|at| at + 1 == last)
            && let Some(at) = self.open.pop()
        {
            self.close_all();
            let has_twins = !self.prompts.sent.is_empty();
            self.decide(&self.notes.notes[at as usize], |_, (_, part)| {
                let is_users = part.kind == PartKind::Image
                    || part.is_users.unwrap_or(!has_twins && !part.is_injected);
                if is_users {
                    PartFate::Users
                } else {
                    PartFate::Harness
                }
            });
        }
        self.close_all();
    }
}

/// Which parts of a message are, together, the text of a twin. `None` if the twin has another text.
fn sent_parts(parts: &[Part], twin: Ink) -> Option<Vec<bool>> {
    let is_text = |part: &Part| part.kind == PartKind::Text;
    if twin.len == 0 {
        return Some(
            parts
                .iter()
                .map(|part| is_text(part) && part.ink.has_text && part.ink.len == 0)
                .collect(),
        );
    }
    let is_sent = |fits: &dyn Fn(usize, &Part) -> bool| -> Option<Vec<bool>> {
        let sent: Vec<bool> = parts
            .iter()
            .enumerate()
            .map(|(place, part)| is_text(part) && part.ink.len > 0 && fits(place, part))
            .collect();
        let ink = parts
            .iter()
            .zip(&sent)
            .filter(|(_, sent)| **sent)
            .fold(Ink::default(), |ink, (part, _)| ink.then(part.ink));
        ink.equals(twin).then_some(sent)
    };
    // The harness's own parts stand before, between or behind those that were sent.
    let in_a_row = || {
        (0..parts.len()).find_map(|from| {
            (from..parts.len()).find_map(|to| is_sent(&|place, _| (from..=to).contains(&place)))
        })
    };
    is_sent(&|_, part| !part.is_injected).or_else(in_a_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes of messages and their twins.
    #[derive(Default)]
    struct Log(Notes);

    impl Log {
        fn add(mut self, kind: Kind, texts: &[&str]) -> Self {
            let (at, count) = (self.0.parts.len() as u32, texts.len() as u32);
            let part = |text: &&str| Part {
                kind: PartKind::Text,
                token: engram_core::keys::hash64(text),
                ink: Ink::of(text),
                is_injected: text.starts_with('<'),
                is_users: None,
            };
            self.0.parts.extend(texts.iter().map(part));
            let twin = kind == Kind::Twin;
            let note = Note {
                kind,
                at: if twin { self.0.twins.len() as u32 } else { at },
                count,
                ..Note::default()
            };
            if twin {
                self.0.twins.push(Twin {
                    ink: Ink::of(&texts.concat()),
                    parts: at,
                    count,
                    is_harness: false,
                });
            }
            self.0.notes.push(note);
            self
        }

        fn message(self, texts: &[&str]) -> Self {
            self.add(Kind::Message, texts)
        }

        fn twin(self, text: &str) -> Self {
            self.add(Kind::Twin, &[text])
        }

        fn between(mut self) -> Self {
            self.0.notes.push(Note {
                is_between: true,
                ..Note::default()
            });
            self
        }

        fn other(mut self) -> Self {
            self.0.notes.push(Note::default());
            self
        }

        fn fates(&self) -> Vec<PartFate> {
            prompts(&self.0, &vec![false; self.0.notes.len()]).parts
        }
    }

    use PartFate::{Dropped, Harness, Users};

    #[test]
    fn a_message_is_of_a_person_if_its_twin_follows() {
        let log = Log::default()
            .message(&["<env>"])
            .message(&["go"])
            .between()
            .twin("go")
            .message(&["a notice"])
            .other();
        assert_eq!(log.fates(), [Harness, Users, Dropped, Harness]);
        let log = Log::default()
            .message(&["a"])
            .message(&["b"])
            .twin("a")
            .twin("b")
            .other();
        assert_eq!(log.fates(), [Users, Users, Dropped, Dropped]);
    }

    #[test]
    fn a_text_that_only_the_twin_has_stands_there() {
        assert_eq!(
            Log::default()
                .message(&["x"])
                .twin("other")
                .message(&["other"])
                .other()
                .fates(),
            [Harness, Users, Dropped]
        );
        assert_eq!(
            Log::default().twin("go").message(&["go"]).other().fates(),
            [Users, Dropped]
        );
    }

    #[test]
    fn parts_that_were_sent_together_have_one_twin() {
        let log = Log::default()
            .message(&["<image>", "first", "second", "</image>"])
            .twin("first\nsecond")
            .other();
        assert_eq!(log.fates(), [Harness, Users, Users, Harness, Dropped]);
        assert_eq!(
            Log::default()
                .message(&["<tag> is broken"])
                .twin("<tag> is broken")
                .fates(),
            [Users, Dropped]
        );
        assert_eq!(
            Log::default().message(&["\n"]).twin("\n").other().fates(),
            [Users, Dropped]
        );
    }

    #[test]
    fn a_message_at_the_end_is_decided_by_its_text_if_no_message_has_a_twin() {
        assert_eq!(
            Log::default().message(&["<env>"]).message(&["go"]).fates(),
            [Harness, Users]
        );
        assert_eq!(
            Log::default()
                .message(&["go"])
                .twin("go")
                .message(&["more"])
                .fates(),
            [Users, Dropped, Harness]
        );
        assert_eq!(Log::default().message(&["go"]).between().fates(), [Harness]);
    }
}
