//! Tests of the stores: the same bytes whatever the way, locks, sizes.

use iostone_model::experiment::EmulatedVolume;
use iostone_model::units::Bytes;

use super::*;

const SIZE: u64 = 3 << 20;
const LENGTH: usize = 3 << 20;

fn volume(store: Store) -> VolumePlan {
    VolumePlan {
        name: "v0".to_owned(),
        socket: "/nowhere/v0".into(),
        store,
        model: EmulatedVolume::new(Bytes(SIZE)),
    }
}

/// A file with so many bytes, all of them holes.
fn file_of(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

fn in_file(path: &Path, direct: bool) -> Result<OpenStore, DiskError> {
    OpenStore::open(&volume(Store::File { path: path.to_owned(), direct }), &Pins::default())
}

fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| u8::try_from(at % 251).unwrap() ^ seed).collect()
}

#[test]
fn bytes_come_back_whatever_the_way_and_the_alignment() {
    let buffered = file_of(SIZE);
    let direct = file_of(SIZE + 777);
    let mut stores = vec![
        OpenStore::open(&volume(Store::Memory), &Pins::default()).unwrap(),
        in_file(buffered.path(), false).unwrap(),
    ];
    match in_file(direct.path(), true) {
        Ok(store) => stores.push(store),
        Err(error) => eprintln!("skipped: needs a filesystem with O_DIRECT: {error}"),
    }
    for store in &stores {
        let mut truth = vec![0; LENGTH];
        let places = [(0, 4096), (1, 1), (4095, 2), (512, 512), (8191, 8195), (100, 2 << 20), (SIZE - 5, 5)];
        for (seed, (offset, length)) in (1..).zip(places) {
            let bytes = pattern(length, seed);
            store.write(offset, &bytes).unwrap();
            truth[usize::try_from(offset).unwrap()..][..length].copy_from_slice(&bytes);
            let mut back = vec![0; length];
            store.read(offset, &mut back).unwrap();
            assert!(back == bytes, "{store:?} at {offset}");
        }
        let mut all = vec![0; LENGTH];
        store.read(0, &mut all).unwrap();
        assert!(all == truth, "{store:?}");
        store.flush().unwrap();
    }
}

#[test]
fn what_is_discarded_reads_as_zeros() {
    let file = file_of(SIZE);
    for store in [
        OpenStore::open(&volume(Store::Memory), &Pins::default()).unwrap(),
        in_file(file.path(), false).unwrap(),
    ] {
        store.write(0, &pattern(16384, 9)).unwrap();
        store.discard(4096, 8192).unwrap();
        let mut back = vec![1; 16384];
        store.read(0, &mut back).unwrap();
        assert_eq!(back[..4096], pattern(16384, 9)[..4096]);
        assert!(back[4096..12288].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn a_file_that_is_served_is_not_served_twice() {
    let file = file_of(SIZE);
    let first = in_file(file.path(), false).unwrap();
    assert!(matches!(in_file(file.path(), false), Err(DiskError::Locked(_))));
    drop(first);
    in_file(file.path(), false).unwrap();
}

#[test]
fn a_file_that_is_too_small_is_refused_with_the_command_that_mends_it() {
    let file = file_of(SIZE - 1);
    let error = in_file(file.path(), false).unwrap_err().to_string();
    assert!(error.contains("has 3145727 bytes and the volume 3145728"), "{error}");
    assert!(error.contains("truncate --size 3145728"), "{error}");
    assert!(in_file(Path::new("/nowhere/at/all"), false).unwrap_err().to_string().contains("cannot open"));
}

#[test]
fn a_read_that_would_wait_is_told_from_one_that_is_done() {
    let memory = OpenStore::open(&volume(Store::Memory), &Pins::default()).unwrap();
    assert_eq!(memory.try_read(0, &mut [1; 10]).unwrap(), Attempt::Done);
    let file = file_of(SIZE);
    let buffered = in_file(file.path(), false).unwrap();
    buffered.write(0, &pattern(4096, 3)).unwrap();
    let mut back = vec![0; 4096];
    // Just written, so it is in the page cache, where the filesystem can tell at all.
    if buffered.try_read(0, &mut back).unwrap() == Attempt::Done {
        assert_eq!(back, pattern(4096, 3));
    }
}

#[test]
fn what_stands_for_a_clouds_volume_hands_no_flush_to_the_disk_below() {
    let file = file_of(SIZE);
    let mut plan = volume(Store::File { path: file.path().to_owned(), direct: false });
    assert!(OpenStore::open(&plan, &Pins::default()).unwrap().hands_flushes_on());
    plan.model.stands_for = Some("gp2:100GiB".parse().unwrap());
    let store = OpenStore::open(&plan, &Pins::default()).unwrap();
    assert!(!store.hands_flushes_on());
    store.write(0, &pattern(4096, 1)).unwrap();
    store.flush().unwrap();
    plan.store = Store::Memory;
    assert!(!OpenStore::open(&plan, &Pins::default()).unwrap().hands_flushes_on());
}

#[test]
fn what_the_store_fails_is_counted_with_the_first_reason() {
    let file = file_of(SIZE);
    let store = in_file(file.path(), false).unwrap();
    store.write(0, &pattern(4096, 1)).unwrap();
    assert_eq!(store.failures(), StoreFailures::default());
    // Offsets beyond what a file can hold: there is no full disk to be had without root.
    let beyond = u64::try_from(i64::MAX).unwrap() - 1;
    assert!(store.write(beyond, &[1; 4096]).is_err());
    assert!(store.read(SIZE, &mut [0; 16]).is_err());
    let failures = store.failures();
    assert_eq!(failures.requests, 2);
    assert!(matches!(failures.first_errno, Some(libc::EINVAL | libc::EFBIG)), "{failures:?}");
}

#[test]
fn a_pinned_file_is_served_whatever_its_name_stands_for() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("image");
    std::fs::write(&path, vec![0; LENGTH]).unwrap();
    let mut pins = Pins::default();
    pins.insert(path.clone(), iostone_engine::Pin::new(File::open(&path).unwrap()));
    std::fs::rename(&path, place.path().join("moved")).unwrap();
    std::fs::write(&path, vec![0; LENGTH]).unwrap();
    let store = OpenStore::open(&volume(Store::File { path: path.clone(), direct: false }), &pins).unwrap();
    store.write(0, &[7; 4096]).unwrap();
    assert_eq!(std::fs::read(&path).unwrap()[..4096], [0; 4096]);
    assert_eq!(std::fs::read(place.path().join("moved")).unwrap()[..4096], [7; 4096]);
}
