//! What is refused of an `orion` workload, and how that is said.

use crate::experiment::read;

fn complaints_on(stack: &str, workload: &str, metric: &str) -> String {
    let text = format!(
        "name = \"check\"\n[stack]\n{stack}\n[[factor]]\nname = \"share\"\n\
         levels = {{ a = {{ workload.write = 20 }}, b = {{ workload.write = 50 }} }}\n\
         [workload]\nkind = \"orion\"\n{workload}\n[decide]\nmetric = \"{metric}\"\nbaseline = \"a\"\n"
    );
    match read(&text, &[]) {
        Ok(_) => String::new(),
        Err(found) => found.iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; "),
    }
}

const EXT4: &str = "volume = { kind = \"loop\", size = \"64MiB\" }\nfilesystem = { kind = \"ext4\" }";
const BARE: &str = "volume = { kind = \"loop\", size = \"64MiB\" }";
const ADVANCED: &str = "run = \"advanced\"\nsize = \"16MiB\"";

fn complaints(workload: &str) -> String {
    complaints_on(EXT4, workload, "max_iops")
}

#[test]
fn a_test_by_keys_is_taken_with_every_figure_of_its_own() {
    for metric in ["max_iops", "curve", "latency_curve", "iops@1,0", "throughput@0,2", "latency_p99@5,0"] {
        assert_eq!(complaints_on(EXT4, ADVANCED, metric), "", "{metric}");
    }
    assert_eq!(complaints_on(BARE, "run = \"advanced\"", "curve"), "");
    assert!(complaints_on(EXT4, ADVANCED, "iops@6,0").contains("have no metric `iops@6,0`"));
    let throughput = complaints_on(EXT4, "run = \"oltp\"\nsize = \"16MiB\"", "max_throughput");
    assert_eq!(throughput, "`orion` workloads have no metric `max_throughput`");
}

#[test]
fn the_rules_of_the_command_line_hold_for_keys_and_for_levels() {
    let size = "size = \"16MiB\"";
    assert!(complaints(size).contains("ORION's load is missing"));
    assert!(complaints(&format!("{size}\nrun = \"simple\"")).contains("`-write` needs"));
    assert!(complaints(&format!("{size}\nrun = \"oltp\"\nsize_large = \"2MiB\"")).contains("`-size_large`"));
    let matrix = complaints(&format!("{ADVANCED}\nmatrix = \"row\""));
    assert!(matrix.contains("`-num_large` is needed with `-matrix row`"), "{matrix}");
    assert!(complaints(&format!("{ADVANCED}\nstripe = \"1MiB\"")).contains("`-simulate raid0`"));
    let both = complaints(&format!("{size}\narguments = \"-run advanced\""));
    assert!(both.contains("given twice"), "{both}");
    let none = complaints(&format!("{ADVANCED}\nmatrix = \"point\"\nnum_small = 0\nnum_large = 0"));
    assert!(none.contains("no point has a load"), "{none}");
    assert!(complaints(&format!("{ADVANCED}\nadaptive = \"5%\"")).contains("`adaptive` is not a key"));
}

#[test]
fn a_number_beyond_its_bounds_is_told_them() {
    let label = |workload: &str| {
        let text = format!(
            "name = \"check\"\n[stack]\n{EXT4}\n[workload]\nkind = \"orion\"\n{ADVANCED}\n{workload}\n\
             [[factor]]\nname = \"direct\"\nlevels = {{ a = {{ workload.direct = true }}, b = {{ workload.direct = false }} }}\n\
             [decide]\nmetric = \"max_iops\"\nbaseline = \"a\"\n"
        );
        let found = read(&text, &[]).unwrap_err();
        assert_eq!(found.len(), 1, "{found:?}");
        (found[0].message.clone(), found[0].labels[0].text.clone())
    };
    let told = |message: &str, label: &str| (message.to_owned(), label.to_owned());
    let percent = "expected a whole number from 0 to 100";
    assert_eq!(label("write = 101"), told("`write` cannot be `101`", percent));
    assert_eq!(label("write = -1"), told("`write` has a value of the wrong kind", percent));
    let disks = "expected a whole number from 1 to 65536";
    assert_eq!(label("num_disks = 0"), told("`num_disks` cannot be `0`", disks));
    let (message, expected) = label("size_small = \"2GiB\"");
    assert_eq!(message, "`size_small` cannot be `2097152KiB`");
    assert_eq!(expected, "expected a whole number from 1 to 1048576 KiB");
}

#[test]
fn a_key_beside_the_command_line_is_pointed_at_in_its_level() {
    let text = format!(
        "name = \"check\"\n[stack]\n{EXT4}\n[[factor]]\nname = \"share\"\n\
         levels = {{ a = {{ workload.write = 20 }}, b = {{ workload.direct = false }} }}\n\
         [workload]\nkind = \"orion\"\narguments = \"-run advanced\"\nsize = \"16MiB\"\n\
         [decide]\nmetric = \"max_iops\"\nbaseline = \"a\"\n"
    );
    let found = read(&text, &[]).unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.ends_with("as the key `write`"), "{found:?}");
    assert!(text[found[0].labels[0].span.clone()].contains("write"), "{found:?}");
}

