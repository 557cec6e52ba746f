//! Tests of the journal's format: torn lines, foreign files, locks.

use super::*;
use crate::seal::sealed;

const TOKEN: &str = "test-0123456789abcdef";

fn owner() -> Owner {
    Owner::current(Path::new("/run-directory"), TOKEN).unwrap()
}

fn own(path: &str) -> PathBuf {
    Path::new(path).join("iostone-test-0123456789abcdef")
}

fn step(path: &str) -> Step {
    Step::Image { path: own(path).join("volume.img") }
}

fn opened(path: &Path) -> Box<Journal> {
    loop {
        match Journal::open(path, &Key::for_tests()).unwrap() {
            Opened::Journal(journal) => return journal,
            // A process that another test forks holds a copy of the lock until its exec.
            Opened::Locked => std::thread::yield_now(),
            Opened::Gone => panic!("gone"),
            Opened::Unreadable(reason) => panic!("{reason}"),
        }
    }
}

#[test]
fn an_undoing_that_was_cut_short_is_known_for_ours_until_it_failed() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    let numbers = ["/a", "/b"].map(|path| journal.begin(Scope::Trial, step(path)).unwrap());
    for number in numbers {
        journal.mark_undoing(number);
    }
    journal.mark_kept(numbers[1]);
    let path = journal.path.clone();
    drop(journal);
    let journal = opened(&path);
    assert!(journal.entries[0].undoing && !journal.entries[1].undoing);
}

#[test]
fn what_is_written_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    let first = journal.begin(Scope::Session, step("/a")).unwrap();
    journal.confirm(first, FileIdentity { dev: 1, ino: 2 }).unwrap();
    let second = journal.begin(Scope::Trial, step("/b")).unwrap();
    journal.mark_undone(second);
    let path = journal.path.clone();
    drop(journal);
    let journal = opened(&path);
    assert_eq!(journal.entries.len(), 2);
    assert_eq!(journal.entries[0].made, Some(FileIdentity { dev: 1, ino: 2 }));
    assert!(!journal.entries[0].undone && journal.entries[1].undone && !journal.released);
}

#[test]
fn what_was_moved_and_what_others_used_is_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    let directory_of_own = Step::Directory { path: own("/runs/a/image"), content_is_ours: true };
    journal.begin(Scope::Session, directory_of_own).unwrap();
    let image = journal.begin(Scope::Session, step("/runs/a/image")).unwrap();
    let elsewhere = journal.begin(Scope::Session, step("/runs/ab/image")).unwrap();
    journal.relocate(Path::new("/runs/a"), Path::new("/runs/b"));
    journal.mark_shared(image, "first".to_owned());
    journal.mark_shared(image, "second".to_owned());
    let path = journal.path.clone();
    drop(journal);
    let journal = opened(&path);
    assert_eq!(journal.entries[image].step, step("/runs/b/image"));
    assert_eq!(journal.entries[image].shared.as_deref(), Some("first"));
    assert_eq!(journal.entries[elsewhere].step, step("/runs/ab/image"));
}

#[test]
fn a_torn_last_line_is_cut_off_at_every_length() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    journal.begin(Scope::Trial, step("/a")).unwrap();
    let whole = std::fs::read(&journal.path).unwrap().len();
    journal.begin(Scope::Trial, step("/b")).unwrap();
    let path = journal.path.clone();
    drop(journal);
    let bytes = std::fs::read(&path).unwrap();
    for length in whole..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let mut journal = opened(&path);
        assert_eq!(journal.entries.len(), 1, "cut at {length}");
        // What is appended afterwards is whole again.
        journal.mark_undone(0);
        drop(journal);
        assert!(opened(&path).entries[0].undone);
    }
}

