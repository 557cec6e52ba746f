//! What is wrong in the sense of a file: settings that do not fit each other, and decisions that cannot be made.

use super::{barrier, complaints, flush_price, set, whole, without};
use crate::support::{Bench, assert_text};

const LOOP: &str = "volume = { kind = \"loop\", size = \"1GiB\", backing_io = \"buffered\" }";
const NOATIME: &str = "mount = { options = [\"noatime\"] }";
const OFF: &str = "off = { mount.options = [\"barrier=0\"] }";

#[test]
fn layers_that_do_not_fit_are_named() {
    let layer = |name: &'static str, layer: &str| {
        flush_price(name, "\n[[factor]]", &format!("{layer}\n\n[[factor]]"))
    };
    assert_text(
        "wrong_layers",
        &complaints(vec![
            layer("a filesystem in a directory", "filesystem = { kind = \"ext4\" }"),
            layer("a queue of a directory", "queue = { write_cache = \"write back\" }"),
            layer("a mount without a filesystem", "mount = { options = [\"noatime\"] }"),
            barrier("a filesystem taken away by a level", OFF, "off = { filesystem.kind = \"none\" }"),
            barrier("a volume that is too small", "\"1GiB\"", "\"1MiB\""),
            barrier("a volume that is no whole number of sectors", "\"1GiB\"", "\"1000000001B\""),
            barrier(
                "a volume in a relative directory",
                "backing_io = \"buffered\"",
                "directory = \"images\"",
            ),
            barrier(
                "a device with a relative path",
                LOOP,
                "volume = { kind = \"block\", devices = [\"sdb\"] }",
            ),
            barrier(
                "two devices without an array",
                LOOP,
                "volume = { kind = \"block\", devices = [\"/dev/sdb\", \"/dev/sdc\"] }",
            ),
            barrier("no device", LOOP, "volume = { kind = \"block\", devices = [] }"),
            flush_price(
                "a relative directory",
                "kind = \"directory\"",
                "kind = \"directory\", path = \"scratch\"",
            ),
            barrier("two mount options in one", NOATIME, "mount = { options = [\"noatime,nodiratime\"] }"),
            barrier(
                "mount options that contradict",
                NOATIME,
                "mount = { options = [\"noatime\", \"relatime\"] }",
            ),
            barrier("options that contradict in a level", "[\"barrier=0\"]", "[\"barrier=0\", \"barrier\"]"),
            barrier("an empty mount option", NOATIME, "mount = { options = [\"\"] }"),
            barrier("a file larger than the volume", "\"256MiB\"", "\"2GiB\""),
            barrier("a volume that a level makes too small", OFF, "off = { volume.size = \"128MiB\" }"),
        ]),
    );
}

#[test]
fn settings_that_no_kernel_takes_are_named() {
    let setting =
        |name: &'static str, setting: &str| barrier(name, NOATIME, &format!("{NOATIME}\n{setting}"));
    let md = "volume = { kind = \"block\", devices = [\"/dev/sdb\", \"/dev/sdc\"] }\n\
              array = { kind = \"md\", level = \"raid0\" }";
    let queue = "queue = { write_cache = \"write back\" }";
    let of_queue =
        |name: &'static str, settings: &str| barrier(name, queue, &format!("queue = {{ {settings} }}"));
    assert_text(
        "wrong_kernel_settings",
        &complaints(vec![
            of_queue("a scheduler with a space", "scheduler = \"mq deadline\""),
            of_queue("a queue too short", "nr_requests = 3"),
            of_queue("a request below a page", "max_sectors_kb = 2"),
            of_queue("merging and affinity that are none", "nomerges = 3, rq_affinity = 4"),
            of_queue("a number for a switch", "rotational = 1"),
            of_queue("the readahead twice", "readahead = 256, read_ahead_kb = 128"),
            of_queue("a readahead below a page", "read_ahead_kb = 6"),
            barrier(
                "a scheduler of an array",
                &format!("{LOOP}\n{queue}"),
                &format!("{md}\nqueue = {{ scheduler = \"bfq\" }}"),
            ),
            setting("a share above the whole", "sysctl = { vm.dirty_ratio = 101 }"),
            setting("a size below two pages", "sysctl = { vm.dirty_bytes = \"4KiB\" }"),
            setting("a size without a unit", "sysctl = { vm.dirty_bytes = 65536 }"),
            setting("both of a pair", "sysctl = { vm.dirty_ratio = 5, vm.dirty_bytes = \"64MiB\" }"),
            setting(
                "a background above the whole",
                "sysctl = { vm.dirty_ratio = 5, vm.dirty_background_ratio = 10 }",
            ),
            setting("a name in quotes", "sysctl = { \"vm.swappiness\" = 5 }"),
            setting("another setting", "sysctl = { vm.drop_caches = 3 }"),
            barrier("a swappiness that a level sets", OFF, "off = { sysctl.vm.swappiness = 201 }"),
        ]),
    );
}

