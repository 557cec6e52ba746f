//! The index as a file of `SQLite`. Whatever fails here makes it be made again once, or be done without.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iostone_model::summary::{RunListing, RunSummary};
use rusqlite::{Connection, OpenFlags, Transaction, params};

use super::stamp::Stamp;

/// `iost` in ASCII: what tells iostone's file from another program's (`PRAGMA application_id`).
const APPLICATION: i64 = 0x696f_7374;
/// Its name in a cache directory.
pub(super) const FILE_NAME: &str = "index.sqlite3";
/// The version of the tables below. Another version's are dropped.
const VERSION: i64 = 1;
/// As long is waited for another process that writes, which takes some ms a run.
const PATIENCE: Duration = Duration::from_millis(250);

/// Besides `run`, tables for those who open the file with `sqlite3`; all follow from the summaries.
const TABLES: &str = "
CREATE TABLE run (
    number INTEGER PRIMARY KEY,
    parent TEXT NOT NULL,      -- the directory of runs, absolute
    directory TEXT NOT NULL,   -- the run's name in it
    stamp TEXT NOT NULL,       -- the files that the row was made of
    id TEXT NOT NULL, experiment TEXT NOT NULL, experiment_digest TEXT,
    started_at TEXT NOT NULL, ended_at TEXT, state TEXT NOT NULL,
    host TEXT NOT NULL, kernel TEXT NOT NULL, cpu TEXT NOT NULL, instance TEXT,
    iostone_version TEXT NOT NULL, trials INTEGER NOT NULL, blocks INTEGER NOT NULL, steal REAL,
    headline TEXT,
    listing TEXT NOT NULL,     -- a line of `iostone list --json`
    summary TEXT NOT NULL,     -- summary.json
    UNIQUE (parent, directory)
);
CREATE INDEX run_experiment ON run (experiment, host, started_at);
CREATE TABLE tag (run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, tag TEXT NOT NULL);
CREATE TABLE figure (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    configuration TEXT NOT NULL, metric TEXT NOT NULL, unit TEXT NOT NULL,
    trials INTEGER NOT NULL, median REAL, cv REAL, minimum REAL, maximum REAL, first REAL, last REAL
);
CREATE TABLE comparison (
    run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    level TEXT NOT NULL, baseline TEXT NOT NULL, stratum TEXT NOT NULL, point TEXT NOT NULL,
    verdict TEXT, withheld INTEGER NOT NULL, ratio REAL, low REAL, high REAL, blocks INTEGER NOT NULL
);
CREATE INDEX tag_run ON tag (run);
CREATE INDEX figure_run ON figure (run);
CREATE INDEX comparison_run ON comparison (run);
";

/// An open index.
pub(super) struct Database {
    file: PathBuf,
    connection: Connection,
    writable: bool,
}

/// A row that is known of a run.
pub(super) struct Known {
    pub(super) stamp: String,
    pub(super) listing: RunListing,
}

/// A run that was read: its directory's name, its stamp, and what became of it.
pub(super) type Fresh = (String, Stamp, RunListing, RunSummary);

impl Database {
    /// Opens the file, or makes it. None where neither can be.
    pub(super) fn open(file: &Path) -> Option<Self> {
        if is_something_else(file) {
            return None;
        }
        // As root, no other user may be able to put another file there.
        iostone_stack::refuse_exposed_runs(file.parent()?).ok()?;
        match Self::open_as_it_is(file) {
            Opened::Usable(database) => Some(database),
            Opened::Spoilt if is_ours(file) => Self::make_anew(file),
            Opened::Spoilt | Opened::Foreign => None,
        }
    }

