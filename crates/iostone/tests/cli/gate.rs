//! `gate`: its three answers, its exit codes and its comment for a pull request.

use std::fs;

use crate::support::Bench;

#[test]
fn a_gate_says_worse_only_of_what_is_slower_and_proves_the_rest() {
    let bench = Bench::new();
    bench.write("old.sh", "sleep 0.05\n");
    bench.write("new.sh", "sleep 0.15\n");
    let slower = bench.iostone(&["gate", "sh old.sh", "sh new.sh", "--format", "markdown"]).ended_with(1);
    assert!(slower.stdout.starts_with("### ❌ compare-"), "{slower:?}");
    assert!(
        slower.stdout.contains("sh new.sh is worse than sh old.sh: its elapsed time is at least"),
        "{slower:?}"
    );
    assert!(slower.stdout.contains("| worse |") && slower.stdout.contains("</details>"), "{slower:?}");
    let again = bench.iostone(&["gate", "--run", "latest"]).ended_with(1);
    assert!(again.stdout.starts_with("Gate: worse\n\nsh new.sh is worse than"), "{again:?}");

    let faster = bench.iostone(&["gate", "sh new.sh", "sh old.sh", "--json"]).ended_with(0);
    let comparison = &faster.json()["comparisons"][0];
    // Six, unless chance has the same one run first so often that the order could have made it.
    assert!(
        comparison["gate"] == "not-worse" && comparison["blocks"].as_u64().unwrap() <= 12,
        "{comparison}"
    );
    let same = ["gate", "sh old.sh", "sh ./old.sh", "--name", "old", "--name", "new", "--margin", "50%"];
    let said =
        bench.iostone(&[&same[..], &["--output", "gate.md", "--format", "markdown"]].concat()).ended_with(0);
    assert!(said.stdout.is_empty() && said.stderr.contains("wrote gate.md"), "{said:?}");
    let comment = fs::read_to_string(bench.path("gate.md")).unwrap();
    assert!(comment.contains("new is not worse than old by the 50 % that matter"), "{comment}");
    bench.assert_undone();
}

#[test]
fn a_gate_that_cannot_tell_says_what_could_hide_and_what_it_would_take() {
    let bench = Bench::new();
    // Nine in ten of the time is noise of the command's own.
    bench.write("noisy.sh", "sleep 0.0$(($(od -An -N1 -tu1 /dev/urandom) % 9 + 1))\n");
    let line = ["gate", "sh noisy.sh", "sh ./noisy.sh", "--name", "old", "--name", "new", "--margin", "0.5%"];
    let said = bench.iostone(&[&line[..], &["--set", "decide.blocks.max=8"]].concat()).ended_with(5);
    assert!(said.stdout.starts_with("Gate: cannot tell\nAt this noise about "), "{said:?}");
    assert!(said.stdout.contains("and 0.5 % matter"), "{said:?}");
    assert!(said.stdout.contains(", more than the 8 that it may take"), "{said:?}");
}

#[test]
fn a_gate_that_fails_leaves_no_earlier_answer_in_its_file() {
    let bench = Bench::new();
    let gate = |new: &str| {
        let line = ["gate", "sleep 0.01", new, "--format", "markdown", "-o", "gate.md", "--margin", "50%"];
        bench.iostone(&line)
    };
    gate("sleep 0.002").ended_with(0);
    assert!(fs::read_to_string(bench.path("gate.md")).unwrap().contains("not worse"));
    gate("false").ended_with(1);
    let text = fs::read_to_string(bench.path("gate.md")).unwrap();
    assert!(text.starts_with("### ❌ gate: failed\n") && !text.contains("not worse"), "{text}");
}

#[test]
fn what_is_no_gate_is_refused_before_anything_runs() {
    let bench = Bench::new();
    bench.iostone(&["new", "cpu-limit-sweep"]).ended_with(0);
    for (line, complaint) in [
        (&["gate"][..], "<EXPERIMENT | COMMAND>"),
        (&["gate", "missing.toml"], "missing.toml"),
        (&["gate", "true", "false", "--quick"], "a rehearsal claims none"),
        (&["gate", "a.toml", "--warmup", "2"], "are for two commands"),
        (&["gate", "true", "false", "--aa"], "measure noise"),
        (&["gate", "--run", "latest", "--margin", "5%"], "cannot be used with"),
        (&["gate", "cpu-limit-sweep.toml"], "a sweep has none"),
        (&["gate", "--run", "latest"], "no runs in"),
    ] {
        let said = bench.iostone(line).ended_with(2);
        assert!(said.stderr.contains(complaint), "{line:?}: {said:?}");
    }
    assert_eq!(bench.run_directories(), Vec::<std::path::PathBuf>::new());
    bench.write("a.sh", "sleep 0.01\n");
    bench.iostone(&["compare", "sh a.sh", "sleep 0.2"]).ended_with(0);
    bench.iostone(&["gate", "--run", "latest"]).ended_with(2).complains_of("was no gate");
}
