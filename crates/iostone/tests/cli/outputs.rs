//! Output files of every command: what iostone did not make is kept, unless its name is typed twice.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use crate::support::{Bench, Said};

/// The text of somebody else's file.
const THESIS: &str = "years of work";

/// A command with an output file: its words, the option that names the output, the one that names it again, and what stands
/// behind them.
struct Writer {
    words: &'static [&'static str],
    output: &'static str,
    again: &'static str,
    rest: &'static [&'static str],
}

const IO: &[&str] = &["io", "--filename=load", "--rw=write", "--size=64KiB", "--eta=never"];
const WRITERS: [Writer; 9] = [
    Writer { words: &["casebook", "raid0"], output: "--output", again: "--overwrite", rest: &[] },
    Writer { words: &["catalog", "export"], output: "-o", again: "--overwrite", rest: &[] },
    Writer { words: &["report"], output: "-o", again: "--overwrite", rest: &[] },
    Writer { words: &["report", "--format", "html"], output: "--output", again: "--overwrite", rest: &[] },
    Writer { words: &["export"], output: "--output", again: "--overwrite", rest: &[] },
    Writer {
        words: &["predict", "--instance=c4.large", "--volume=gp2:220GiB", "--write=220GiB"],
        output: "--html",
        again: "--overwrite",
        rest: &[],
    },
    Writer {
        words: &["recommend", "--write=220GiB", "--within=25min", "--date=2017-07"],
        output: "--html",
        again: "--overwrite",
        rest: &[],
    },
    Writer {
        words: &["limit", "none", "--json"],
        output: "--output",
        again: "--overwrite",
        rest: &["--", "true"],
    },
    Writer { words: IO, output: "--output", again: "--destroy", rest: &[] },
];

impl Writer {
    fn run(&self, bench: &Bench, output: &str, again: Option<&str>) -> Said {
        let again: Vec<&str> = again.into_iter().flat_map(|name| [self.again, name]).collect();
        bench.iostone(&[self.words, &[self.output, output], &again, self.rest].concat())
    }
}

/// A bench with an import that can be reported and exported.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("figures.csv", "level,block,iops\na,1,10\nb,1,20\na,2,11\nb,2,21\n");
    bench.iostone(&["import", "csv", "figures.csv"]).ended_with(0);
    bench
}

fn read(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.path(name)).unwrap()
}