    fn open_as_it_is(file: &Path) -> Opened {
        let existed = file.exists();
        let writable = prepare(file);
        if !existed && !writable {
            return Opened::Foreign;
        }
        let access =
            if writable { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let Ok(connection) = Connection::open_with_flags(file, flags) else { return Opened::Foreign };
        let database = Self { file: file.to_owned(), connection, writable };
        match database.check() {
            Ok(true) => Opened::Usable(database),
            Err(error) if writable && !is_busy(&error) => Opened::Spoilt,
            Ok(false) | Err(_) => Opened::Foreign,
        }
    }

    /// In place of a file that is corrupt; it is iostone's by [`is_ours`] and holds nothing that is not elsewhere.
    fn make_anew(file: &Path) -> Option<Self> {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            let mut name = file.as_os_str().to_owned();
            name.push(suffix);
            let _ = fs::remove_file(name);
        }
        match Self::open_as_it_is(file) {
            Opened::Usable(database) => Some(database),
            Opened::Spoilt | Opened::Foreign => None,
        }
    }

    /// Whether it is iostone's, of this version; an empty one becomes that.
    fn check(&self) -> rusqlite::Result<bool> {
        let connection = &self.connection;
        connection.busy_timeout(PATIENCE)?;
        // A rollback journal, never a write-ahead log: that needs shared memory, which network filesystems do not have. Without
        // waiting for the disk: what a power cut spoils is made again.
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        match (number("application_id")?, number("user_version")?) {
            (APPLICATION, VERSION) => Ok(true),
            (0, 0) if tables == 0 && self.writable => {
                connection.execute_batch(&format!(
                    "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; \
                     COMMIT;"
                ))?;
                Ok(true)
            }
            // Of another version: as good as spoilt.
            (APPLICATION, _) => Err(rusqlite::Error::InvalidQuery),
            _ => Ok(false),
        }
    }

    /// The rows of the runs below a directory. None where they cannot be read; a corrupt file is made anew for the next time.
    pub(super) fn known(&mut self, parent: &Path) -> Option<BTreeMap<String, Known>> {
        match self.read_known(parent) {
            Ok(known) => Some(known),
            Err(error) => {
                if self.writable && !is_busy(&error) && is_ours(&self.file) {
                    *self = Self::make_anew(&self.file)?;
                }
                None
            }
        }
    }

    fn read_known(&self, parent: &Path) -> rusqlite::Result<BTreeMap<String, Known>> {
        let mut statement =
            self.connection.prepare("SELECT directory, stamp, listing FROM run WHERE parent = ?1")?;
        let rows = statement.query_map([parent.to_string_lossy()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
        })?;
        let mut known = BTreeMap::new();
        for row in rows {
            let (directory, stamp, listing) = row?;
            // A row that cannot be read is one that is not there.
            if let Ok(listing) = serde_json::from_str(&listing) {
                known.insert(directory, Known { stamp, listing });
            }
        }
        Ok(known)
    }

    /// The summary of a run, where its row has that stamp.
    pub(super) fn summary(&self, parent: &Path, directory: &str, stamp: &str) -> Option<RunSummary> {
        let query = "SELECT summary FROM run WHERE parent = ?1 AND directory = ?2 AND stamp = ?3";
        let text: String = self
            .connection
            .query_row(query, params![parent.to_string_lossy(), directory, stamp], |row| row.get(0))
            .ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps runs that were read and drops those that are gone, all or nothing.
    pub(super) fn keep(&mut self, parent: &Path, fresh: &[Fresh], gone: &[String]) {
        if self.writable {
            let _ = self.try_keep(&parent.to_string_lossy(), fresh, gone);
        }
    }

    fn try_keep(&mut self, parent: &str, fresh: &[Fresh], gone: &[String]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        drop_lost_parents(&transaction)?;
        let names = gone.iter().chain(fresh.iter().map(|(name, ..)| name));
        for name in names {
            transaction
                .prepare("DELETE FROM run WHERE parent = ?1 AND directory = ?2")?
                .execute(params![parent, name])?;
        }
        for (name, stamp, listing, summary) in fresh {
            insert(&transaction, (parent, name, stamp.text()), listing, summary)?;
        }
        transaction.commit()
    }
}

/// What opening came to.
enum Opened {
    /// It can be read, and written unless it is read-only.
    Usable(Database),
    /// It is corrupt, or of another version.
    Spoilt,
    /// It is another program's, locked, or cannot be made.
    Foreign,
}

/// Whether a file that cannot be read as an index was one: by its name, which nothing else has in a directory of iostone's, or by
/// iostone's number in the header of an `SQLite` file (database file format, 1.3.13), whatever became of the rest. Any other file
/// belongs to somebody.
fn is_ours(file: &Path) -> bool {
    const AT: u64 = 68;
    if file.file_name() == Some(FILE_NAME.as_ref()) {
        return true;
    }
    let header = || -> std::io::Result<[u8; 4]> {
        let mut number = [0; 4];
        fs::File::open(file)?.read_exact_at(&mut number, AT)?;
        Ok(number)
    };
    header().is_ok_and(|number| i64::from(u32::from_be_bytes(number)) == APPLICATION)
}

/// Whether something lies there that is no file: `SQLite` would wait for a pipe, and follow a link.
fn is_something_else(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|found| !found.is_file())
}

