//! The same jobs in the installed fio and here: the same keys in the same order with the same types, and the figures
//! that do not depend on the machine's mood.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use iostone_fio::output::{Detail, LogFile, LogRequest, bin_of, logs_of, write_json, write_terse};

use super::cases::{Case, cases, logged_case};
use super::ordered::Ordered;

/// What fio 3.33 prints of every case is compared with what is printed here.
fn compare(compare: impl Fn(&Case, &Path) -> Option<()>) {
    for case in cases() {
        let folder = tempfile::tempdir().unwrap();
        if compare(&case, folder.path()).is_none() {
            eprintln!("skipped: needs fio 3.33");
            return;
        }
    }
}

/// The first line in which two lists differ.
fn assert_same_lines(name: &str, ours: &[String], theirs: &[String]) {
    let differs = ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs);
    let at = differs.unwrap_or(ours.len().min(theirs.len()));
    assert_eq!((ours.get(at), ours.len()), (theirs.get(at), theirs.len()), "{name}: ours and fio's differ");
}

/// Figures that a size-bound job has whatever the machine does.
const EXACT: [&str; 4] = ["io_bytes", "io_kbytes", "total_ios", "short_ios"];

#[test]
fn json_has_the_keys_the_order_and_the_types_of_fio() {
    compare(|case, folder| {
        let theirs = Ordered::read(&case.run_fio(folder, "json")?);
        let done = case.run(folder);
        let session = case.report(&done);
        let ours = Ordered::read(&write_json(&session, Detail::Json));
        assert_same_lines(case.name, &ours.shape(), &theirs.shape());
        let is_exact = case
            .arguments
            .iter()
            .all(|argument| !argument.contains("rw=rw") && !argument.contains("rw=randrw"))
            && !case.arguments.contains(&"--time_based");
        if is_exact {
            for direction in ["read", "write", "trim"] {
                for key in EXACT {
                    let path = format!("jobs/0/{direction}/{key}");
                    assert_eq!(ours.at(&path), theirs.at(&path), "{}: {path}", case.name);
                }
            }
        }
        for path in ["jobs/0/latency_depth", "jobs/0/latency_target", "jobs/0/error"] {
            assert_eq!(ours.at(path), theirs.at(path), "{}: {path}", case.name);
        }
        Some(())
    });
}

#[test]
fn json_plus_has_the_bins_of_fio() {
    compare(|case, folder| {
        let theirs = Ordered::read(&case.run_fio(folder, "json+")?);
        let done = case.run(folder);
        let session = case.report(&done);
        let ours = Ordered::read(&write_json(&session, Detail::JsonPlus));
        assert_same_lines(case.name, &ours.shape(), &theirs.shape());
        for document in [&ours, &theirs] {
            check_bins(document);
        }
        Some(())
    });
}

/// Bins wherever they are: ascending names that are bins of fio's, and counts that add up to `N`.
fn check_bins(node: &Ordered) {
    match node {
        Ordered::Array(nodes) => nodes.iter().for_each(check_bins),
        Ordered::Object(pairs) => {
            for (key, value) in pairs {
                if key == "bins" {
                    let Ordered::Object(bins) = value else { panic!() };
                    let names: Vec<u64> = bins.iter().map(|(name, _)| name.parse().unwrap()).collect();
                    assert!(
                        names.is_sorted() && names.iter().all(|name| bin_of(*name) == *name),
                        "{names:?}"
                    );
                    assert_eq!(value.numbers().iter().sum::<f64>(), node.at("N").number());
                } else {
                    check_bins(value);
                }
            }
        }
        _ => {}
    }
}

/// What a field of a terse line looks like.
fn kind_of(field: &str) -> String {
    let is_real = |text: &str| text.contains('.') && text.parse::<f64>().is_ok();
    let digits = |text: &str| text.split('.').nth(1).map_or(0, str::len);
    match (field.split_once('='), field.strip_suffix('%')) {
        (Some((percentile, _)), _) => format!("{percentile}=integer"),
        (None, Some(share)) if is_real(share) => format!("percent with {} digits", digits(share)),
        (None, None) if field.parse::<u64>().is_ok() => "integer".into(),
        (None, None) if is_real(field) => format!("real with {} digits", digits(field)),
        _ => format!("text {field}"),
    }
}

#[test]
fn terse_lines_have_the_fields_of_fio() {
    compare(|case, folder| {
        let theirs = case.run_fio(folder, "terse")?;
        let done = case.run(folder);
        let ours = write_terse(&case.report(&done));
        // fio says what a steady job did in a line of its own before.
        let theirs: Vec<&str> = theirs.lines().filter(|line| line.starts_with("3;")).collect();
        let ours: Vec<&str> = ours.lines().collect();
        assert_eq!(ours.len(), theirs.len(), "{}", case.name);
        for (ours, theirs) in ours.iter().zip(theirs) {
            let kinds = |line: &str| line.split(';').map(kind_of).collect::<Vec<_>>();
            assert_same_lines(case.name, &kinds(ours), &kinds(theirs));
        }
        Some(())
    });
}

/// What a line of a log looks like: numbers where they depend on the run.
fn form_of(line: &str) -> String {
    let fields: Vec<&str> = line.split(", ").collect();
    assert!(fields.iter().all(|field| field.parse::<u64>().is_ok()), "{line}");
    format!("{} fields, direction {}, then {}", fields.len(), fields[2], fields[3..].join(" "))
}

#[test]
fn logs_have_the_names_and_the_lines_of_fio() {
    let case = logged_case();
    let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    if case.run_fio(theirs.path(), "json").is_none() {
        eprintln!("skipped: needs fio 3.33");
        return;
    }
    let done = case.run(ours.path());
    let session = case.report(&done);
    let file = LogFile { prefix: "log".into(), window: Duration::from_millis(200) };
    for (number, reported) in (1..).zip(&session.jobs) {
        let request = LogRequest {
            bandwidth: Some(file.clone()),
            iops: Some(file.clone()),
            latency: Some(file.clone()),
            number,
            ..LogRequest::default()
        };
        for log in logs_of(&request, reported.outcome).unwrap() {
            fs::write(ours.path().join(log.path), log.lines).unwrap();
        }
    }
    let logs = |folder: &Path| -> BTreeMap<String, BTreeSet<String>> {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap().lines().map(form_of).collect())
        })
        .collect()
    };
    assert_eq!(logs(ours.path()), logs(theirs.path()));
    assert_eq!(logs(ours.path()).len(), 10);
}