/// Writes a file until its modification time is another one.
fn edit(path: &Path, text: &str) {
    let before = fs::metadata(path).unwrap().modified().unwrap();
    while fs::metadata(path).unwrap().modified().unwrap() == before {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_foreign_file_keeps_every_byte_until_its_name_is_typed_twice() {
    let bench = bench();
    for writer in &WRITERS {
        let _ = fs::remove_file(bench.path("thesis"));
        bench.write("thesis", THESIS);
        let _ = fs::remove_file(bench.path("link"));
        symlink("thesis", bench.path("link")).unwrap();
        for name in ["thesis", "link"] {
            let said = writer.run(&bench, name, None).ended_with(3);
            said.complains_of(&format!(
                "`{name}` (a file of 13 bytes) is refused: iostone did not create it"
            ));
            said.complains_of(&format!("`{} {name}` if its content is not needed", writer.again));
            assert_eq!(said.stdout, "");
        }
        let other = writer.run(&bench, "thesis", Some("elsewhere")).ended_with(2);
        other.complains_of(&format!("`{} elsewhere` is no", writer.again));
        assert_eq!(read(&bench, "thesis"), THESIS);
        writer.run(&bench, "thesis", Some("thesis")).ended_with(0);
        assert_ne!(read(&bench, "thesis"), THESIS);
        // From now on it is iostone's.
        writer.run(&bench, "link", None).ended_with(0);
    }
    assert!(bench.path("link").is_symlink());
}

#[test]
fn our_own_file_is_replaced_until_somebody_edits_it() {
    let bench = bench();
    for (number, writer) in WRITERS.iter().enumerate() {
        let name = format!("output-{number}");
        for _ in 0..2 {
            writer.run(&bench, &name, None).ended_with(0);
            assert!(!read(&bench, &name).is_empty());
        }
        let edited = format!("{}\nmy remarks\n", read(&bench, &name));
        edit(&bench.path(&name), &edited);
        writer.run(&bench, &name, None).ended_with(3).complains_of("was changed since iostone wrote it");
        assert_eq!(read(&bench, &name), edited);
        // As mktemp(1) makes them.
        bench.write("empty", "");
        writer.run(&bench, "empty", None).ended_with(0);
        assert!(!read(&bench, "empty").is_empty());
        fs::remove_file(bench.path("empty")).unwrap();
    }
}

#[test]
fn streams_are_written_to_as_by_a_redirection() {
    let bench = bench();
    let fifo = bench.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for writer in &WRITERS {
        writer.run(&bench, "/dev/null", None).ended_with(0);
        assert_ne!(writer.run(&bench, "/dev/stdout", None).ended_with(0).stdout, "");
        let reader = thread::spawn({
            let fifo = fifo.clone();
            move || fs::read_to_string(fifo).unwrap()
        });
        writer.run(&bench, "fifo", None).ended_with(0);
        assert_ne!(reader.join().unwrap(), "");
    }
}

#[test]
fn standard_output_that_is_a_file_is_not_begun_anew() {
    let bench = bench();
    bench.write("log", "before\n");
    let log = fs::OpenOptions::new().append(true).open(bench.path("log")).unwrap();
    let mut command = bench.command(&["export", "--output", "/dev/stdout"]);
    assert!(command.stdout(log).status().unwrap().success());
    let text = read(&bench, "log");
    assert!(text.starts_with("before\n") && text.len() > 20, "{text}");
}

#[test]
fn directories_are_usage_errors_and_leave_nothing() {
    let bench = bench();
    // The index is made by whoever looks first.
    bench.iostone(&["list"]).ended_with(0);
    let before = bench.names();
    for writer in &WRITERS {
        writer.run(&bench, "runs", None).ended_with(2).complains_of("Is a directory");
        writer.run(&bench, "missing/output", None).ended_with(2).complains_of("`missing/output`");
    }
    assert_eq!(bench.names(), before);
}

#[test]
fn a_command_that_fails_leaves_no_empty_output() {
    let bench = Bench::new();
    bench.iostone(&["report", "no-such-run", "-o", "report.txt"]).ended_with(2);
    bench.iostone(&["limit", "none", "--output", "told", "--", "no-such-program"]).ended_with(127);
    bench.iostone(&["io", "--filename=/dev/no-such", "--rw=read", "--output", "told"]).ended_with(2);
    assert!(bench.names().iter().all(|name| !["report.txt", "told"].contains(&name.as_str())));
    bench
        .iostone(&["casebook", "--overwrite", "x"])
        .ended_with(2)
        .complains_of("`--overwrite x` needs an output file; none is named");
}

/// Two jobs, and logs of all kinds.
const LOGGED: [&str; 10] = [
    "io",
    "--filename=load",
    "--rw=write",
    "--size=64KiB",
    "--numjobs=2",
    "--write_bw_log=log",
    "--write_iops_log=log",
    "--write_lat_log=log",
    "--log_avg_msec=100",
    "--eta=never",
];

#[test]
fn logs_are_refused_before_the_load_and_written_again_over_our_own() {
    let bench = Bench::new();
    for _ in 0..2 {
        bench.iostone(&LOGGED).ended_with(0);
    }
    assert_eq!(bench.names().iter().filter(|name| name.starts_with("log_")).count(), 10);
    edit(&bench.path("log_clat.2.log"), THESIS);
    let load = fs::metadata(bench.path("load")).unwrap().modified().unwrap();
    let said = bench.iostone(&LOGGED).ended_with(3);
    said.complains_of("`--destroy log_clat.2.log` if its content is not needed");
    assert_eq!(read(&bench, "log_clat.2.log"), THESIS);
    assert_eq!(fs::metadata(bench.path("load")).unwrap().modified().unwrap(), load, "nothing was run");
    bench.iostone(&[&LOGGED[..], &["--destroy", "log_clat.2.log"]].concat()).ended_with(0);
    assert_ne!(read(&bench, "log_clat.2.log"), THESIS);
    bench.iostone(&LOGGED).ended_with(0);
    let unknown = bench.iostone(&[&LOGGED[..], &["--destroy", "log_clat.3.log"]].concat()).ended_with(2);
    unknown.complains_of("`--destroy log_clat.3.log` is no file of this load");
}

#[test]
fn shared_logs_are_appended_to_our_own_and_to_no_foreign_file() {
    let bench = Bench::new();
    let shared = [&LOGGED[..], &["--per_job_logs=0"]].concat();
    bench.iostone(&shared).ended_with(0);
    let once = read(&bench, "log_bw.log").lines().count();
    assert!(once >= 2, "both jobs'");
    bench.iostone(&shared).ended_with(0);
    assert!(read(&bench, "log_bw.log").lines().count() > once);
    edit(&bench.path("log_bw.log"), "mine\n");
    bench.iostone(&shared).ended_with(3).complains_of("`--destroy log_bw.log` if the output may be appended");
    assert_eq!(read(&bench, "log_bw.log"), "mine\n");
    bench.iostone(&[&shared[..], &["--destroy", "log_bw.log"]].concat()).ended_with(0);
    assert!(read(&bench, "log_bw.log").starts_with("mine\n"));
}

#[test]
fn figures_are_printed_where_their_file_was_written_to_meanwhile() {
    let bench = Bench::new();
    let arguments = [IO, &["--time_based", "--runtime", "2s", "--output", "figures"]].concat();
    let said = loop {
        let mut command = bench.command(&arguments);
        let mut child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The output is opened before the load begins.
        while !bench.path("figures").exists() {
            thread::sleep(std::time::Duration::from_millis(5));
        }
        bench.write("figures", "notes");
        // Where this test came to it too late, nothing was written to meanwhile.
        let is_over = child.try_wait().unwrap().is_some();
        let said = Said::from(child.wait_with_output().unwrap());
        if !is_over {
            break said.ended_with(3);
        }
        fs::remove_file(bench.path("figures")).unwrap();
    };
    said.complains_of("another process wrote to it while iostone was running");
    assert!(said.stdout.contains("write"), "{}", said.stdout);
    assert_eq!(fs::read_to_string(bench.path("figures")).unwrap(), "notes");
    // One file cannot be both.
    bench.iostone(&[IO, &["--output", "load"]].concat()).ended_with(2).complains_of("named twice");
}
