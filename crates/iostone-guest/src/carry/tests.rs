//! What goes in: programs with all they load, links as links, what stacks and workloads need.

use iostone_model::experiment::{Array, Ext4, Filesystem, LoopVolume, MdArray, MdLevel, Stack, Volume, Xfs};
use iostone_model::units::Bytes;

use super::*;

fn stack() -> Stack {
    Stack::of(Volume::Loop(LoopVolume::new(Bytes(1 << 20))))
}

#[test]
fn a_program_comes_with_its_interpreter_and_libraries() {
    let mut cargo = Cargo::new();
    cargo.program("dd").unwrap();
    let paths: Vec<&str> = cargo.archive.paths().collect();
    assert!(paths.iter().any(|path| path.ends_with("bin/dd")), "{paths:?}");
    if let Kind::Dynamic(interpreter) = kind_of(&locate::program("dd").unwrap()).unwrap() {
        let interpreter = interpreter.to_str().unwrap().trim_start_matches('/');
        let top = interpreter.split('/').next().unwrap();
        assert!(paths.contains(&top), "{top} of {paths:?}");
        assert!(paths.iter().any(|path| path.contains("libc.")), "{paths:?}");
    }
}

#[test]
fn links_on_the_way_stay_links() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("real")).unwrap();
    std::fs::write(root.join("real/data"), "x").unwrap();
    std::os::unix::fs::symlink("real", root.join("link")).unwrap();
    std::os::unix::fs::symlink("../link/data", root.join("real/again")).unwrap();
    let mut cargo = Cargo::new();
    cargo.carry(&root.join("link/again")).unwrap();
    let at = |path: &str| cargo.archive.get(root.join(path).to_str().unwrap());
    assert_eq!(at("link"), Some(&Member::Symlink("real".to_owned())));
    assert_eq!(at("real/again"), Some(&Member::Symlink("../link/data".to_owned())));
    assert!(matches!(at("real/data"), Some(Member::HostFile { .. })));
}

#[test]
fn a_link_to_itself_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink("link", &link).unwrap();
    assert!(Cargo::new().host_path(&link, Part::All).is_err());
}

#[test]
fn a_script_comes_with_what_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/usr/bin/env sh\necho\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut cargo = Cargo::new();
    cargo.carry(&script).unwrap();
    for program in ["bin/env", "bin/sh"] {
        assert!(cargo.archive.paths().any(|path| path.ends_with(program)), "{program}");
    }
}

#[test]
fn what_is_named_by_its_path_is_carried_whole_and_what_is_only_run_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    // A program and no program, as the mode says: data either way.
    let [program, data] = ["program", "data"].map(|name| directory.path().join(name));
    std::fs::copy(&own, &program).unwrap();
    std::fs::copy(&own, &data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o644)).unwrap();
    let whole = std::fs::read(&own).unwrap();
    // The kernel makes it up, and says that it is empty.
    let made_up = PathBuf::from("/proc/version");
    let needs = Needs { files: vec![program.clone(), data.clone(), made_up.clone()], ..Needs::default() };
    let mut cargo = Cargo::new();
    // What came before as something to run is whole as well, once it is named.
    cargo.iostone(&own).unwrap().program(program.to_str().unwrap()).unwrap().supplies(&needs).unwrap();
    let tar = directory.path().join("root.tar");
    cargo.write_tar(&tar).unwrap();
    let mut compared = 0;
    for member in tar::Archive::new(std::fs::File::open(&tar).unwrap()).entries().unwrap() {
        let mut member = member.unwrap();
        let inside = Path::new("/").join(member.path().unwrap());
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut member, &mut content).unwrap();
        if inside == program || inside == data {
            assert!(content == whole, "{} is {} bytes", inside.display(), content.len());
            compared += 1;
        } else if inside == made_up {
            assert_eq!(content, std::fs::read(&made_up).unwrap());
            compared += 1;
        } else if inside == Path::new(IOSTONE_PROGRAM) {
            assert!(content.len() < whole.len(), "{} of {} bytes", content.len(), whole.len());
            compared += 1;
        }
    }
    assert_eq!(compared, 4);
}

#[test]
fn a_missing_program_is_named_with_who_needs_it() {
    let needs = Needs {
        programs: vec![ProgramNeed { name: "no-such-program".to_owned(), by: "the array".to_owned() }],
        ..Needs::default()
    };
    let kernel = Kernel {
        image: PathBuf::from("/vmlinuz"),
        modules: None,
        release: "6.1".to_owned(),
        source: String::new(),
        sha256: String::new(),
    };
    let message = Cargo::new().needs(&needs, &kernel).unwrap_err().to_string();
    assert!(message.starts_with("the array needs `no-such-program`"), "{message}");
    let mut cargo = Cargo::new();
    cargo.needs(&Needs::default(), &kernel).unwrap();
    assert!(cargo.notes()[0].contains("no modules found for the kernel 6.1"));
}

#[test]
fn what_an_array_and_a_filesystem_need_is_told() {
    let level = MdArray { level: MdLevel::Raid5, chunk: None, metadata: None };
    let stack = Stack { array: Array::Md(level), filesystem: Filesystem::Xfs(Xfs::default()), ..stack() };
    let needs = needs_of(&stack, None);
    let modules: Vec<&str> = needs.modules.iter().map(|need| need.name.as_str()).collect();
    assert_eq!(modules, ["virtio_pci", "virtio_blk", "virtio_console", "loop", "md_mod", "raid456", "xfs"]);
    let programs: Vec<&str> = needs.programs.iter().map(|need| need.name.as_str()).collect();
    assert_eq!(programs, ["mdadm", "mkfs.xfs"]);
    assert_eq!(needs.modules[5].by, "the raid5 array");
    let ext4 = Stack { filesystem: Filesystem::Ext4(Ext4::default()), ..self::stack() };
    assert!(needs_of(&ext4, None).files.contains(&PathBuf::from("/etc/mke2fs.conf")));
}

#[test]
fn equal_cargo_makes_equal_archives() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let mut cargo = Cargo::new();
        cargo.iostone(&std::env::current_exe().unwrap()).unwrap().program("dd").unwrap();
        let path = directory.path().join(name);
        assert_eq!(cargo.write(&path).unwrap(), path.metadata().unwrap().len());
        std::fs::read(path).unwrap()
    };
    let one = write("one");
    assert!(one == write("two"), "the archives differ");
    assert_eq!(one.len() % 4, 0);
}

#[test]
fn a_program_that_is_laid_out_with_the_files_is_not_looked_for_elsewhere() {
    let workload = |argv: &str| {
        let text = format!(r#"{{"kind":"command","argv":["{argv}"],"files":["/srv/jobs/hello.sh"]}}"#);
        serde_json::from_str(&text).unwrap()
    };
    let needs = needs_of_container(&workload("./hello.sh"));
    assert_eq!((needs.programs.len(), needs.files.len()), (0, 1), "{needs:?}");
    assert_eq!(needs_of_container(&workload("./other.sh")).programs[0].name, "./other.sh");
    assert_eq!(needs_of_container(&workload("hello.sh")).programs[0].name, "hello.sh");
}
