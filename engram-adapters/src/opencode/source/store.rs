//! The stores of OpenCode and its forks: the database, and the directories of files that migrations leave in place.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;
use engram_core::policy::Policy;

use super::database::Database;
use super::files::{self, Layout, SessionFiles};
use crate::open::database::DatabaseFile;
use crate::open::may_be_database;
use crate::open::store::{
    Export, LostRecords, OpenedStore, Opener, SkippedSession, Store, StoredSession,
};
use crate::opencode::family::{FAMILIES, OF_OPENCODE};
use crate::shared::neighbours::is_below;

/// Opens the stores of the harness at this place of [`FAMILIES`].
pub(crate) const fn opener<const FAMILY: usize>() -> Opener {
    Opener {
        is_root: |path| is_root(path, FAMILY),
        is_inside: |name| is_inside(name, FAMILY),
        open_root: |path, limits| open_root(path, limits, FAMILY),
        has_tables: |file| Database::has_tables(file) && Database::family(file) == FAMILY,
        open_database: |file| open_database(file, FAMILY),
        ..Opener::NOTHING
    }
}

/// Directories of a data directory with sessions or their side files.
const DIRECTORIES: [&str; 4] = ["storage", "project", "snapshot", "tool-output"];

const OLDER_COPY: &str = "an older copy of the session, which a migration left in place";
const SAME_ID: &str = "another session of the same id was changed later";
const NO_ID: &str = "sessions without an id that can be read";
const CONTINUED_TWICE: &str = "a copy that 1.x continued after 2.x had continued the session";
const LEADS_OUT: &str = "a link that leads out of the directory of the store";

/// Where one session is stored.
enum Location {
    Database(usize),
    Files(SessionFiles),
}

/// All stores under one data directory, or one database.
struct Stores {
    /// The place of the harness in [`FAMILIES`].
    family: usize,
    databases: Vec<Mutex<Database>>,
    locations: BTreeMap<String, Location>,
    sessions: Vec<StoredSession>,
    skipped: Vec<SkippedSession>,
    lost: Vec<LostRecords>,
    unreadable: Vec<AdapterError>,
    limits: Limits,
}

/// True for `~/.local/share/opencode` and copies of it. A directory with a fork's database is the fork's.
fn is_root(path: &Path, family: usize) -> bool {
    let has_database = |family| {
        databases(path, family)
            .iter()
            .any(|path| may_be_database(path))
    };
    let has_files = || {
        let mut layouts = Layout::ALL.iter();
        layouts.any(|layout| !layout.stores(path).is_empty())
    };
    has_database(family)
        || family == OF_OPENCODE && has_files() && !(0..FAMILIES.len()).any(has_database)
}

fn open_root(path: &Path, limits: Limits, family: usize) -> OpenedStore {
    let mut stores = Stores::new(limits, family);
    for link in links_out(path, family) {
        stores.skip(String::new(), &link, LEADS_OUT);
    }
    for database in databases(path, family) {
        if let Err(error) = stores.add_database_at(&database) {
            stores.add_unreadable(error, &database);
        }
    }
    for layout in Layout::ALL {
        stores.add_files(path, layout);
    }
    Ok(Some(stores.sorted()))
}

/// The error of a database with the harness's name and other tables.
fn no_known_table(file: &DatabaseFile<'_>) -> AdapterError {
    let names: Vec<&str> = file
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    let error = AdapterError::new(ErrorCode::IncompleteStore)
        .expected("the tables of sessions of a known version");
    error
        .found(&format!("the tables {}", names.join(", ")))
        .path(file.path.to_string_lossy())
        .under(Policy::Permissive)
}

fn open_database(file: DatabaseFile<'_>, family: usize) -> OpenedStore {
    let mut stores = Stores::new(file.limits, family);
    stores.add_database(file)?;
    Ok(Some(stores.sorted()))
}

