//! No file of any crate of this repository may be in an import circle.
//!
//! The rule: file A imports file B if A names by path something that B defines, in a `use` or in its code. `mod b;` is no import, and
//! neither is a re-export (`pub use b::Item;`): whoever uses a re-exported item imports the file that defines it. So a child module may
//! use what its `mod.rs` defines only if the code of that `mod.rs` does not use the child. Unit tests (`mod tests`) do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::report;
use crate::tree::{files, root};

/// Keywords before the name of an item.
const DEFINING: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "mod",
    "macro_rules",
];

/// The module of unit tests, in a file of its own or inline.
const TESTS: &str = "tests";

/// A module path from the crate's root.
type Module = Vec<String>;

/// One imported name.
#[derive(Clone)]
struct Import {
    /// As written, for example `super::edits::Edit`.
    path: Vec<String>,
    /// The name in the importing file; `*` for everything.
    name: String,
    /// True for `pub use` and `pub(crate) use`.
    is_reexport: bool,
    /// The inline modules around the import.
    inline: Module,
}

/// What one source file declares and names.
#[derive(Default)]
struct Source {
    imports: Vec<Import>,
    /// Paths in code, with the inline modules around them.
    paths: Vec<(Vec<String>, Module)>,
    /// Names of the items that it defines.
    defined: BTreeSet<String>,
    /// All identifiers outside of imports.
    names: BTreeSet<String>,
}

/// The files of one crate by their module.
struct Sources(BTreeMap<Module, Source>);

/// What a path leads to.
#[derive(Debug, PartialEq)]
enum Target {
    Module(Module),
    /// An item, and the module of the file that defines it.
    Item(Module),
}

impl Sources {
    fn new<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Sources {
        let parsed = files
            .into_iter()
            .map(|(path, text)| (module_of(path), parse(&tokens(text))));
        Sources(
            parsed
                .filter(|(module, _)| module.last().is_none_or(|name| name != TESTS))
                .collect(),
        )
    }

