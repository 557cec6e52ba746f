//! Several files as one dataset: conditions from names, failures that stop nothing, what is no file.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostone_model::dataset::{Observation, Order};
use iostone_model::metric::Unit;
use iostone_tools::detect::tool;
use iostone_tools::import::{Import, ImportOptions, add_factors, import};

const TABLE: &str = "place,throughput_mb_s\nhost,61.7\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// What is said of a file, without the folder.
    fn failure(&self, path: &Path) -> String {
        let import = import(&[path.to_owned()], &ImportOptions::default());
        assert!(import.kept.is_empty() && import.dataset.observations.is_empty());
        let [failure] = import.failures.as_slice() else { panic!("{:?}", import.failures) };
        failure.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn by(pattern: &str) -> ImportOptions {
    ImportOptions { by: Some(pattern.parse().unwrap()), name: "test".to_owned(), ..ImportOptions::default() }
}

fn failures(import: &Import) -> Vec<String> {
    import.failures.iter().map(ToString::to_string).collect()
}

#[test]
fn conditions_come_from_names_and_become_factors_where_they_vary() {
    let folder = Folder::new();
    let files: Vec<PathBuf> =
        ["alpha-on-1.csv", "alpha-on-2.csv", "alpha-off-1.csv"].map(|name| folder.file(name, TABLE)).to_vec();
    let import = import(&files, &by("{machine}-{barrier}-{run}.csv"));
    assert_eq!(failures(&import), Vec::<String>::new());
    assert_eq!(import.dataset.factors, ["barrier"]);
    assert_eq!(import.dataset.values_of("machine"), ["alpha"]);
    assert_eq!(import.dataset.order, Order::Unknown);
    assert_eq!(import.dataset.unit_of("throughput"), Unit::BytesPerSecond);
    let places: Vec<String> = import.dataset.observations.iter().map(Observation::place).collect();
    assert_eq!(places, ["alpha-on-1.csv, line 2", "alpha-on-2.csv, line 2", "alpha-off-1.csv, line 2"]);
    let runs: Vec<_> = import.dataset.observations.iter().map(|one| one.run.as_deref()).collect();
    assert_eq!(runs, [Some("1"), Some("2"), Some("1")]);
    assert_eq!(import.dataset.observations[2].labels["barrier"], "off");
}

#[test]
fn blocks_in_every_name_make_randomised_blocks() {
    let folder = Folder::new();
    let files = [folder.file("on-1.csv", TABLE), folder.file("off-1.csv", TABLE)];
    assert_eq!(import(&files, &by("{condition}-{block}.csv")).dataset.order, Order::RandomisedBlocks);
    let table = "block,condition,ms\n1,a,5.5\n1,b,6.5\n2,b,6.4\n2,a,5.6\n";
    let files = [folder.file("table.csv", table)];
    assert_eq!(import(&files, &ImportOptions::default()).dataset.order, Order::RandomisedBlocks);
}

#[test]
fn files_of_one_name_are_told_apart_and_known_by_their_digest() {
    let folder = Folder::new();
    let files =
        [folder.file("a/log.csv", TABLE), folder.file("b/log.csv", TABLE), folder.file("b/log-2.csv", TABLE)];
    let import = import(&files, &by("{side}/{_}.csv"));
    let names: Vec<&str> = import.dataset.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["log.csv", "log-2.csv", "log-2-2.csv"]);
    assert!(import.kept.iter().map(|kept| kept.name.as_str()).eq(names));
    assert!(import.kept.iter().map(|kept| &kept.path).eq(&files));
    assert_eq!(import.dataset.values_of("side"), ["a", "b"]);
    let file = &import.dataset.files[0];
    assert_eq!((file.tool.as_str(), file.bytes), ("csv", TABLE.len() as u64));
    // Of coreutils' sha256sum.
    let sum = Command::new("sha256sum").arg(&files[0]).output().unwrap();
    assert!(String::from_utf8(sum.stdout).unwrap().starts_with(&file.sha256));
}

