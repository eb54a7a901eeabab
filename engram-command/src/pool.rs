//! Parallel work with results in the order of the input.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc;

use engram_core::error::AdapterError;
use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge, ParallelIterator};

/// Runs `work` on every item, `jobs` at a time, and passes each result to `take` on this thread, in the order of the items.
///
/// # Errors
/// `io` if no threads can be created.
pub fn in_order<T: Sync, R: Send>(
    jobs: Option<NonZeroUsize>,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut take: impl FnMut(&T, R),
) -> Result<(), AdapterError> {
    // More threads than items would be idle, and the system may not allow so many.
    let threads = jobs.map_or(0, |jobs| jobs.get().min(items.len().max(1)));
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| AdapterError::from(io::Error::other(error)))?;
    let (sender, results) = mpsc::channel();
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            items
                .iter()
                .enumerate()
                .par_bridge()
                .for_each_with(sender, |sender, (index, item)| {
                    // The receiver outlives the scope.
                    let _ = sender.send((index, work(item)));
                });
        });
        let mut early = BTreeMap::new();
        let mut rest = items.iter().enumerate();
        let mut next = rest.next();
        for (index, result) in &results {
            early.insert(index, result);
            while let Some((turn, item)) = next
                && let Some(result) = early.remove(&turn)
            {
                take(item, result);
                next = rest.next();
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_threads_than_items() {
        let threads = |_: &u64| rayon::current_num_threads();
        in_order(
            NonZeroUsize::new(1_000_000),
            &[1, 2, 3],
            threads,
            |_, threads| assert_eq!(threads, 3),
        )
        .unwrap();
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u64> = (0..200).collect();
        let mut seen = Vec::new();
        let work = |item: &u64| {
            std::thread::sleep(std::time::Duration::from_micros(item * 7919 % 500));
            item * 2
        };
        in_order(NonZeroUsize::new(8), &items, work, |item, double| {
            seen.push((*item, double))
        })
        .unwrap();
        assert_eq!(
            seen,
            items
                .iter()
                .map(|item| (*item, item * 2))
                .collect::<Vec<_>>()
        );
    }
}
