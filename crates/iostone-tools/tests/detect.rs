//! Every fixture is told by its content to be the output of the tool whose folder it lies in.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::fs;
use std::path::{Path, PathBuf};

use iostone_tools::import::{ImportError, ImportOptions, import};

/// What no format claims, because nothing could be made of it.
const UNCLAIMED: &[&str] = &["vmstat/4.0-s.txt"];

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

#[test]
fn every_fixture_is_known_by_its_content() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let copies = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for path in files_below(&fixtures) {
        let tool = path.strip_prefix(&fixtures).unwrap().components().next().unwrap();
        let tool = tool.as_os_str().to_str().unwrap();
        // Its name must not be needed, but ORION's files are told apart by theirs.
        let name = if tool == "orion" { path.file_name().unwrap().to_str().unwrap() } else { "output.txt" };
        let copy = copies.path().join(name);
        fs::copy(&path, &copy).unwrap();
        let import = import(std::slice::from_ref(&copy), &ImportOptions::default());
        let expected = UNCLAIMED.iter().any(|unclaimed| path.ends_with(unclaimed));
        // What was recognised and then refused is a matter of its format's own tests.
        let failures = import
            .failures
            .iter()
            .filter(|failure| !expected && !matches!(failure.error, ImportError::Read(_)));
        let failures = failures.map(ToString::to_string);
        let tools = import.dataset.files.iter().filter(|file| file.tool != tool);
        let tools = tools.map(|file| format!("taken for {} output", file.tool));
        wrong.extend(failures.chain(tools).map(|what| format!("{}: {what}", path.display())));
        fs::remove_file(copy).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
