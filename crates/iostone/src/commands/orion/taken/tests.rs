//! Tests of what a test may have.

use iostone_stack::file_writing;

use super::*;

fn lun(path: &Path) -> Lun {
    let bytes = std::fs::metadata(path).unwrap().len();
    Lun { name: path.display().to_string(), path: path.to_owned(), kind: LunKind::File, bytes, pin: None }
}

fn take_to(luns: &[Lun], touch: Touch, destroy: &[String]) -> Result<Taken> {
    let touches = vec![touch; luns.len()];
    let words = ["-run".to_owned(), "simple".to_owned()];
    let writes = touch != Touch::Read;
    Taken::take(luns, &Use { touches: &touches, writes, makes: false, destroy, words: &words, before: None })
}

fn take(luns: &[Lun], writes: bool, destroy: &[String]) -> Result<Taken> {
    take_to(luns, if writes { Touch::Write } else { Touch::Read }, destroy)
}

/// A folder on the disk that the build lies on, and a file in it; none where files cannot be marked.
fn markable(content: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, content).unwrap();
    let file = File::open(&path).unwrap();
    mark_own_file(&file, &path).unwrap();
    if !is_ours(&file, &path).unwrap() {
        eprintln!("skipped: needs a filesystem with extended attributes");
        return None;
    }
    Some((folder, path))
}

/// Writes until the time of the file is another one.
fn change(path: &Path) {
    let file = File::open(path).unwrap();
    let before = modified(&file);
    while modified(&file) == before {
        std::fs::write(path, "DATA").unwrap();
    }
}

#[test]
fn all_foreign_files_are_told_with_the_one_command_that_lets_them_go() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b c"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::write(path, "precious").unwrap();
    }
    let luns = paths.each_ref().map(|path| lun(path));
    assert!(take(&luns, false, &[]).is_ok());
    let refused = take(&luns, true, &[]).unwrap_err().to_string();
    let next = format!("--destroy {} --destroy '{}'", luns[0].name, luns[1].name);
    assert!(refused.contains(&next), "{refused}");
    assert!(take(&luns, true, &[luns[0].name.clone()]).is_err());
    assert!(take(&luns, true, &[luns[0].name.clone(), luns[1].name.clone()]).is_ok());
    let stray = take(&luns, true, &["c".to_owned()]).unwrap_err().to_string();
    assert!(stray.contains("`--destroy c` is none of the LUNs"), "{stray}");
}

#[test]
fn a_file_is_named_by_each_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, "data").unwrap();
    let luns = [lun(&path)];
    let same = folder.path().join("./a").display().to_string();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [same, link.display().to_string()] {
        assert!(take(&luns, true, std::slice::from_ref(&name)).is_ok(), "{name}");
    }
}

#[test]
fn one_that_writes_has_its_luns_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    std::fs::write(&path, "data").unwrap();
    let luns = [lun(&path)];
    let reading = (take(&luns, false, &[]).unwrap(), take(&luns, false, &[]).unwrap());
    assert!(take(&luns, true, &[luns[0].name.clone()]).is_err());
    drop(reading);
    let mut writing = take(&luns, true, &[luns[0].name.clone()]).unwrap();
    assert!(take(&luns, false, &[]).is_err());
    // Filled, and only read from now on.
    writing.begin_reading();
    assert!(take(&luns, false, &[]).is_ok());
}

#[test]
fn a_file_that_was_let_go_but_not_written_to_stays_somebody_elses() {
    let Some((_folder, path)) = markable("data") else { return };
    unmark_file(&File::open(&path).unwrap());
    let luns = [lun(&path)];
    let let_go = [luns[0].name.clone()];
    drop(take(&luns, true, &let_go).unwrap());
    assert!(take(&luns, true, &[]).is_err());
    let mut taken = take(&luns, true, &let_go).unwrap();
    taken.begin_writing("test").unwrap();
    drop(taken);
    assert!(take(&luns, true, &[]).is_err());
    let mut taken = take(&luns, true, &let_go).unwrap();
    taken.begin_writing("test").unwrap();
    assert_eq!(file_writing(&File::open(&path).unwrap(), &path).unwrap().unwrap().writer, "test");
    change(&path);
    drop(taken);
    assert!(take(&luns, true, &[]).is_ok());
}

#[test]
fn a_test_that_reads_does_not_claim_what_others_write_meanwhile() {
    let Some((_folder, path)) = markable("load") else { return };
    let luns = [lun(&path)];
    let taken = take(&luns, false, &[]).unwrap();
    change(&path);
    drop(taken);
    assert!(take(&luns, true, &[]).unwrap_err().to_string().contains("it was changed since"));
    assert!(take_to(&luns, Touch::FillHoles, &[]).is_err());
    let taken = take_to(&luns, Touch::FillHoles, &[luns[0].name.clone()]).unwrap();
    taken.filled(&luns[0]).unwrap();
    drop(taken);
    assert!(take(&luns, true, &[]).is_err());
}

#[test]
fn a_file_of_one_hole_may_be_filled_and_zeros_only_if_they_are_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    File::create(&path).unwrap().set_len(1 << 20).unwrap();
    let luns = [lun(&path)];
    assert!(take_to(&luns, Touch::FillHoles, &[]).is_ok(), "nothing but a hole");
    std::fs::write(&path, [0; 4096]).unwrap();
    let refused = take_to(&luns, Touch::FillHoles, &[]).unwrap_err().to_string();
    assert!(refused.contains("the zeros that its holes are read as"), "{refused}");
    let refused = take_to(&luns, Touch::FillZeros, &[]).unwrap_err().to_string();
    assert!(refused.contains("each MiB in it that holds nothing but zeros"), "{refused}");
    assert!(take_to(&luns, Touch::FillZeros, &[luns[0].name.clone()]).is_ok());
}
