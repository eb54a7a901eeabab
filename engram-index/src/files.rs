//! The files of the index that a path means: by its directory, by its repository, and by links that were declared.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use crate::names;
use crate::query::{InRepo, Query};

/// Most files that one path means.
const MAX_FILES: usize = 64;

/// A file of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Its full path.
    pub path: String,
    /// If it is an earlier name of the file of a question: as [`Earlier::until`](crate::Earlier::until).
    pub until: Option<i64>,
}

/// The numbers of files.
pub type Files = BTreeMap<i64, Named>;

/// The files of a question: those that its paths mean, and those that had the same file under earlier names.
pub fn of_question(db: &Connection, query: &Query<'_>) -> rusqlite::Result<Files> {
    let mut files = find(db, &query.paths, query.repo.as_ref())?;
    let (Some(repo), Some(path)) = (&query.repo, query.paths.first()) else {
        return Ok(files);
    };
    let path = names::path(path);
    let Some(root) = path.strip_suffix(&repo.path) else {
        return Ok(files);
    };
    for earlier in &query.earlier {
        let below = InRepo {
            url: repo.url.clone(),
            path: earlier.path.clone(),
        };
        for (file, mut named) in find(db, &[format!("{root}{}", earlier.path)], Some(&below))? {
            named.until = Some(earlier.until);
            files.entry(file).or_insert(named);
        }
    }
    Ok(files)
}

/// The files that these paths mean (one file may have several, through links of the file system), or that are this file in a clone.
pub fn find(db: &Connection, paths: &[String], repo: Option<&InRepo>) -> rusqlite::Result<Files> {
    let mut files = Files::new();
    let repos: Vec<(i64, String, String)> = db
        .prepare_cached("SELECT id, url, root FROM repo")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut find = |id: i64, root: &str, path: &str| -> rusqlite::Result<()> {
        let sql = "SELECT id FROM file WHERE repo = ?1 AND path = ?2";
        if let Some(file) = db
            .prepare_cached(sql)?
            .query_row((id, path), |row| row.get(0))
            .optional()?
        {
            let shown = if root.is_empty() {
                path.to_owned()
            } else {
                format!("{root}/{path}")
            };
            files.insert(
                file,
                Named {
                    path: shown,
                    until: None,
                },
            );
        }
        Ok(())
    };
    let url = repo
        .map(|repo| names::url(&repo.url))
        .filter(|url| !url.is_empty());
    for path in paths.iter().map(|path| names::path(path)) {
        find(0, "", &path)?;
        for (id, _, root) in &repos {
            if let Some(rest) = names::below(root, &path) {
                find(*id, root, rest)?;
            }
        }
    }
    if let Some(repo) = repo {
        find(0, "", &repo.path)?;
        for (id, _, root) in repos.iter().filter(|(_, of, _)| Some(of) == url.as_ref()) {
            find(*id, root, &repo.path)?;
            // A session may have begun below the root.
            for (at, _) in repo.path.match_indices('/') {
                if root.ends_with(&format!("/{}", &repo.path[..at])) {
                    find(*id, root, &repo.path[at + 1..])?;
                }
            }
        }
    }
    follow_links(db, &mut files)?;
    Ok(files)
}

/// Adds the files that links and moves come from.
fn follow_links(db: &Connection, files: &mut Files) -> rusqlite::Result<()> {
    let mut open: Vec<i64> = files.keys().copied().collect();
    while let Some(file) = open.pop() {
        let sql = "SELECT DISTINCT file.id, CASE WHEN file.repo = 0 THEN file.path ELSE repo.root || '/' || file.path END
            FROM file LEFT JOIN repo ON repo.id = file.repo WHERE file.id IN (SELECT other FROM span WHERE file = ?1 AND what = 6
            UNION SELECT other FROM step WHERE file = ?1 AND other IS NOT NULL)";
        let from: Vec<(i64, String)> = db
            .prepare_cached(sql)?
            .query_map([file], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (id, path) in from {
            let named = Named { path, until: None };
            if files.len() < MAX_FILES && files.insert(id, named).is_none() {
                open.push(id);
            }
        }
    }
    Ok(())
}

/// The numbers as SQL lists them.
pub fn list(files: &Files) -> String {
    files
        .keys()
        .map(i64::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// The full path of a file.
pub(crate) fn path_of(db: &Connection, file: i64) -> rusqlite::Result<String> {
    let sql = "SELECT CASE WHEN repo = 0 THEN path ELSE root || '/' || path END FROM file LEFT JOIN repo ON repo.id = repo WHERE file.id = ?1";
    db.prepare_cached(sql)?.query_row([file], |row| row.get(0))
}