#[test]
fn factors_that_vary_nothing_are_refused() {
    let levels =
        "levels = { on = { mount.options = [\"barrier=1\"] }, off = { mount.options = [\"barrier=0\"] } }";
    let another = |name: &'static str, lines: &[&str]| {
        barrier(name, "[workload]", &format!("[[factor]]\n{}\n\n[workload]", lines.join("\n")))
    };
    let sizes = "values = [\"4KiB\", \"8KiB\"]";
    let (bs, of_bs) = ("name = \"bs\"", "path = \"workload.bs\"");
    assert_text(
        "wrong_factors",
        &complaints(vec![
            barrier("a factor without levels", &format!("{levels}\n"), ""),
            barrier("a factor without any level", levels, "levels = {}"),
            barrier("a factor with one level", &format!(", {OFF}"), ""),
            barrier("levels that are a list", levels, "levels = [\"on\", \"off\"]"),
            barrier("a level that is text", OFF, "off = \"barrier=0\""),
            barrier("two levels that set nothing", levels, "levels = { on = {}, off = {} }"),
            barrier("identical levels", "\"barrier=0\"", "\"barrier=1\""),
            barrier("a level's name with a comma", "off = {", "\"off, really\" = {"),
            barrier("a level without a name", "off = {", "\"\" = {"),
            another("two factors of one name", &["name = \"barrier\"", of_bs, sizes]),
            another("a path without values", &[bs, of_bs]),
            another("values without a path", &[bs, sizes]),
            another("levels and a path", &[bs, of_bs, sizes, "levels = {}"]),
            another("values that are no list", &[bs, of_bs, "values = \"4KiB..8KiB\""]),
            another("one value", &[bs, of_bs, "values = [\"4KiB\"]"]),
            another("a value twice", &[bs, of_bs, "values = [\"4KiB\", \"8KiB\", \"4KiB\"]"]),
            another("a value of the wrong unit", &[bs, of_bs, "values = [\"4KiB\", \"8s\"]"]),
            another("a value that is out of range", &[bs, "path = \"workload.iodepth\"", "values = [1, 0]"]),
            another("a path that leads nowhere", &[bs, "path = \"workload.blocksize\"", sizes]),
            another("a path outside stack and workload", &[bs, "path = \"decide.margin\"", sizes]),
            another("a path with `stack.`", &[bs, "path = \"stack.volume.size\"", sizes]),
            another("a path with a hole", &[bs, "path = \"workload..bs\"", sizes]),
            another("a path below a value", &[bs, "path = \"workload.bs.size\"", sizes]),
            another(
                "the kind of workload varied",
                &["name = \"what\"", "path = \"workload.kind\"", "values = [\"io\", \"command\"]"],
            ),
            another("a factor with an empty name", &["name = \"\"", of_bs, sizes]),
        ]),
    );
}

#[test]
fn decisions_that_cannot_be_made_are_refused() {
    let cache = "[[factor]]\nname = \"cache\"\nlevels.on = { queue.write_cache = \"write back\" }\n\
                 levels.through = { queue.write_cache = \"write through\" }\n\n[workload]";
    assert_text(
        "wrong_decisions",
        &complaints(vec![
            barrier("an unknown baseline", "baseline = \"on\"", "baseline = \"default\""),
            barrier("a mistyped baseline", "baseline = \"on\"", "baseline = \"of\""),
            barrier("an ambiguous baseline", "[workload]", cache),
            barrier("a baseline of an unknown factor", "baseline = \"on\"", "baseline = \"barriers=on\""),
            barrier("a mistyped metric", "metric = \"iops\"", "metric = \"iop\""),
            barrier("another workload's metric", "metric = \"iops\"", "metric = \"wall_time\""),
            barrier("a margin of nothing", "\"3%\"", "\"0%\""),
            barrier("a margin of everything", "\"3%\"", "\"100%\""),
            barrier("a negative margin", "\"3%\"", "\"-3%\""),
            barrier("a confidence of 100 %", "\"95%\"", "\"100%\""),
            barrier("a confidence below a coin's", "\"95%\"", "\"40%\""),
            barrier("least above most", "min = 6,", "min = 60,"),
            barrier("no blocks", "{ min = 6, max = 40 }", "{ min = 0, max = 0 }"),
            barrier("no least number of blocks", "min = 6,", "min = 0,"),
            barrier("too many blocks", "max = 40", "max = 5000"),
            barrier("no time", "blocks =", "time = \"0s\"\nblocks ="),
            barrier("a name with a slash", "name = \"ext4-barrier\"", "name = \"ext4/barrier\""),
            barrier("a name with a space", "name = \"ext4-barrier\"", "name = \"ext4 barrier\""),
            barrier("an empty name", "name = \"ext4-barrier\"", "name = \"\""),
            barrier("too many warm-ups", "[decide]", "[trials]\nwarmups = 100\n\n[decide]"),
            barrier(
                "no program for an agent",
                "[decide]",
                "[machine]\nkind = \"agent\"\nargv = []\n\n[decide]",
            ),
            whole("nothing to compare", without("[factor]")),
        ]),
    );
}

