//! What a command has before its clock runs, through the binary: files beside the experiment file, programs, failures.

use crate::lab::{Lab, words};

/// Two levels of a command in a directory; needs no root.
fn experiment(workload: &str) -> String {
    format!(
        "name = \"prepared\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"word\"\n\
         levels = {{ a = {{ workload.env.WORD = \"a\" }}, b = {{ workload.env.WORD = \"b\" }} }}\n\
         [workload]\nkind = \"command\"\n{workload}\n[decide]\nmetric = \"wall_time\"\nbaseline = \"a\"\n\
         [trials]\nsettle = \"20ms\"\n[gates]\nsteal = \"off\"\nidle = \"off\"\nthrottling = \"off\"\n"
    )
}

#[test]
fn every_trial_finds_what_was_prepared_and_nothing_of_the_one_before() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path().join("sources")).unwrap();
    lab.write("sources/words.txt", "beside the experiment\n");
    let workload = "files = [\"sources/words.txt\"]\n\
                    prepare = [[\"sh\", \"-c\", \"test ! -e made && echo $WORD >made\"]]\n\
                    argv = [\"cat\", \"words.txt\", \"made\"]";
    let file = lab.write("experiment.toml", &experiment(workload));
    // From elsewhere: files are named from the experiment file, not from where one happens to be.
    let output = lab.iostone(&["run", &file, "--quick"]).current_dir("/").output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    lab.assert_nothing_left();
    let record = lab.record();
    for trial in record["trials"].as_array().unwrap() {
        let raw =
            lab.the_run().join(format!("trials/{:06}/raw/stdout.txt", trial["number"].as_u64().unwrap()));
        let level = trial["configuration"].as_str().unwrap();
        assert_eq!(std::fs::read_to_string(raw).unwrap(), format!("beside the experiment\n{level}\n"));
    }
}

#[test]
fn a_file_that_is_missing_is_named_before_anything_is_done() {
    let lab = Lab::new();
    let file = lab.write("experiment.toml", &experiment("files = [\"missing.tar.gz\"]\nargv = [\"true\"]"));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("missing.tar.gz`, which `workload.files` names"), "{}", words(&output));
    assert!(!lab.runs().exists(), "a run was begun");
}

#[test]
fn a_preparation_that_fails_says_what_it_complained_of() {
    let lab = Lab::new();
    let workload = "prepare = [[\"sh\", \"-c\", \"echo no such luck >&2; exit 3\"]]\nargv = [\"true\"]";
    let file = lab.write("experiment.toml", &experiment(workload));
    let output = lab.iostone(&["run", &file, "--quick"]).output().unwrap();
    assert!(!output.status.success());
    let said = words(&output);
    assert!(
        said.contains(
            "before the measurement: `workload.prepare`: `sh` ended with status 3, saying: no such luck"
        ),
        "{said}"
    );
    lab.assert_nothing_left();
}

#[test]
fn a_dry_run_tells_what_is_copied_and_run_before_the_clock() {
    let lab = Lab::new();
    lab.write("words.txt", "words\n");
    let workload =
        "files = [\"words.txt\"]\nprepare = [[\"cp\", \"words.txt\", \"a copy\"]]\nargv = [\"true\"]";
    let file = lab.write("experiment.toml", &experiment(workload));
    let output = lab.iostone(&["run", &file, "--dry-run"]).output().unwrap();
    let said = words(&output);
    assert!(
        said.contains("untimed, outside all limits: copy /")
            && said.contains("words.txt there; run cp words.txt"),
        "{said}"
    );
}