/// Makes directory and file where they are missing, readable by this user alone. Whether the file can be written.
fn prepare(file: &Path) -> bool {
    if let Some(parent) = file.parent() {
        let _ = fs::create_dir_all(parent);
    }
    let flags = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    fs::File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(file).is_ok()
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked))
}

/// Drops the rows of directories of runs that are no more.
fn drop_lost_parents(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare("SELECT DISTINCT parent FROM run")?;
    let parents: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for parent in parents.iter().filter(|parent| !Path::new(parent).exists()) {
        transaction.execute("DELETE FROM run WHERE parent = ?1", [parent])?;
    }
    Ok(())
}

fn insert(
    transaction: &Transaction<'_>,
    (parent, directory, stamp): (&str, &str, &str),
    listing: &RunListing,
    summary: &RunSummary,
) -> rusqlite::Result<()> {
    let json = |text: serde_json::Result<String>| {
        text.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
    };
    let machine = &summary.machine;
    let instance = machine.platform.as_ref().and_then(|platform| platform.instance_type.as_deref());
    transaction
        .prepare(
            "INSERT INTO run (parent, directory, stamp, id, experiment, experiment_digest, started_at, ended_at, state, \
             host, kernel, cpu, instance, iostone_version, trials, blocks, steal, headline, listing, summary) VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
        )?
        .execute(params![
            parent,
            directory,
            stamp,
            summary.run_id,
            summary.experiment,
            summary.experiment_digest,
            summary.started_at,
            summary.ended_at,
            summary.state.word(),
            machine.host,
            machine.kernel,
            machine.cpu,
            instance,
            summary.iostone_version,
            summary.trials,
            summary.blocks,
            machine.steal,
            summary.headline,
            json(serde_json::to_string(listing))?,
            json(serde_json::to_string(summary))?,
        ])?;
    let run = transaction.last_insert_rowid();
    for tag in &summary.tags {
        transaction.prepare("INSERT INTO tag VALUES (?1, ?2)")?.execute(params![run, tag])?;
    }
    let mut insert_figure =
        transaction.prepare("INSERT INTO figure VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for configuration in &summary.configurations {
        for (metric, figure) in &configuration.figures {
            let unit = summary.metrics.get(metric).map_or("", |note| note.unit.symbol());
            insert_figure.execute(params![
                run,
                configuration.name,
                metric,
                unit,
                figure.trials,
                figure.median,
                figure.cv,
                figure.minimum,
                figure.maximum,
                figure.first,
                figure.last,
            ])?;
        }
    }
    let mut insert_comparison = transaction
        .prepare("INSERT INTO comparison VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for one in &summary.comparisons {
        let [low, high] = one.ratio_interval;
        insert_comparison.execute(params![
            run,
            one.level,
            one.baseline,
            one.stratum,
            one.point,
            one.verdict.map(iostone_model::verdict::Verdict::word),
            one.withheld,
            one.ratio,
            low,
            high,
            one.blocks,
        ])?;
    }
    Ok(())
}
