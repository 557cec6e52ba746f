//! What the index makes of directories in which something is wrong, and of files that are no index of its own.

use std::collections::BTreeMap;

use iostone_model::dataset::Dataset;

use super::*;
use crate::imported::write_import;

/// A directory of runs with so many imports, and a file for the index.
fn place(runs: u32) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let parent = place.path().join("runs");
    for number in 0..runs {
        write_import(&parent, Dataset::new(format!("d{number}")), BTreeMap::new(), None).unwrap();
    }
    let file = place.path().join("cache/index.sqlite3");
    (place, file)
}

fn names(index: &mut Index, place: &Path) -> Vec<String> {
    let found = index.runs(&place.join("runs")).unwrap();
    assert!(found.damaged.is_empty(), "{:?}", found.damaged);
    let mut names: Vec<String> = found.runs.into_iter().map(|run| run.experiment).collect();
    names.sort();
    names
}

#[test]
fn runs_are_found_once_read_and_dropped_when_they_are_gone() {
    let (place, file) = place(3);
    let mut index = Index::at(&file);
    assert_eq!(names(&mut index, place.path()), ["d0", "d1", "d2"]);
    let known = |file: &Path| {
        let parent = fs::canonicalize(place.path().join("runs")).unwrap();
        Database::open(file).unwrap().known(&parent).unwrap().len()
    };
    assert_eq!(known(&file), 3);
    let path = fs::read_dir(place.path().join("runs")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(index.summary(&path).unwrap(), read_or_make(&path).unwrap());
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()).len(), 2);
    assert_eq!(known(&file), 2);
    assert!(index.runs(&place.path().join("nowhere")).unwrap().runs.is_empty());
}

#[test]
fn what_is_no_index_is_made_anew_or_passed_by() {
    let (place, file) = place(2);
    let all = ["d0", "d1"];
    assert_eq!(names(&mut Index::none(), place.path()), all);
    Index::at(&file).runs(&place.path().join("runs")).unwrap();
    let good = fs::read(&file).unwrap();

    let mut cut = good.clone();
    cut.truncate(good.len() / 2);
    let mut torn = good.clone();
    torn.iter_mut().skip(4096).for_each(|byte| *byte = 0xa5);
    for spoilt in [b"no database at all, but of some length".to_vec(), Vec::new(), cut, torn] {
        fs::write(&file, &spoilt).unwrap();
        assert_eq!(names(&mut Index::at(&file), place.path()), all, "{} bytes", spoilt.len());
        assert_eq!(names(&mut Index::at(&file), place.path()), all, "{} bytes, again", spoilt.len());
    }

    // Another program's: left as it is.
    fs::remove_file(&file).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1);").unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()), all);
    assert_eq!(other.query_row("SELECT count(*) FROM mine", [], |row| row.get(0)), Ok(1));
    drop(other);

    // Of another version: made anew.
    fs::write(&file, &good).unwrap();
    let later = rusqlite::Connection::open(&file).unwrap();
    later.execute_batch("PRAGMA user_version = 999; DROP TABLE figure;").unwrap();
    drop(later);
    assert_eq!(names(&mut Index::at(&file), place.path()), all);

    // Locked by another process for as long as it likes.
    fs::write(&file, &good).unwrap();
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()), all);
    drop(other);

    // No file at all.
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()), all, "a FIFO");
    fs::remove_file(&file).unwrap();
    let elsewhere = place.path().join("elsewhere");
    fs::write(&elsewhere, "precious").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()), all, "a link");
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(names(&mut Index::at(&file), place.path()), all, "a directory");
}

#[test]
fn a_run_that_cannot_be_read_neither_hides_nor_holds_up_the_others() {
    let (place, file) = place(1);
    let runs = place.path().join("runs");
    let bad = |name: &str| {
        let path = runs.join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let fifo = |path: &Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    };
    fifo(&bad("pipe").join("plan.json"));
    std::os::unix::fs::symlink("/dev/zero", bad("endless").join("plan.json")).unwrap();
    fs::write(bad("cut").join("import.json"), "{\"schema\":\"ios").unwrap();
    let half = bad("half");
    fs::copy(
        fs::read_dir(&runs)
            .unwrap()
            .filter_map(|e| Some(e.ok()?.path().join("import.json")))
            .find(|p| p.is_file() && !p.starts_with(runs.join("cut")))
            .unwrap(),
        half.join("import.json"),
    )
    .unwrap();
    fifo(&half.join("summary.json"));
    fs::create_dir(runs.join("empty")).unwrap();
    fs::write(runs.join("file"), "").unwrap();
    for index in [&mut Index::at(&file), &mut Index::at(&file), &mut Index::none()] {
        let found = index.runs(&runs).unwrap();
        let directories: Vec<&str> = found.runs.iter().map(|run| run.directory.as_str()).collect();
        assert_eq!(directories.len(), 2, "{directories:?}");
        assert!(directories.contains(&"half"), "its summary is made of its record");
        assert_eq!(found.damaged.len(), 3, "{:?}", found.damaged);
    }
}