    /// Resolves a path as written in a file, below inline modules; `None` if it leads to another crate.
    fn resolve(
        &self,
        from: &Module,
        path: &[String],
        inline: &Module,
        seen: &mut BTreeSet<(Module, String)>,
    ) -> Option<Target> {
        let first = path.first()?;
        match first.as_str() {
            "crate" => self.find(&Vec::new(), &path[1..], seen),
            "self" => self.find(from, &path[1..], seen),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                // The first `super`s may only lead out of the inline modules.
                let outside = ups.saturating_sub(inline.len());
                self.find(
                    &from[..from.len().checked_sub(outside)?].to_vec(),
                    &path[ups..],
                    seen,
                )
            }
            _ if self.is_file(from, first)
                || self
                    .0
                    .get(from)?
                    .imports
                    .iter()
                    .any(|import| import.name == *first) =>
            {
                self.find(from, path, seen)
            }
            _ => None,
        }
    }

    fn is_file(&self, module: &Module, child: &str) -> bool {
        self.0
            .contains_key(&[module.as_slice(), &[child.to_owned()]].concat())
    }

    /// Finds what `path` names in a module.
    fn find(
        &self,
        module: &Module,
        path: &[String],
        seen: &mut BTreeSet<(Module, String)>,
    ) -> Option<Target> {
        let Some((name, rest)) = path.split_first() else {
            return Some(Target::Module(module.clone()));
        };
        if self.is_file(module, name) {
            return self.find(
                &[module.as_slice(), std::slice::from_ref(name)].concat(),
                rest,
                seen,
            );
        }
        let source = self.0.get(module)?;
        if source.defined.contains(name) || !seen.insert((module.clone(), name.clone())) {
            return Some(Target::Item(module.clone()));
        }
        let mut globs = Vec::new();
        for import in source
            .imports
            .iter()
            .filter(|import| import.path.len() > 1 || import.name != *name)
        {
            if import.name == *name {
                let path = [import.path.as_slice(), rest].concat();
                return self.resolve(module, &path, &import.inline, seen);
            }
            if import.name == "*" {
                globs.push([import.path.as_slice(), path].concat());
            }
        }
        let found = globs
            .iter()
            .filter_map(|glob| self.resolve(module, glob, &Vec::new(), seen))
            .find(|target| match target {
                Target::Module(_) => true,
                Target::Item(of) => self
                    .0
                    .get(of)
                    .is_some_and(|source| source.defined.contains(name)),
            });
        Some(found.unwrap_or_else(|| Target::Item(module.clone())))
    }

    /// The modules whose files a file imports.
    fn imported_by(&self, from: &Module, source: &Source) -> BTreeSet<Module> {
        let mut imported = BTreeSet::new();
        let mut add = |path: &[String], inline: &Module, is_glob: bool| match self.resolve(
            from,
            path,
            inline,
            &mut BTreeSet::new(),
        ) {
            Some(Target::Item(module)) => drop(imported.insert(module)),
            Some(Target::Module(module)) if is_glob => drop(imported.insert(module)),
            _ => {}
        };
        for import in source
            .imports
            .iter()
            .filter(|import| !import.is_reexport || source.names.contains(&import.name))
        {
            add(&import.path, &import.inline, import.name == "*");
        }
        source
            .paths
            .iter()
            .for_each(|(path, inline)| add(path, inline, false));
        imported.remove(from);
        imported
    }

    /// The sets of files that import each other, directly or through others: each file with what it imports of the set.
    fn circles(&self) -> Vec<Vec<String>> {
        let direct: BTreeMap<&Module, BTreeSet<Module>> = self
            .0
            .iter()
            .map(|(module, source)| (module, self.imported_by(module, source)))
            .collect();
        let all: BTreeMap<&Module, BTreeSet<&Module>> = direct
            .keys()
            .map(|module| (*module, reachable(&direct, module)))
            .collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (module, reached) in all
            .iter()
            .filter(|(module, reached)| reached.contains(*module))
        {
            let members = reached.iter().filter(|other| all[*other].contains(*module));
            let members: BTreeSet<Module> = members.map(|member| (*member).clone()).collect();
            let imports = |member: &Module| {
                members
                    .intersection(&direct[member])
                    .map(name)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            circles.insert(
                members
                    .iter()
                    .map(|member| format!("{} -> {}", name(member), imports(member)))
                    .collect(),
            );
        }
        circles.into_iter().collect()
    }
}

/// The name of a module in reports.
fn name(module: &Module) -> String {
    if module.is_empty() {
        "crate".to_owned()
    } else {
        module.join("::")
    }
}

/// The modules that a module imports, directly or through others.
fn reachable<'m>(
    direct: &'m BTreeMap<&Module, BTreeSet<Module>>,
    from: &'m Module,
) -> BTreeSet<&'m Module> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(
            direct
                .get(module)
                .into_iter()
                .flatten()
                .filter(|to| reached.insert(*to)),
        );
    }
    reached
}

/// The module of a file, by its path below `src/`.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if matches!(path, "lib" | "main") {
        Vec::new()
    } else {
        path.split('/').map(str::to_owned).collect()
    }
}

/// Identifiers and punctuation; `::` is one token. Without comments, strings and characters.
fn tokens(text: &str) -> Vec<&str> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next().unwrap_or_default();
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(len) = literal(rest) {
            len
        } else if first.is_alphanumeric() || first == '_' {
            let len = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            found.push(&rest[..len]);
            len
        } else {
            let len = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.extend((!first.is_whitespace()).then_some(&rest[..len]));
            len
        };
        at += len;
    }
    found
}