fn is_inside(name: &str, family: usize) -> bool {
    DIRECTORIES.contains(&name) || is_database_name(name, family)
}

fn is_database_name(name: &str, family: usize) -> bool {
    name.starts_with(FAMILIES[family].databases) && name.ends_with(".db")
}

/// True for the name of the database of the stable release channel.
fn is_main_database(name: &str, family: usize) -> bool {
    name.strip_suffix(".db") == Some(FAMILIES[family].databases)
}

/// Links to databases and directories of a store that lead out of it. They are not followed.
fn links_out(root: &Path, family: usize) -> Vec<PathBuf> {
    let own = files::entries(root)
        .into_iter()
        .filter(|(name, _)| is_inside(name, family));
    let projects = root.join(files::PROJECTS);
    let of_projects = if is_below(root, &projects) {
        files::entries(&projects)
    } else {
        Vec::new()
    };
    own.chain(of_projects)
        .map(|(_, path)| path)
        .filter(|path| path.is_symlink() && !is_below(root, path))
        .collect()
}

/// The databases in a data directory, one per release channel. Links that lead out of the directory are left out. The main database comes
/// first, because its copies of a session are newer than those of the other databases.
fn databases(root: &Path, family: usize) -> Vec<PathBuf> {
    // What cannot be looked at may be a database: opening it says why.
    let may_be_file = |path: &Path| {
        path.metadata().map_or_else(
            |error| error.kind() != ErrorKind::NotFound,
            |found| found.is_file(),
        )
    };
    let is_own = |path: &Path| !path.is_symlink() || is_below(root, path);
    let named = files::entries(root)
        .into_iter()
        .filter(|(name, path)| is_database_name(name, family) && may_be_file(path) && is_own(path));
    let (main, others): (Vec<_>, Vec<_>) =
        named.partition(|(name, _)| is_main_database(name, family));
    main.into_iter()
        .chain(others)
        .map(|(_, path)| path)
        .collect()
}

impl Stores {
    fn new(limits: Limits, family: usize) -> Self {
        Stores {
            family,
            databases: Vec::new(),
            locations: BTreeMap::new(),
            sessions: Vec::new(),
            skipped: Vec::new(),
            lost: Vec::new(),
            unreadable: Vec::new(),
            limits,
        }
    }

    /// The store, with its sessions in order.
    fn sorted(mut self) -> Box<dyn Store> {
        self.sessions.sort_by(|one, other| one.id.cmp(&other.id));
        Box::new(self)
    }

    fn skip(&mut self, id: String, path: &Path, reason: &'static str) {
        self.skipped.push(SkippedSession {
            session: StoredSession {
                id,
                path: path.to_owned(),
            },
            reason,
        });
    }

    /// Adds a file or directory that cannot be read.
    fn add_unreadable(&mut self, mut error: AdapterError, path: &Path) {
        error
            .path
            .get_or_insert_with(|| path.to_string_lossy().into_owned());
        error.harness = Some(FAMILIES[self.family].descriptor.harness_family);
        self.unreadable.push(error);
    }

    /// Adds the sessions of the database at `path`. One that has no tables yet has none.
    fn add_database_at(&mut self, path: &Path) -> Result<(), AdapterError> {
        match DatabaseFile::open(path, self.limits)? {
            Some(file) if Database::is_new(&file)? => Ok(()),
            Some(file) if Database::has_tables(&file) => {
                file.read_with(|file| self.add_database(file))
            }
            Some(file) if !file.tables.is_empty() => Err(no_known_table(&file)),
            Some(_) => Ok(()),
            // A channel may have left an empty one. The main database has its tables from its first use on.
            None if !self.is_main(path) && path.metadata().is_ok_and(|file| file.len() == 0) => {
                Ok(())
            }
            None => Err(AdapterError::new(ErrorCode::IncompleteStore)
                .expected("an SQLite database")
                .found("a file that is none")),
        }
    }

