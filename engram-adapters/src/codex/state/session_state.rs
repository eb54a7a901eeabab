//! The state of one conversion: the pieces, each with its own methods.

use engram_core::adapter::SideInfo;
use engram_core::emit::KeptText;
use engram_core::text::DecodeBuffer;

use crate::shared::pending_calls::PendingCalls;
use crate::shared::record_facts::RecordFacts;
use crate::shared::seen_set::SeenSet;
use crate::shared::value::StructuralIndex;

use super::emitted::{EmittedTexts, SeenFiles};
use super::held_message::Held;
use super::last_stated::LastStated;
use super::mirror_dedup::MirrorDedup;
use super::open_calls::OpenCalls;
use super::pairs::{CompactionMarks, SearchPair, ViewedImages};
use super::pending_end::PendingEnds;
use super::replay::ReplayTracker;
use super::review::Review;
use super::thread::Thread;
use super::token_counts::TokenCounts;
use super::turns::Turns;

/// All that a conversion remembers of the records before the current one.
pub struct SessionState {
    pub thread: Thread,
    pub replay: ReplayTracker,
    pub mirrors: MirrorDedup,
    pub texts: EmittedTexts,
    pub files: SeenFiles,
    pub last: LastStated,
    pub counts: TokenCounts,
    /// The records that were read, to find those that are repeated.
    pub records: SeenSet,
    /// What the items with each id state.
    pub items: RecordFacts,
    pub held: Held,
    pub review: Review,
    pub turns: Turns,
    pub calls: OpenCalls,
    pub pending_ends: PendingEnds,
    /// The changes of patches that have begun (JSON), in what `exec --json` prints up to 0.42.
    pub printed_patches: PendingCalls<KeptText>,
    pub compactions: CompactionMarks,
    pub searches: SearchPair,
    pub viewed_images: ViewedImages,
    pub scratch: Scratch,
}

impl SessionState {
    /// The state before the first record.
    pub fn new(side_info: &SideInfo) -> Self {
        SessionState {
            thread: Thread::new(side_info),
            replay: ReplayTracker::default(),
            mirrors: MirrorDedup::default(),
            texts: EmittedTexts::default(),
            files: SeenFiles::default(),
            last: LastStated::default(),
            counts: TokenCounts::default(),
            records: SeenSet::default(),
            items: RecordFacts::default(),
            held: Held::default(),
            review: Review::default(),
            turns: Turns::default(),
            calls: OpenCalls::default(),
            pending_ends: PendingEnds::default(),
            printed_patches: PendingCalls::default(),
            compactions: CompactionMarks::default(),
            searches: SearchPair::default(),
            viewed_images: ViewedImages::default(),
            scratch: Scratch::default(),
        }
    }

    /// Ends a record. What a malformed one has changed is restored.
    pub fn end_record(&mut self, is_converted: bool) {
        self.held.end_record(is_converted);
        self.searches.end_record(is_converted);
        if is_converted {
            self.mirrors.commit();
            self.texts.commit();
            self.files.commit();
            self.last.commit();
            self.counts.commit();
            self.records.commit();
            self.items.commit();
            self.review.commit();
        } else {
            self.mirrors.roll_back();
            self.texts.roll_back();
            self.files.roll_back();
            self.last.roll_back();
            self.counts.roll_back();
            self.records.roll_back();
            self.items.roll_back();
            self.review.roll_back();
        }
    }
}

/// Buffers for JSON inside a string of the current record. Kept only to spare allocations.
#[derive(Default)]
pub struct Scratch {
    /// The decoded text.
    pub buffer: DecodeBuffer,
    /// The values in it.
    pub index: StructuralIndex,
}