/// The length of the string or character at the start of a text. A lifetime is neither.
fn literal(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'r']);
    let prefix = text.len() - body.len();
    let hashes = body.len() - body.trim_start_matches('#').len();
    if prefix <= 2 && text[..prefix].contains('r') && body[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(prefix + hashes + 1 + body[hashes + 1..].find(&end)? + end.len());
    }
    let quote = body
        .chars()
        .next()
        .filter(|first| prefix <= 1 && matches!(first, '"' | '\''))?;
    let mut characters = body.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            _ if character == quote => return Some(prefix + at + 1),
            // `'a,` is a lifetime: a character ends after one character.
            _ if quote == '\''
                && !body[at + character.len_utf8()..].starts_with('\'')
                && !body[1..].starts_with('\\') =>
            {
                return None;
            }
            _ => {}
        }
    }
    None
}

/// Reads the tokens of one file.
fn parse(tokens: &[&str]) -> Source {
    let (mut source, mut at, mut depth) = (Source::default(), 0, 0_usize);
    // Inline modules with the depth of braces at which each began.
    let mut inline: Vec<(usize, String)> = Vec::new();
    while at < tokens.len() {
        let around = || {
            inline
                .iter()
                .map(|(_, name)| name.clone())
                .collect::<Module>()
        };
        let (token, next) = (tokens[at], tokens.get(at + 1).copied().unwrap_or_default());
        let is_test = inline.iter().any(|(_, name)| name == TESTS);
        match token {
            _ if is_test && !matches!(token, "{" | "}") => {}
            "use" => {
                let end = at
                    + tokens[at..]
                        .iter()
                        .position(|token| *token == ";")
                        .unwrap_or_default();
                let is_reexport = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                let mut leaves = Vec::new();
                leaves_of(&tokens[at + 1..end], &[], &mut leaves);
                source
                    .imports
                    .extend(leaves.into_iter().map(|(path, name)| Import {
                        path,
                        name,
                        is_reexport,
                        inline: around(),
                    }));
                at = end;
            }
            "mod" if tokens.get(at + 2) == Some(&";") => at += 2,
            "mod" if tokens.get(at + 2) == Some(&"{") => {
                inline.push((depth, next.to_owned()));
                source.defined.insert(next.to_owned());
                at += 1;
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                inline.retain(|(began, _)| *began < depth);
            }
            _ if is_name(token) => {
                source.names.insert(token.to_owned());
                let name = if token == "macro_rules" {
                    tokens.get(at + 2).copied().unwrap_or_default()
                } else {
                    next
                };
                if DEFINING.contains(&token) && is_name(name) {
                    source.defined.insert(name.to_owned());
                }
                let mut path = vec![token.to_owned()];
                while tokens.get(at + 1) == Some(&"::")
                    && tokens.get(at + 2).is_some_and(|token| is_name(token))
                {
                    path.push(tokens[at + 2].to_owned());
                    at += 2;
                }
                if path.len() > 1 {
                    source.paths.push((path, around()));
                }
            }
            _ => {}
        }
        at += 1;
    }
    source
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The imports of a `use` tree, each with its path and the name that it gets.
fn leaves_of(tree: &[&str], before: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let mut path = before.to_vec();
    for (at, token) in tree.iter().enumerate() {
        match *token {
            "{" => {
                return split(&tree[at + 1..tree.len() - 1])
                    .into_iter()
                    .for_each(|branch| leaves_of(branch, &path, leaves));
            }
            "*" => return leaves.push((path, "*".to_owned())),
            "as" => {
                return leaves.push((
                    path,
                    tree.get(at + 1)
                        .map(|name| (*name).to_owned())
                        .unwrap_or_default(),
                ));
            }
            "self" if !path.is_empty() => {}
            name if is_name(name) => path.push(name.to_owned()),
            _ => {}
        }
    }
    if let Some(name) = path.last().cloned() {
        leaves.push((path, name));
    }
}

/// Splits at the commas that are not in inner braces.
fn split<'t, 's>(tree: &'t [&'s str]) -> Vec<&'t [&'s str]> {
    let mut depth = 0_usize;
    let branches = tree.split(|token| {
        depth = match *token {
            "{" => depth + 1,
            "}" => depth - 1,
            _ => depth,
        };
        *token == "," && depth == 0
    });
    branches.filter(|branch| !branch.is_empty()).collect()
}

