//! Faults that a test asks for: the n-th operation below a directory fails, and so do the next ones if the disk is to stay full.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A plan of one test. It counts operations below `root`, so that other tests are not disturbed.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The directory of tapes.
    pub root: PathBuf,
    /// The number of the operation that fails, from 1; 0 for none.
    pub fails: u64,
    /// True if all later ones fail, too.
    pub stays: bool,
    /// The number of the error in the system.
    pub error: i32,
    /// The operations so far.
    pub seen: u64,
}

static PLANS: Mutex<Vec<Plan>> = Mutex::new(Vec::new());

fn plans() -> MutexGuard<'static, Vec<Plan>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows the plan from now on, in place of an older one for the directory.
pub fn follow(plan: Plan) {
    let mut plans = plans();
    plans.retain(|old| old.root != plan.root);
    plans.push(plan);
}

/// Ends the plan for a directory, and returns how many operations there were.
pub fn end(root: &Path) -> u64 {
    let mut plans = plans();
    let seen = plans
        .iter()
        .find(|plan| plan.root == root)
        .map_or(0, |plan| plan.seen);
    plans.retain(|plan| plan.root != root);
    seen
}

/// Counts an operation, and lets it fail if a plan says so.
pub fn step(path: &Path) -> io::Result<()> {
    let mut plans = plans();
    let Some(plan) = plans.iter_mut().find(|plan| path.starts_with(&plan.root)) else {
        return Ok(());
    };
    plan.seen += 1;
    let fails = plan.fails > 0 && (plan.seen == plan.fails || plan.stays && plan.seen > plan.fails);
    if fails {
        Err(io::Error::from_raw_os_error(plan.error))
    } else {
        Ok(())
    }
}
