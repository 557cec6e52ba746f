//! The cache holds kernels that are complete, and no others.

use super::*;

fn keep(cache: &Cache, release: &str) -> CachedKernel {
    let lock = cache.lock(&mut |_| {}, &AtomicBool::new(false)).unwrap();
    let workshop = cache.workshop(&lock, release).unwrap();
    let made = workshop.directory.join("made");
    std::fs::create_dir_all(made.join("modules")).unwrap();
    std::fs::write(made.join("vmlinuz"), release).unwrap();
    let kernel = CachedKernel {
        release: release.to_owned(),
        package: format!("linux-image-{release}"),
        version: "1".to_owned(),
        suite: "stable".to_owned(),
        sha256: digest_of(&made.join("vmlinuz")).unwrap(),
        archives: Vec::new(),
    };
    cache.keep(&lock, &workshop, &made, &kernel).unwrap();
    kernel
}

#[test]
fn a_kernel_is_there_until_it_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    assert_eq!(cache.kernels(), []);
    let kernel = keep(&cache, "6.1-a");
    keep(&cache, "6.1-a");
    assert_eq!(cache.kernels(), std::slice::from_ref(&kernel));
    let found = cache.verified(&kernel).unwrap();
    assert_eq!(found.source, "Debian linux-image-6.1-a 1");
    assert!(found.image.is_file());
    let lock = cache.lock(&mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert!(cache.remove(&lock, "6.1-a").unwrap());
    assert!(!cache.remove(&lock, "6.1-a").unwrap());
    assert!(!cache.remove(&lock, "../kernels").unwrap());
    assert_eq!(cache.kernels(), []);
}

#[test]
fn a_damaged_image_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    let kernel = keep(&cache, "6.1-a");
    std::fs::write(cache.directory_of("6.1-a").join("vmlinuz"), "damaged").unwrap();
    assert_eq!(cache.verified(&kernel), None);
}

#[test]
fn what_an_ended_process_left_is_removed_and_never_listed() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    let left = directory.path().join("kernels/.making-6.1-b");
    std::fs::create_dir_all(&left).unwrap();
    assert_eq!(cache.kernels(), []);
    drop(cache.lock(&mut |_| {}, &AtomicBool::new(false)).unwrap());
    assert!(!left.exists());
}

#[test]
fn a_second_process_waits_and_can_be_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    let _held = cache.lock(&mut |_| {}, &AtomicBool::new(false)).unwrap();
    let stop = AtomicBool::new(true);
    assert!(matches!(cache.lock(&mut |_| {}, &stop), Err(GuestError::Interrupted)));
}

#[test]
fn the_place_follows_the_user() {
    let known = |name: &str| match name {
        "HOME" => Some(PathBuf::from("/home/u")),
        "XDG_CACHE_HOME" => Some(PathBuf::from("relative")),
        _ => None,
    };
    assert_eq!(place(known, false).unwrap(), Path::new("/home/u/.cache/iostone"));
    assert_eq!(place(known, true).unwrap(), Path::new(OF_ROOT));
    let own = |name: &str| (name == VARIABLE).then(|| PathBuf::from("/elsewhere"));
    assert_eq!(place(own, true).unwrap(), Path::new("/elsewhere"));
    assert!(place(|_| None, false).unwrap_err().to_string().contains(VARIABLE));
}
