//! Measures how well fingerprints find ten-line blocks in the files that contain them: `anchor_recall DIR [EXTENSION]`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use engram_core::anchor::anchors;

/// Lines per block.
const BLOCK_LINES: usize = 10;
/// Classes of files, by their number of lines.
const CLASSES: [usize; 6] = [100, 300, 1000, 3000, 10_000, usize::MAX];

/// What was measured for the files of one class.
#[derive(Default)]
struct Class {
    files: usize,
    text_bytes: usize,
    anchors: usize,
    blocks: usize,
    /// Blocks that share a fingerprint with their file.
    found: usize,
    /// Fingerprints of all blocks, and those that their files have too.
    block_anchors: usize,
    shared: usize,
}

fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let root = arguments.next().unwrap_or_else(|| ".".to_owned());
    let extension = arguments.next().unwrap_or_else(|| "rs".to_owned());
    let mut classes: [Class; CLASSES.len()] = Default::default();
    let mut directories = vec![PathBuf::from(root)];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|ending| *ending == *extension) {
                measure(&path, &mut classes);
            }
        }
    }
    println!(
        "lines up to | files | anchors / KiB of text | blocks | found | anchors of a block that the file has"
    );
    for (lines, class) in CLASSES
        .iter()
        .zip(&classes)
        .filter(|(_, class)| class.blocks > 0)
    {
        let percent = |part: usize, all: usize| 100.0 * part as f64 / all as f64;
        println!(
            "{lines} | {} | {:.1} | {} | {:.1} % | {:.1} %",
            class.files,
            1024.0 * class.anchors as f64 / class.text_bytes as f64,
            class.blocks,
            percent(class.found, class.blocks),
            percent(class.shared, class.block_anchors)
        );
    }
    Ok(())
}

fn measure(path: &Path, classes: &mut [Class]) {
    let Ok(text) = fs::read_to_string(path) else {
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    let number = CLASSES
        .iter()
        .position(|most| lines.len() <= *most)
        .unwrap_or_default();
    let (class, of_file) = (&mut classes[number], anchors(&text));
    class.files += 1;
    class.text_bytes += text.len();
    class.anchors += of_file.len();
    let of_file: HashSet<u64> = of_file.into_iter().collect();
    // The same number of blocks of each file, so that no file counts more than another.
    let step = (lines.len() / 10).max(BLOCK_LINES);
    for block in lines.windows(BLOCK_LINES).step_by(step) {
        let of_block = anchors(&block.join("\n"));
        let shared = of_block
            .iter()
            .filter(|anchor| of_file.contains(anchor))
            .count();
        class.blocks += 1;
        class.found += usize::from(shared > 0);
        class.block_anchors += of_block.len();
        class.shared += shared;
    }
}