#[test]
fn workloads_that_cannot_be_carried_out_are_refused() {
    let program = |name: &'static str, lines: &str| {
        let before = without("decide");
        let before = before.split("[workload]").next().unwrap();
        let decide = "[decide]\nmetric = \"wall_time\"\nbaseline = \"on\"";
        whole(name, format!("{before}[workload]\nkind = \"command\"\n{lines}\n\n{decide}\n"))
    };
    assert_text(
        "wrong_workloads",
        &complaints(vec![
            barrier("a block of nothing", "\"4KiB\"", "\"0B\""),
            barrier("a block that is too large", "\"4KiB\"", "\"1GiB\""),
            barrier("an unaligned block with direct", "bs = \"4KiB\"", "bs = \"1000B\"\ndirect = true"),
            barrier("no depth", "bs =", "iodepth = 0\nbs ="),
            barrier("too great a depth", "bs =", "iodepth = 100000\nbs ="),
            barrier("a depth of synchronous calls", "bs =", "engine = \"sync\"\niodepth = 8\nbs ="),
            barrier("no jobs", "bs =", "numjobs = 0\nbs ="),
            barrier("no runtime", "\"10s\"", "\"0s\""),
            barrier("no bytes", "runtime = \"10s\"", "io_size = \"0B\""),
            barrier("a read that syncs", "\"randwrite\"", "\"randread\""),
            barrier("two kinds of sync", "fdatasync = 1", "fdatasync = 1\nfsync = 1"),
            barrier("a file smaller than a block", "\"256MiB\"", "\"1KiB\""),
            barrier("a file of nothing", "\"256MiB\"", "\"0B\""),
            program("an empty argv", "argv = []"),
            program("a program without a name", "argv = [\"\"]"),
            program("an argv that is text", "argv = \"make -j4\""),
            program("a NUL in an argument", "argv = [\"true\", \"a\\u0000b\"]"),
            program("a variable of iostone's own", "argv = [\"true\"]\nenv = { IOSTONE_TRIAL = \"1\" }"),
            program("a variable with `=` in its name", "argv = [\"true\"]\nenv = { \"A=B\" = \"1\" }"),
            program("a variable that is a number", "argv = [\"true\"]\nenv = { JOBS = 4 }"),
            program("a variable with a dot that is a number", "argv = [\"true\"]\nenv = { \"a.b\" = 4 }"),
            program("no timeout", "argv = [\"true\"]\ntimeout = \"0s\""),
            program("a preparation that is one program", "argv = [\"true\"]\nprepare = [\"tar\", \"-x\"]"),
            program("a preparation without a program", "argv = [\"true\"]\nprepare = [[\"true\"], []]"),
            program("a directory among the files", "argv = [\"true\"]\nfiles = [\"sources/\"]"),
            program("two files of one name", "argv = [\"true\"]\nfiles = [\"a/x\", \"b/x\"]"),
        ]),
    );
}

#[test]
fn settings_of_the_command_line_are_named_as_they_were_typed() {
    assert_text(
        "wrong_settings",
        &complaints(vec![
            set("without `=`", &["workload.bs"]),
            set("without a path", &["=4KiB"]),
            set("an unknown section", &["wrkload.bs=4KiB"]),
            set("an unknown key", &["workload.blocksize=4KiB"]),
            set("below a value", &["workload.bs.size=4KiB"]),
            set("a wrong unit", &["workload.bs=4KiBs"]),
            set("a number where text is needed", &["workload.bs=4096"]),
            set("an unknown kind", &["workload.kind=iozone"]),
            set("a value that does not fit", &["stack.volume.size=64MiB"]),
            set("an option that is none", &["stack.mount.options=[\"a,b\"]"]),
            set("a list that does not end", &["stack.mount.options=[\"noatime\""]),
            set("an empty value", &["decide.baseline="]),
            set("two of them", &["workload.bs=4KiBs", "decide.metric=iop"]),
        ]),
    );
}

#[test]
fn what_is_no_readable_file_is_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("directory")).unwrap();
    let mut all = String::new();
    for name in ["missing.toml", "directory", ""] {
        let said = bench.iostone(&["run", name]).ended_with(2);
        all.push_str(&said.stderr);
    }
    assert_text("wrong_paths", &all);
    assert_eq!(bench.names(), ["directory"]);
}