#[test]
fn a_point_that_the_matrix_lacks_is_told_with_those_it_has() {
    let text = format!(
        "name = \"check\"\n[stack]\n{EXT4}\n[[factor]]\nname = \"share\"\n\
         levels = {{ a = {{ workload.write = 20 }}, b = {{ workload.write = 50 }} }}\n\
         [workload]\nkind = \"orion\"\n{ADVANCED}\n[decide]\nmetric = \"iops@9,9\"\nbaseline = \"a\"\n"
    );
    let found = read(&text, &[]).unwrap_err();
    assert_eq!(
        found[0].notes,
        ["the matrix has no IOPS at Small=9 and Large=9; it has IOPS at Small=1 to 5 and Large=0"]
    );
}

#[test]
fn times_and_sizes_must_make_a_measurement() {
    assert!(complaints(&format!("{ADVANCED}\nduration = \"10ms\"")).contains("too short to measure a rate"));
    assert!(
        complaints(&format!("{ADVANCED}\nuntil = \"2%\"\nduration = \"1s\""))
            .contains("too short for a precise point")
    );
    assert!(complaints(&format!("{ADVANCED}\nuntil = \"0%\"")).contains("not a precision"));
    assert_eq!(complaints(&format!("{ADVANCED}\nuntil = \"2%\"")), "");
    assert!(complaints("run = \"advanced\"").contains("size of the data files is missing"));
    assert!(complaints(&format!("{ADVANCED}\nfiles = 5")).contains("need 80MiB on a volume of 64MiB"));
    assert!(complaints(&format!("{ADVANCED}\nfiles = 0")).contains("number of files is out of range"));
    assert!(complaints("run = \"advanced\"\nsize = \"512KiB\"").contains("too small for an I/O of 1MiB"));
    assert!(complaints(&format!("{ADVANCED}\nnum_disks = 20")).contains("do not fit in 16MiB"));
    let many = complaints(&format!("{ADVANCED}\nmatrix = \"detailed\"\nnum_disks = 5000"));
    assert!(many.contains("points is too large"), "{many}");
    let deep = complaints(&format!("{ADVANCED}\nnum_disks = 65536"));
    assert!(deep.contains("`-num_disks 65536` needs 327680 small I/Os in flight"), "{deep}");
    assert!(complaints_on(BARE, ADVANCED, "max_iops").contains("raw device"));
    assert!(complaints_on(BARE, "run = \"advanced\"\nfiles = 2", "max_iops").contains("only LUN"));
    let limited = EXT4.replace("\"64MiB\"", "\"64MiB\", iops = 100");
    let cached = complaints_on(&limited, &format!("{ADVANCED}\ndirect = false"), "max_iops");
    assert!(cached.contains("not limited by the volume"), "{cached}");
}

#[test]
fn a_point_decides_only_where_every_configuration_measures_it() {
    let text = |metric: &str| {
        format!(
            "name = \"check\"\n[stack]\n{EXT4}\n[[factor]]\nname = \"disks\"\n\
             levels = {{ a = {{ workload.num_disks = 2 }}, b = {{ workload.num_disks = 1 }} }}\n\
             [workload]\nkind = \"orion\"\n{ADVANCED}\n[decide]\nmetric = \"{metric}\"\nbaseline = \"a\"\n"
        )
    };
    for metric in ["max_iops", "curve", "iops@5,0"] {
        read(&text(metric), &[]).unwrap();
    }
    let found = read(&text("iops@10,0"), &[]).unwrap_err();
    assert_eq!(found[0].message, "`b` measures no point for `iops@10,0`");
}

#[test]
fn the_command_line_of_a_report_is_taken_as_it_is_and_a_wrong_one_pointed_at() {
    let text = |arguments: &str| {
        format!(
            "name = \"check\"\n[stack]\n{EXT4}\n[[factor]]\nname = \"barrier\"\n\
             levels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\
             [workload]\nkind = \"orion\"\narguments = \"{arguments}\"\nfiles = 2\nsize = \"16MiB\"\n\
             [decide]\nmetric = \"curve\"\nbaseline = \"on\"\n"
        )
    };
    let report = "-run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1";
    let experiment = read(&text(report), &[]).unwrap();
    assert_eq!(experiment.configurations[0].workload.curve("curve").unwrap().len(), 20 + 8);
    let found = read(&text("-run fast"), &[]).unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    let label = &found[0].labels[0];
    assert!(text("-run fast")[label.span.clone()].contains("-run fast"), "{label:?}");
}
