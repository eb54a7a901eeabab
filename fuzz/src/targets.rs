//! What is fuzzed: each adapter, the store openers, the reader and checker of tapes, and the reader of files beside an artifact.

mod adapter;
mod files_beside;
mod store;
mod tape;

use engram_adapters::Registry;

pub use crate::target::Target;

/// All targets: the adapters of the registry, and what they share.
pub fn all(registry: &Registry) -> Vec<Box<dyn Target>> {
    let adapter = |harness| {
        Box::new(adapter::Adapter {
            harness,
            registry: registry.clone(),
        }) as Box<dyn Target>
    };
    let mut targets: Vec<Box<dyn Target>> = registry
        .adapters()
        .map(|entry| adapter(entry.descriptor().harness_family))
        .collect();
    targets.push(Box::new(store::Stores::new()));
    targets.push(Box::new(tape::Tapes));
    targets.push(Box::new(files_beside::FilesBeside::new()));
    targets
}
