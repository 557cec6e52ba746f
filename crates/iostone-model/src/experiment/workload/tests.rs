//! What is refused before a foreign tool is started, and how that is said.

use super::WORKLOAD_KINDS;
use crate::experiment::{Override, json_schema, read};

/// The messages about a workload, in one line.
fn complaints(workload: &str) -> String {
    complaints_in("none", workload)
}

/// The same in a container of that kind, and what more is said of it.
fn complaints_in(container: &str, workload: &str) -> String {
    let text = format!(
        "name = \"check\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\n\
         filesystem = {{ kind = \"ext4\" }}\ncontainer.kind = \"{container}\"\n[[factor]]\nname = \"barrier\"\n\
         levels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\
         [workload]\n{workload}\n[decide]\nmetric = \"METRIC\"\nbaseline = \"on\"\n"
    );
    let kind = workload.split('"').nth(1).unwrap();
    let metric = match kind {
        "command" => "wall_time",
        "sysbench" => "events",
        "ioping" => "latency_mean",
        "copy-up" => "copy_up_time",
        _ => "throughput",
    };
    match read(&text.replace("METRIC", metric), &[]) {
        Ok(_) => String::new(),
        Err(found) => found.iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("; "),
    }
}

#[test]
fn a_command_may_pick_figures_by_one_way_each() {
    let command =
        |metrics: &str| complaints(&format!("kind = \"command\"\nargv = [\"true\"]\nmetrics = {metrics}"));
    assert_eq!(command(r#"{ rate = { regex = '([0-9.]+) MB/s', unit = "MB/s", better = "higher" } }"#), "");
    assert_eq!(command(r#"{ mean = { pointer = "/results/0/mean", unit = "s", better = "lower" } }"#), "");
    for (metric, complaint) in [
        (r#"{ a = { better = "lower" } }"#, "`a` has no pattern to find it in the output"),
        (r#"{ a = { regex = '(1)', pointer = "/a", better = "lower" } }"#, "`a` is picked twice"),
        (r#"{ a = { regex = '1', better = "lower" } }"#, "the expression has no group"),
        (r#"{ a = { regex = '(1)(2)', better = "lower" } }"#, "the expression has 2 groups"),
        (r#"{ a = { regex = '(1', better = "lower" } }"#, "not a regular expression: unclosed group"),
        (r#"{ a = { pointer = "a", better = "lower" } }"#, "`a` is not a JSON pointer"),
        (
            r#"{ wall_time = { regex = '(1)', better = "lower" } }"#,
            "`wall_time` is measured by iostone itself",
        ),
        (
            r#"{ iops = { regex = '(1)', unit = "ms", better = "higher" } }"#,
            "`iops` is a built-in metric (/s, higher is better)",
        ),
        (r#"{ "A b" = { regex = '(1)', better = "lower" } }"#, "`A b` is not a valid metric name"),
    ] {
        let said = command(metric);
        assert!(said.contains(complaint), "{metric}: {said}");
    }
}

#[test]
fn dd_copies_whole_blocks_by_words_that_keep_it_a_copy() {
    assert_eq!(complaints("kind = \"dd\"\nsize = \"16MiB\""), "");
    assert_eq!(
        complaints("kind = \"dd\"\nsize = \"16MiB\"\noflag = [\"direct\"]\nsource = \"/dev/zero\""),
        ""
    );
    for (rest, complaint) in [
        ("size = \"1000B\"", "is not a multiple of the block size"),
        ("size = \"16MiB\"\nconv = [\"fdatasnyc\"]", "did you mean `fdatasync`?"),
        ("size = \"16MiB\"\niflag = [\"count_bytes\"]\nsource = \"/dev/zero\"", "`count_bytes` is not one"),
        ("size = \"16MiB\"\niflag = [\"direct\"]", "have no effect on a pipe"),
        ("size = \"1000B\"\nbs = \"100B\"\noflag = [\"direct\"]", "`direct` does not support blocks of 100B"),
        ("size = \"16MiB\"\ndirection = \"read\"\noflag = [\"direct\"]", "apply to writes"),
        ("size = \"1GiB\"", "dd needs 1GiB on a volume of 64MiB"),
        ("size = \"16MiB\"\nsource = \"zero\"", "neither `generated` nor an absolute path"),
    ] {
        let said = complaints(&format!("kind = \"dd\"\n{rest}"));
        assert!(said.contains(complaint), "{rest}: {said}");
    }
}

#[test]
fn sysbench_needs_a_mode_and_files_of_a_block_at_least() {
    let fileio = "kind = \"sysbench\"\ntest = \"fileio\"\nfile_total_size = \"16MiB\"\nfile_num = 4\n";
    assert_eq!(complaints(&format!("{fileio}file_test_mode = \"rndrw\"")), "");
    assert!(complaints(fileio).contains("needs a mode"));
    let tiny = complaints(&format!("{fileio}file_test_mode = \"rndrw\"\nfile_block_size = \"8MiB\""));
    assert!(tiny.contains("each of 4 files would be smaller than a block"), "{tiny}");
    let cpu = complaints("kind = \"sysbench\"\ntest = \"cpu\"\nfile_num = 4");
    assert!(cpu.contains("the cpu test has no files"), "{cpu}");
}

#[test]
fn ioping_must_have_time_for_a_request_after_its_warm_up() {
    assert_eq!(complaints("kind = \"ioping\"\ncount = 5\ninterval = \"0s\""), "");
    let short = complaints("kind = \"ioping\"\nruntime = \"500ms\"");
    assert!(short.contains("after the warm-up"), "{short}");
    assert!(complaints("kind = \"ioping\"\nsync = true").contains("`sync` applies to writes"));
}

#[test]
fn fio_takes_one_job() {
    assert_eq!(complaints("kind = \"fio\"\njob = \"[a]\\nrw=read\\nsize=1M\""), "");
    assert!(complaints("kind = \"fio\"").contains("there is no job for fio"));
    assert!(complaints("kind = \"fio\"\njob = \"x\"\njob_file = \"/x\"").contains("given twice"));
    assert!(complaints("kind = \"fio\"\njob_file = \"x\"").contains("not an absolute path"));
}

#[test]
fn first_touches_need_something_to_touch() {
    let touches = |keys: &str| complaints(&format!("kind = \"copy-up\"\nsize = \"16MiB\"\n{keys}"));
    assert_eq!(touches("files = 10\nsync = true"), "");
    for (keys, complaint) in [
        ("write = \"0B\"", "the write size is 0"),
        ("write = \"17MiB\"", "a write of 17MiB does not fit in a file of 16MiB"),
        ("write = \"65MiB\"", "a write of 65MiB is too large"),
        ("files = 100001\nfile_size = \"1B\"", "100001 small files are too many"),
        ("file_size = \"1MiB\"", "copy-up needs 232MiB on a volume of 64MiB"),
    ] {
        assert_eq!(touches(keys), complaint, "{keys}");
    }
}

#[test]
fn first_touches_take_as_much_room_as_the_layers_have_copies() {
    let in_vfs = |engine: &str, size: u32| {
        complaints_in(
            &format!("{engine}\"\ncontainer.driver = \"vfs"),
            &format!("kind = \"copy-up\"\nsize = \"{size}MiB\"\nfiles = 0"),
        )
    };
    assert_eq!(in_vfs("docker", 22), "copy-up needs 66MiB on a stack of 64MiB");
    assert_eq!(in_vfs("podman", 22), "");
    assert_eq!(in_vfs("podman", 33), "copy-up needs 66MiB on a volume of 64MiB");
}

fn refusal(metric: &str, workload: &str) -> Option<String> {
    let over = |path: &str, value: &str| Override { path: path.to_owned(), value: value.to_owned() };
    let experiment = include_str!("../../../../../experiments/barrier.toml");
    let set = [over("decide.metric", &format!("\"{metric}\"")), over("workload", workload)];
    read(experiment, &set).err().map(|found| format!("{found:?}"))
}

#[test]
fn nothing_is_decided_by_bytes_that_are_never_claimed() {
    let copied = r#"{ kind = "dd", direction = "read", size = "64MiB" }"#;
    let reason = refusal("written_per_claimed_byte", copied).unwrap();
    assert!(reason.contains("claims no bytes written"), "{reason}");
    assert_eq!(refusal("read_per_claimed_byte", copied), None);
    let written = r#"{ kind = "io", rw = "randwrite", size = "64MiB", runtime = "5s" }"#;
    assert!(refusal("read_per_claimed_byte", written).unwrap().contains("claims no bytes read"));
    assert_eq!(refusal("written_per_claimed_byte", written), None);
    let orion = |test: &str| format!(r#"{{ kind = "orion", {test}, files = 1, size = "64MiB" }}"#);
    let line = |write: &str| orion(&format!(r#"arguments = "-run advanced -duration 1 {write}""#));
    for test in [line("-write 20"), orion(r#"run = "advanced", duration = "1s", write = 20"#)] {
        assert_eq!(refusal("written_per_claimed_byte", &test), None);
        assert_eq!(refusal("read_per_claimed_byte", &test), None);
    }
    assert!(refusal("written_per_claimed_byte", &line("")).unwrap().contains("claims no bytes written"));
    let overwritten = refusal("read_per_claimed_byte", &line("-write 100")).unwrap();
    assert!(overwritten.contains("claims no bytes read"), "{overwritten}");
    let program = r#"{ kind = "command", argv = ["true"] }"#;
    assert!(refusal("read_per_claimed_byte", program).unwrap().contains("do not report"));
}

#[test]
fn each_kind_is_called_in_the_file_as_in_messages() {
    let schema = serde_json::to_value(json_schema()).unwrap();
    let kinds = schema["$defs"]["Workload"]["oneOf"].as_array().unwrap();
    let words: Vec<_> =
        kinds.iter().map(|kind| kind["properties"]["kind"]["const"].as_str().unwrap()).collect();
    assert_eq!(words, WORKLOAD_KINDS.iter().map(|kind| kind.word).collect::<Vec<_>>());
}
