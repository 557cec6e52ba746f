//! A `.lun` file and what it names are looked at as they are on the machine.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use iostone_model::orion::{LunKind, OrionTest};
use iostone_orion::lun::{LunError, check_sizes, lun_file_of, missing_luns, read_lun_file};

/// A directory with a test of that name, and files of 2 MiB.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(files: &[&str]) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        for name in files {
            File::create(place.path(name)).unwrap().set_len(2 << 20).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// Writes the `.lun` file, `@` being the directory, and gives the name of the test.
    fn test(&self, lines: &str) -> String {
        let text = lines.replace('@', self.directory.path().to_str().unwrap());
        fs::write(self.path("x.lun"), text).unwrap();
        self.path("x")
    }

    fn message(&self, lines: &str) -> String {
        let message = read_lun_file(&self.test(lines)).unwrap_err().to_string();
        message.replace(self.directory.path().to_str().unwrap(), "@")
    }
}

#[test]
fn files_are_read_in_their_order() {
    let place = Place::new(&["b", "a"]);
    let luns = read_lun_file(&place.test("@/b\r\n@/a")).unwrap();
    let names: Vec<String> = luns.iter().map(|lun| lun.name.clone()).collect();
    assert_eq!(names, [place.path("b"), place.path("a")]);
    assert!(luns.iter().all(|lun| lun.bytes == 2 << 20 && lun.kind == LunKind::File));
    assert_eq!(luns[0].to_record().name, luns[0].name);
    let test = |words: &str| {
        let words: Vec<String> = format!("-run advanced {words}").split(' ').map(str::to_owned).collect();
        OrionTest::parse(&words).unwrap()
    };
    let refused = |words: &str| check_sizes(&luns, &test(words)).map_err(|error| error.to_string());
    assert_eq!(refused("-size_large 2048"), Ok(()));
    let message = refused("-size_large 4096").unwrap_err();
    assert!(message.contains("has 2 MiB, less than one I/O of 4 MiB (`-size_large`)"), "{message}");
    // What no point does is not asked of a LUN.
    assert_eq!(refused("-size_large 4096 -matrix row -num_large 0"), Ok(()));
    let message = refused("-size_small 4096 -matrix row -num_large 0").unwrap_err();
    assert!(message.contains("(`-size_small`)") && !message.contains("-size_large"), "{message}");
}

#[test]
fn a_missing_list_is_named_with_the_option_that_looks_for_it() {
    let place = Place::new(&[]);
    let message = |name: &str| read_lun_file(name).unwrap_err().to_string();
    let name = place.path("x");
    assert!(
        message(&name).starts_with(&format!("there is no `{name}.lun`, which `-testname {name}` looks for"))
    );
    let doubled = message(&format!("{name}.lun"));
    assert_eq!(
        doubled,
        format!(
            "there is no `{name}.lun.lun`: `-testname` takes the name without `.lun`; say `-testname {name}`"
        )
    );
    fs::create_dir(lun_file_of(&name)).unwrap();
    assert!(message(&name).contains("is a directory"));
    fs::remove_dir(lun_file_of(&name)).unwrap();
    File::create(lun_file_of(&name)).unwrap().set_len(3 << 20).unwrap();
    assert!(matches!(read_lun_file(&name), Err(LunError::NoList { .. })));
}

#[test]
fn each_mistake_about_what_is_named_has_its_message() {
    let place = Place::new(&["a.data", "b.data"]);
    let says = |lines: &str, expected: &str| {
        let message = place.message(lines);
        assert!(message.contains(expected), "{message}\ndoes not say\n{expected}");
    };
    says("@/a.data\n@\n", "`@/x.lun` line 2: `@` is a directory; ORION takes files and block devices");
    says("@/a.data@/b.data\n", "line 1: `@/a.data` and `@/b.data` stand on one line: a newline is missing");
    says("@/a.data @/b.data\n", "stand on one line: a newline is missing between them, before `@/b.data`");
    says(
        "@/c.data\n",
        "there is no `@/c.data`; ORION takes files that exist and are filled: `iostone orion ... --create",
    );
    says("@/no/c.data\n", "there is no `@/no/c.data`, nor the directory `@/no`");
    says("/dev/iostone-none\n", "there is no device `/dev/iostone-none`; `lsblk --paths`");
    says("@/a.data \n", "there is no `@/a.data `, but there is `@/a.data`; write it without the blanks");
    says("'@/a.data'\n", "write it without the quotes");
    says("@/a.data/x\n", "nor the directory `@/a.data`");
    says("/dev/null\n", "`/dev/null` is a character device");
    says("@/a.data\n@/./a.data\n", "line 2: `@/./a.data` is the same as `@/a.data` of line 1");
    symlink(place.path("a.data"), place.path("link")).unwrap();
    says("@/link\n@/a.data\n", "is the same as `@/link` of line 1");
    fs::hard_link(place.path("b.data"), place.path("hard")).unwrap();
    says("@/b.data\n@/hard\n", "is the same as");
    symlink("nothing", place.path("dangling")).unwrap();
    says("@/dangling\n", "is a symbolic link to `nothing`, which does not exist");
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    says("@/socket\n", "is a socket");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.path("pipe").as_str(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    says("@/pipe\n", "is a named pipe");
    File::create(place.path("empty")).unwrap();
    says("@/empty\n", "`@/empty` is empty (0 bytes); remove it");
}

#[test]
fn what_may_not_be_read_is_said() {
    if rustix::process::geteuid().is_root() {
        eprintln!("skipped: root may read everything");
        return;
    }
    let place = Place::new(&["a"]);
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o000)).unwrap();
    assert!(place.message("@/a\n").contains("run as a user who may, or as root"));
}

#[test]
fn missing_files_are_listed_where_they_could_be_made() {
    let place = Place::new(&["a", "b"]);
    let test = place.test("@/a\n@/new\n@/no/new\n@/other\n@/new\n");
    assert_eq!(
        missing_luns(&test).unwrap(),
        [place.path("new"), place.path("other")].map(|name| Path::new(&name).to_owned())
    );
    assert!(missing_luns(&place.test("@/a\n@/b")).unwrap().is_empty());
    for slip in
        ["@/a@/b\n", "@/new \n", "~/new\n", "'@/a'\n", "@/n1 # x\n", "@/n6,n7\n", "\"n8\"\n", "@/n2@/n3\n"]
    {
        assert!(missing_luns(&place.test(slip)).is_err(), "{slip}");
    }
    assert!(missing_luns(&place.test("/dev/iostone-none\n")).is_err(), "no device is made");
}
