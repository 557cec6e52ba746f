//! First touches on plain directories.

use super::*;
use iostone_model::units::Bytes;

fn spec() -> CopyUpWorkload {
    CopyUpWorkload { size: Bytes(1 << 20), files: 5, file_size: Bytes(300), write: Bytes(4096), sync: true }
}

fn prepare_in(directory: &Path, spec: &CopyUpWorkload) -> Result<Box<dyn Prepared>, WorkloadError> {
    let place = Place { directory: Some(directory.to_owned()), device: None };
    let context = TrialContext {
        number: 1,
        configuration: "one".to_owned(),
        seed: 7,
        marker: (String::new(), String::new()),
        groups: Vec::new(),
    };
    prepare(spec, &place, &context, &AtomicBool::new(false))
}

#[test]
fn every_touch_has_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let measured = prepare_in(folder.path(), &spec()).unwrap().run(&AtomicBool::new(false)).unwrap();
    let report = &measured.report;
    assert_eq!(report.error, None);
    let names: Vec<&str> = measured.metrics.keys().map(String::as_str).collect();
    assert_eq!(names, ["copy_up_time", "create_time", "open_time", "rewrite_time", "stat_time"]);
    assert!(measured.metrics.values().all(|seconds| *seconds > 0.0));
    assert_eq!((report.claimed_written_bytes, report.must_reach_device), (3 * 4096, true));
    assert_eq!(report.latency_histogram.iter().map(|(_, count)| count).sum::<u64>(), 5);
    assert!(report.facts["files"].starts_with("laid out"));
    assert!(!report.facts["copied_up"].starts_with("by reference"), "{:?}", report.facts);
    assert_eq!(fs::metadata(folder.path().join(LARGE_FILE)).unwrap().len(), 1 << 20);
    assert_eq!(fs::metadata(folder.path().join(CREATED_FILE)).unwrap().len(), 4096);
}

#[test]
fn files_of_an_image_are_used_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    prepare_in(folder.path(), &spec()).unwrap();
    let inode =
        |name: &str| std::os::unix::fs::MetadataExt::ino(&fs::metadata(folder.path().join(name)).unwrap());
    let before = [inode(LARGE_FILE), inode("small-00004")];
    let measured = prepare_in(folder.path(), &spec()).unwrap().run(&AtomicBool::new(false)).unwrap();
    assert!(measured.report.facts["files"].starts_with("of the image"));
    assert_eq!([inode(LARGE_FILE), inode("small-00004")], before);
}

#[test]
fn files_of_another_image_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    prepare_in(folder.path(), &spec()).unwrap();
    let refused = |spec: &CopyUpWorkload| prepare_in(folder.path(), spec).err().unwrap().to_string();
    let more = refused(&CopyUpWorkload { files: 6, ..spec() });
    assert!(more.contains("there is no `small-00005` beside `large`"), "{more}");
    let larger = refused(&CopyUpWorkload { size: Bytes(2 << 20), ..spec() });
    assert!(larger.contains("`large` has 1048576 bytes and should have 2097152"), "{larger}");
    // A small one's size is seen with its first look-up only.
    let other = CopyUpWorkload { file_size: Bytes(301), ..spec() };
    let measured = prepare_in(folder.path(), &other).unwrap().run(&AtomicBool::new(false)).unwrap();
    assert!(measured.report.error.unwrap().contains("has 300 bytes and should have 301"));
    assert!(measured.metrics.is_empty());
}

#[test]
fn without_small_files_their_figures_are_absent_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let none = CopyUpWorkload { files: 0, ..spec() };
    let measured = prepare_in(folder.path(), &none).unwrap().run(&AtomicBool::new(false)).unwrap();
    assert_eq!(measured.report.absent["open_time"], "`workload.files` is 0");
    assert!(measured.metrics.contains_key("copy_up_time") && !measured.metrics.contains_key("stat_time"));
}

#[test]
fn it_stops_between_touches() {
    let folder = tempfile::tempdir().unwrap();
    let measured = prepare_in(folder.path(), &spec()).unwrap().run(&AtomicBool::new(true)).unwrap();
    assert!(measured.interrupted && measured.metrics.is_empty() && measured.report.error.is_none());
}

#[test]
fn the_two_writes_are_aligned_and_apart() {
    let folder = tempfile::tempdir().unwrap();
    let prepared = |size, write| PreparedTouches {
        spec: CopyUpWorkload { size: Bytes(size), write: Bytes(write), ..spec() },
        directory: folder.path().to_owned(),
        origin: Origin::LaidOut,
        seed: 0,
    };
    for seed in 0..50 {
        let [first, second] = prepared(10_000, 3000).offsets(&mut Noise::new(seed));
        assert!(first != second && first % 3000 == 0 && first.max(second) <= 6000, "{first} {second}");
    }
    assert_eq!(prepared(3000, 3000).offsets(&mut Noise::new(1)), [0, 0]);
}

#[test]
fn what_moved_is_told_by_the_places_of_the_bytes() {
    let extent = FileExtent::at;
    let before = [extent(0, 100_000, 8192), extent(8192, 500_000, 8192)];
    assert_eq!(Moved::between(&before, &before).elsewhere_bytes, 0);
    // Joined or cut otherwise, but in the same place.
    let cut = [extent(0, 100_000, 4096), extent(4096, 104_096, 4096), extent(8192, 500_000, 8192)];
    assert_eq!(Moved::between(&before, &cut).elsewhere_bytes, 0);
    let rewritten = [extent(0, 100_000, 4096), extent(4096, 900_000, 4096), extent(8192, 500_000, 8192)];
    assert_eq!(Moved::between(&before, &rewritten).elsewhere_bytes, 4096);
    let copied = [extent(0, 2_000_000, 16_384)];
    assert_eq!(
        Moved::between(&before, &copied),
        Moved { elsewhere_bytes: 16_384, shared_bytes: 0, bytes: 16_384 }
    );
}