/// The Rust files below a directory: their paths from there, and their texts.
fn texts_below(directory: &Path) -> Vec<(String, String)> {
    let below = |path: &Path| {
        path.strip_prefix(directory)
            .unwrap_or(path)
            .to_string_lossy()
            .replace('\\', "/")
    };
    let text = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files(directory)
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| (below(path), text(path)))
        .collect()
}

/// The directories of all crates.
fn crates() -> Vec<String> {
    let entries = std::fs::read_dir(root()).expect("the repository");
    entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn no_file_is_in_an_import_circle() {
    let mut findings = Vec::new();
    let crates = crates();
    assert!(
        crates.len() >= 10,
        "the workspace, the Python module and the fuzzer"
    );
    for name in crates {
        let mut texts = texts_below(&root().join(&name).join("src"));
        if name == "engram-adapters" {
            // What the build script makes of the member tables: modules of the adapters.
            let made = texts_below(Path::new(env!("OUT_DIR")));
            assert!(made.len() >= 18, "three files for each adapter");
            texts.extend(made);
        }
        let sources = Sources::new(
            texts
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_str())),
        );
        assert!(sources.0.len() > 5, "{name} has files");
        findings.extend(
            sources
                .circles()
                .into_iter()
                .map(|circle| format!("{name}: {}", circle.join("; "))),
        );
    }
    report::assert_none("imports", &findings);
}

/// The circles of a made-up crate.
#[cfg(test)]
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    Sources::new(files.iter().copied())
        .circles()
        .into_iter()
        .map(|circle| circle.join("; "))
        .collect()
}

#[test]
fn circles_of_imports_and_of_paths_in_code_are_found() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;"),
        ("a.rs", "use crate::b::{self, B};\npub struct A;"),
        ("b.rs", "pub struct B;\nfn f() { crate::c::g() }"),
        ("c.rs", "use super::A as Other;\npub fn g() {}"),
    ];
    assert_eq!(circles(&files), ["a -> b; b -> c; c -> a"]);
    let alias = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::b;\npub fn f() { b::g() }"),
        ("b.rs", "pub fn g() { super::a::f() }"),
    ];
    assert_eq!(circles(&alias), ["a -> b; b -> a"]);
    let parent = [
        ("lib.rs", "mod p;"),
        ("p/mod.rs", "mod c;\nuse c::f;\npub struct P;"),
        ("p/c.rs", "use super::P;\npub fn f() {}"),
    ];
    assert_eq!(circles(&parent), ["p -> p::c; p::c -> p"]);
    let used_reexport = [
        ("lib.rs", "mod p;"),
        (
            "p/mod.rs",
            "mod c;\npub use c::f;\npub struct P;\nfn g() { f() }",
        ),
        parent[2],
    ];
    assert_eq!(circles(&used_reexport), ["p -> p::c; p::c -> p"]);
}

#[test]
fn reexports_comments_strings_and_inline_modules_are_no_circles() {
    let files = [
        ("lib.rs", "mod p;"),
        (
            "p/mod.rs",
            "mod c;\nmod d;\npub use c::f;\npub(crate) use d::*;\npub struct P;",
        ),
        (
            "p/c.rs",
            "use super::P;\nuse super::g;\npub fn f() {}\nmod tests { use super::*; fn t() { super::f() } }",
        ),
        (
            "p/d.rs",
            "// use super::f;\npub fn g<'a>() { let s = \"crate::p::f()\"; let r = r#\"super::f()\"#; let c = '\"'; let q = b'\\''; }",
        ),
    ];
    assert_eq!(circles(&files), [""; 0]);
    let real = [
        files[0],
        files[1],
        files[2],
        ("p/d.rs", "use super::f;\npub fn g<'a>() {}"),
    ];
    assert_eq!(
        circles(&real),
        ["p::c -> p::d; p::d -> p::c"],
        "a re-export leads to the file that defines the item"
    );
}
