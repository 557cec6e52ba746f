//! Figures picked from what a command prints, through the binary: in base units, or a sentence of what is missing.

use crate::lab::{Lab, needs_root};
use crate::tools::{experiment, figure, raw, refused, rehearsed};

#[test]
fn a_figure_is_picked_by_expression_or_pointer_and_decided_by() {
    needs_root!();
    let lab = Lab::new();
    let workload = r#"kind = "command"
argv = ["sh", "-c", "echo '{ \"mean\": 12.5 }'; echo 'rate 1 MiB/s' >&2; echo 'rate 3 MiB/s' >&2"]
[workload.metrics.rate]
regex = 'rate ([0-9.]+) MiB/s'
from = "stderr"
unit = "MiB/s"
better = "higher"
[workload.metrics.mean]
pointer = "/mean"
unit = "ms"
better = "lower""#;
    for trial in rehearsed(&lab, &experiment("small-picked", "rate", workload)) {
        assert!((figure(&trial, "rate") - 3.0 * 1_048_576.0).abs() < 1e-6);
        assert!((figure(&trial, "mean") - 0.0125).abs() < 1e-12);
        assert!(figure(&trial, "wall_time") > 0.0);
        assert!(raw(&lab, &trial, "stderr.txt").ends_with("rate 3 MiB/s\n"));
    }
}

#[test]
fn a_figure_that_is_not_printed_fails_the_run_with_what_was_printed() {
    needs_root!();
    let lab = Lab::new();
    let workload = r#"kind = "command"
argv = ["echo", "nothing of interest"]
metrics = { rate = { regex = 'rate ([0-9.]+)', better = "higher" } }"#;
    let said = refused(&lab, &experiment("missing-picked", "rate", workload), 1);
    assert!(said.contains("`rate ([0-9.]+)` matches nothing on standard output"), "{said}");
    assert!(said.contains("nothing of interest"), "{said}");
}