#[test]
fn a_malformed_file_contributes_nothing_and_the_others_go_on() {
    let folder = Folder::new();
    let bad = folder.file("bad.csv", "place,throughput_mb_s\nhost,61.7\nlayer,fast\n");
    let files = [folder.file("a.csv", TABLE), bad.clone(), folder.file("z.csv", TABLE)];
    let import = import(&files, &ImportOptions::default());
    assert_eq!(import.dataset.observations.len(), 2);
    assert_eq!(import.dataset.files.len(), 2);
    let expected = "line 3: expected a number, in column `throughput_mb_s`, found `fast`";
    assert_eq!(failures(&import), [format!("`{}`, {expected}", bad.display())]);
}

#[test]
fn a_figure_in_another_unit_is_not_mixed_in() {
    let folder = Folder::new();
    let files = [folder.file("a.csv", "mode,x_s\na,1.5\n"), folder.file("b.csv", "mode,x_mb_s\na,1.5\n")];
    let import = import(&files, &ImportOptions::default());
    assert_eq!(import.dataset.observations.len(), 1);
    assert!(failures(&import)[0].ends_with(
        "its figure `x` is counted in bytes a second, but in `a.csv` in seconds; import the two apart"
    ));
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = Folder::new();
    assert_eq!(
        folder.failure(&folder.path("none.log")),
        "`none.log`: it cannot be opened: No such file or directory (os error 2)"
    );
    fs::create_dir(folder.path("folder")).unwrap();
    assert_eq!(folder.failure(&folder.path("folder")), "`folder`: it is a folder; name the files in it");
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(
        folder
            .failure(&pipe)
            .starts_with("`pipe`: it is a pipe, not a file; save its output to a file first")
    );
    let socket = folder.path("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert!(folder.failure(&socket).contains("it is a socket"));
    assert!(folder.failure(Path::new("/dev/zero")).contains("it is a device"));
    let empty = folder.file("empty.log", "");
    assert_eq!(folder.failure(&empty), "`empty.log`: it is empty");
}

#[test]
fn what_cannot_be_meant_is_said() {
    let folder = Folder::new();
    let file = folder.file("on.csv", TABLE);
    let twice = import(&[file.clone(), folder.path("./on.csv")], &ImportOptions::default());
    assert!(failures(&twice)[0].ends_with("on.csv`: it was given twice"));
    assert_eq!(twice.dataset.observations.len(), 1);
    let unlike = import(std::slice::from_ref(&file), &by("{condition}-{run}.csv"));
    assert!(
        failures(&unlike)[0]
            .ends_with("its name `on.csv` does not match the pattern `{condition}-{run}.csv`")
    );
    let mut dataset = import(std::slice::from_ref(&file), &ImportOptions::default()).dataset;
    let unknown = add_factors(&mut dataset, &["plcae".to_owned()]).unwrap_err();
    assert_eq!(unknown.to_string(), "no observation has a label `plcae`; did you mean `place`?");
    add_factors(&mut dataset, &["place".to_owned()]).unwrap();
    assert_eq!(dataset.factors, ["place"]);
}

#[test]
fn a_named_tool_is_taken_at_its_word() {
    let folder = Folder::new();
    let file = folder.file("alone.txt", "throughput_mb_s\n61.7\n");
    assert!(folder.failure(&file).contains("no tool is known whose output begins with `throughput_mb_s`"));
    let options = ImportOptions { tool: Some(tool("csv").unwrap()), ..ImportOptions::default() };
    assert_eq!(import(&[file], &options).dataset.observations.len(), 1);
}

#[test]
fn the_files_of_one_orion_test_become_one_observation_a_point() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/orion");
    let alone = |file: &str| {
        let import = import(&[fixtures.join(file)], &ImportOptions::default());
        assert_eq!(failures(&import), Vec::<String>::new());
        import.dataset
    };
    assert_eq!(alone("11.1_lat.csv").unit_of("latency_unsettled"), Unit::Plain);
    let points = alone("11.1_iops.csv").observations.len();
    let files = ["11.1_iops.csv", "11.1_lat.csv", "11.1_summary.txt"].map(|file| fixtures.join(file));
    let dataset = import(&files, &ImportOptions::default()).dataset;
    let both = dataset
        .observations
        .iter()
        .filter(|one| one.figures.contains_key("iops") && one.figures.contains_key("latency_mean"));
    assert!(both.count() >= points - 1);
    assert_eq!(dataset.unit_of("latency_mean"), Unit::Seconds);
    assert!(!dataset.metrics.contains_key("latency_unsettled"));
}
