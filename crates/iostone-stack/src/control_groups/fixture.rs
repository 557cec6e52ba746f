//! A machine of files, for tests of what is looked up below `/proc` and `/sys`.

use std::fs;

/// Paths below the directory that comes back, with their texts.
pub(crate) fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}
