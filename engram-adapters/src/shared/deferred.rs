//! A bounded queue of items whose events are emitted later, or never if a later record repeats them.

use std::collections::VecDeque;

/// The limits of a [`Deferred`] queue. At least one item is always kept, however large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The most items.
    pub items: usize,
    /// The most memory in bytes, as the caller counts it for each item.
    pub bytes: usize,
}

/// A queue of deferred items, oldest first. When an item exceeds the bound, the oldest ones are returned, to be emitted at once.
///
/// ```
/// use engram_adapters::shared::deferred::{Bound, Deferred};
///
/// let mut prompts = Deferred::new(Bound { items: 2, bytes: 1 << 20 });
/// let mut emitted = Vec::new();
/// for prompt in ["first", "second", "third"] {
///     emitted.extend(prompts.push(prompt, prompt.len()));
/// }
/// // The bound is reached: the oldest item is emitted early.
/// assert_eq!(emitted, ["first"]);
/// // A later record repeats a prompt: its event is not needed.
/// assert_eq!(prompts.take_first(|prompt| *prompt == "third"), Some("third"));
/// // At the end of the session, the rest is emitted.
/// emitted.extend(prompts.drain());
/// assert_eq!(emitted, ["first", "second"]);
/// ```
#[derive(Debug)]
pub struct Deferred<T> {
    /// Oldest first.
    items: VecDeque<Item<T>>,
    bytes: usize,
    bound: Bound,
}

#[derive(Debug)]
struct Item<T> {
    item: T,
    bytes: usize,
}

impl<T> Deferred<T> {
    /// An empty queue. Allocates nothing.
    pub fn new(bound: Bound) -> Self {
        Deferred { items: VecDeque::new(), bytes: 0, bound }
    }

    /// True if nothing is deferred.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The number of deferred items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The memory of all items, as stated by the callers of [`Deferred::push`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Defers an item that takes `bytes` of memory. Returns the oldest items if the queue exceeds its bound: the caller emits them
    /// now. The new item itself is kept.
    #[must_use = "the returned items are no longer deferred"]
    pub fn push(&mut self, item: T, bytes: usize) -> Vec<T> {
        self.items.push_back(Item { item, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        let mut oldest = Vec::new();
        while self.exceeds_bound() {
            oldest.extend(self.pop_oldest());
        }
        oldest
    }

    fn exceeds_bound(&self) -> bool {
        self.items.len() > 1 && (self.items.len() > self.bound.items || self.bytes > self.bound.bytes)
    }

    /// Removes the oldest item.
    pub fn pop_oldest(&mut self) -> Option<T> {
        self.remove(0)
    }

    /// Removes the oldest item for which `matches` is true. Takes time linear in the number of items.
    pub fn take_first(&mut self, mut matches: impl FnMut(&T) -> bool) -> Option<T> {
        let at = self.items.iter().position(|item| matches(&item.item))?;
        self.remove(at)
    }

    /// Removes all items for which `matches` is true, oldest first.
    pub fn take_all(&mut self, mut matches: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        let mut at = 0;
        while let Some(item) = self.items.get(at) {
            if matches(&item.item) {
                taken.extend(self.remove(at));
            } else {
                at += 1;
            }
        }
        taken
    }

    /// The items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|item| &item.item)
    }

    /// Removes all items, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.bytes = 0;
        self.items.drain(..).map(|item| item.item)
    }

    fn remove(&mut self, at: usize) -> Option<T> {
        let item = self.items.remove(at)?;
        self.bytes = self.bytes.saturating_sub(item.bytes);
        Some(item.item)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn queue(items: usize, bytes: usize) -> Deferred<&'static str> {
        Deferred::new(Bound { items, bytes })
    }

    #[test]
    fn items_within_the_bound_are_deferred() {
        let mut queue = queue(2, 10);
        assert!(queue.is_empty());
        assert!(queue.push("a", 5).is_empty() && queue.push("b", 5).is_empty());
        assert_eq!((queue.len(), queue.bytes()), (2, 10));
        assert_eq!(queue.iter().copied().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn oldest_item_is_returned_if_there_are_too_many() {
        let mut queue = queue(2, usize::MAX);
        assert!(queue.push("a", 1).is_empty() && queue.push("b", 1).is_empty());
        assert_eq!(queue.push("c", 1), ["a"]);
        assert_eq!(queue.push("d", 1), ["b"]);
        assert_eq!(queue.drain().collect::<Vec<_>>(), ["c", "d"]);
    }

    #[test]
    fn oldest_items_are_returned_if_they_take_too_much_memory() {
        let mut queue = queue(usize::MAX, 10);
        assert!(queue.push("a", 4).is_empty() && queue.push("b", 4).is_empty());
        assert_eq!(queue.push("c", 9), ["a", "b"]);
        assert_eq!((queue.len(), queue.bytes()), (1, 9));
    }

    #[test]
    fn item_larger_than_the_bound_is_kept_until_the_next_one() {
        let mut queue = queue(1, 10);
        assert!(queue.push("large", 11).is_empty());
        assert_eq!(queue.push("small", 1), ["large"]);
    }

    #[test]
    fn taken_item_frees_its_memory() {
        let mut queue = queue(3, 10);
        assert!(queue.push("a", 5).is_empty() && queue.push("b", 5).is_empty());
        assert_eq!(queue.take_first(|item| *item == "a"), Some("a"));
        assert_eq!(queue.take_first(|item| *item == "a"), None);
        assert!(queue.push("c", 5).is_empty());
        assert_eq!(queue.take_all(|item| *item != "d"), ["b", "c"]);
        assert_eq!((queue.pop_oldest(), queue.bytes()), (None, 0));
    }

    proptest! {
        /// Each item leaves the queue once, in order, and the queue keeps its bound.
        #[test]
        fn items_leave_in_order_and_the_bound_is_kept(
            sizes in proptest::collection::vec(0usize..20, 0..40),
            items in 1usize..6,
            bytes in 0usize..50,
        ) {
            let mut queue = Deferred::new(Bound { items, bytes });
            let mut left = Vec::new();
            for (number, size) in sizes.iter().enumerate() {
                left.extend(queue.push(number, *size));
                prop_assert!(queue.len() <= items);
                prop_assert!(queue.bytes() <= bytes || queue.len() == 1);
                prop_assert_eq!(queue.bytes(), queue.iter().map(|number| sizes[*number]).sum::<usize>());
            }
            left.extend(queue.drain());
            prop_assert_eq!(left, (0..sizes.len()).collect::<Vec<_>>());
            prop_assert_eq!(queue.bytes(), 0);
        }
    }
}