    fn is_main(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| is_main_database(name, self.family))
    }

    /// Adds a database's sessions. If it cannot be read, nothing is added.
    fn add_database(&mut self, file: DatabaseFile<'_>) -> Result<(), AdapterError> {
        let path = file.path;
        let database = Database::new(file)?;
        let ids = database.session_ids()?;
        let copies = database.ids_continued_twice()?;
        let session = |id: Option<String>| StoredSession {
            id: id.unwrap_or_default(),
            path: path.to_owned(),
        };
        self.lost.extend_from_slice(database.lost());
        let without_id = ids.iter().filter(|id| id.is_none()).count() as u64;
        if without_id > 0 {
            self.lost.push(LostRecords {
                path: path.to_owned(),
                table: "session".to_owned(),
                records: without_id,
                what: NO_ID,
            });
        }
        self.skipped
            .extend(copies.into_iter().map(|id| SkippedSession {
                session: session(id),
                reason: CONTINUED_TWICE,
            }));
        let index = self.databases.len();
        self.databases.push(Mutex::new(database));
        for id in ids.into_iter().flatten() {
            let reason = if matches!(self.locations.get(&id), Some(Location::Database(at)) if *at == index)
            {
                SAME_ID
            } else {
                OLDER_COPY
            };
            self.add(
                StoredSession {
                    id,
                    path: path.to_owned(),
                },
                Location::Database(index),
                reason,
            );
        }
        Ok(())
    }

    /// Adds the sessions of all directories of one layout. Of two with one id, the last changed is first.
    fn add_files(&mut self, root: &Path, layout: Layout) {
        let (sessions, unreadable) = layout.sessions(root);
        unreadable
            .into_iter()
            .for_each(|(directory, error)| self.add_unreadable(error.into(), &directory));
        for found in sessions {
            let has_same_id = matches!(self.locations.get(&found.id), Some(Location::Files(known)) if known.layout == layout);
            let session = StoredSession {
                id: found.id.clone(),
                path: found.info.clone(),
            };
            self.add(
                session,
                Location::Files(found),
                if has_same_id { SAME_ID } else { OLDER_COPY },
            );
        }
    }

    fn add(&mut self, session: StoredSession, location: Location, reason: &'static str) {
        if self.locations.contains_key(&session.id) {
            self.skipped.push(SkippedSession { session, reason });
            return;
        }
        self.locations.insert(session.id.clone(), location);
        self.sessions.push(session);
    }
}

impl Store for Stores {
    fn kind(&self) -> &'static str {
        let [database, files, empty] = FAMILIES[self.family].kinds;
        match (self.databases.is_empty(), self.locations.is_empty()) {
            (false, _) => database,
            (true, false) => files,
            (true, true) => empty,
        }
    }

    fn sessions(&self) -> &[StoredSession] {
        &self.sessions
    }

    fn skipped(&self) -> &[SkippedSession] {
        &self.skipped
    }

    fn lost(&self) -> &[LostRecords] {
        &self.lost
    }

    fn unreadable(&self) -> &[AdapterError] {
        &self.unreadable
    }

    fn export(&self, session: &StoredSession) -> Result<Export, AdapterError> {
        let exported = match self.locations.get(&session.id) {
            Some(Location::Files(files)) => files.export(self.limits),
            Some(Location::Database(index)) => match self.databases.get(*index) {
                // The database is only read, so a panic under the lock leaves it consistent.
                Some(database) => database
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .export(&session.id),
                None => Err(AdapterError::new(ErrorCode::AdapterDefect)),
            },
            None => Err(AdapterError::new(ErrorCode::Io).expected("a session of this store")),
        };
        exported.map_err(|error| error.path(session.path.to_string_lossy()))
    }

    fn verify_unchanged(&self) -> Result<(), AdapterError> {
        self.databases.iter().try_for_each(|database| {
            database
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .verify_unchanged()
        })
    }
}