#[test]
fn a_damaged_or_foreign_file_is_reported_and_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let (path, good) = {
        let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
        journal.begin(Scope::Trial, step("/a")).unwrap();
        (journal.path.clone(), std::fs::read_to_string(&journal.path).unwrap())
    };
    let is_unreadable = |path: &Path, text: &str| {
        std::fs::write(path, text).unwrap();
        let opened = std::iter::repeat_with(|| Journal::open(path, &Key::for_tests()).unwrap())
            .find(|opened| !matches!(opened, Opened::Locked));
        assert_eq!(std::fs::read_to_string(path).unwrap(), *text);
        assert_eq!(peek(path, &Key::for_tests()).is_none(), matches!(opened, Some(Opened::Unreadable(_))));
        matches!(opened, Some(Opened::Unreadable(_)))
    };
    let json: Vec<String> = good.lines().map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect();
    let seal = |change: &dyn Fn(&str) -> String| {
        let lines: Vec<String> = json.iter().map(|line| change(line)).collect();
        String::from_utf8(sealed(&Key::for_tests(), &file_name(TOKEN), &lines)).unwrap()
    };
    assert!(!is_unreadable(&path, &good) && !is_unreadable(&path, &seal(&str::to_owned)));
    let damaged = |text: &str| text.replace("\"image\"", "\"imago\"");
    let skipped = |text: &str| text.replace("\"number\":0", "\"number\":3");
    let unsealed = format!("{}\n", json.join("\n"));
    for text in ["", "hello\n", "{\"event\":\"released\"}\n", &unsealed, &damaged(&good), &skipped(&good)] {
        assert!(is_unreadable(&path, text), "{text}");
    }
    for text in [seal(&damaged), seal(&skipped)] {
        assert!(is_unreadable(&path, &text), "{text}");
    }
    assert!(is_unreadable(&directory.path().join("other-0123456789abcdef.jsonl"), &good), "another name");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_step_that_no_cleanup_would_take_is_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    let before = std::fs::read(&journal.path).unwrap();
    assert!(journal.begin(Scope::Trial, Step::Image { path: PathBuf::from("/etc/passwd") }).is_err());
    assert_eq!(std::fs::read(&journal.path).unwrap(), before);
    let nameless = Owner { token: "token".to_owned(), ..owner() };
    assert!(Journal::create(directory.path(), &nameless, &Key::for_tests()).is_err());
}

#[test]
fn what_the_fuzzer_starts_from_is_a_journal() {
    let whole = include_bytes!("../../../../fuzz/corpus-seeds/undo_journal/whole");
    assert_eq!(read_unsealed(whole).unwrap().entries.len(), 14);
}

#[test]
fn a_journal_in_use_is_locked() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
    assert!(matches!(Journal::open(&journal.path, &Key::for_tests()).unwrap(), Opened::Locked));
    assert!(Journal::create(directory.path(), &owner(), &Key::for_tests()).is_err(), "the same name twice");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_symbolic_link_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    std::fs::write(&target, "x").unwrap();
    let link = directory.path().join("x.jsonl");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(Journal::open(&link, &Key::for_tests()).is_err());
}

proptest::proptest! {
    #[test]
    fn a_journal_cut_anywhere_is_the_beginning_of_itself(steps in 0usize..6, cut in 0usize..4096) {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(directory.path(), &owner(), &Key::for_tests()).unwrap();
        for index in 0..steps {
            journal.begin(Scope::Trial, step(&format!("/{index}"))).unwrap();
        }
        let bytes = std::fs::read(&journal.path).unwrap();
        let (_, whole) = peek(&journal.path, &Key::for_tests()).unwrap();
        std::fs::write(&journal.path, &bytes[..cut.min(bytes.len())]).unwrap();
        if let Some((_, entries)) = peek(&journal.path, &Key::for_tests()) {
            for (entry, expected) in entries.iter().zip(&whole) {
                proptest::prop_assert_eq!(&entry.step, &expected.step);
            }
        }
    }

    #[test]
    fn no_file_makes_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        proptest::prop_assert!(read_unsealed(&bytes).is_err());
    }
}
