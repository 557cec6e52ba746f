//! Levels that change one thing, and levels that change several.

use super::*;
use crate::experiment::read;

fn experiment(factors: &str, baseline: &str) -> Experiment {
    let text = format!(
        "name = \"t\"\n[stack]\nvolume = {{ kind = \"emulated\", size = \"1GiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
         {factors}\n[workload]\nkind = \"io\"\nrw = \"randrw\"\nsize = \"64MiB\"\nruntime = \"1s\"\n[decide]\n\
         metric = \"iops\"\nbaseline = \"{baseline}\"\n"
    );
    match read(&text, &[]) {
        Ok(experiment) => experiment,
        Err(found) => panic!("{found:?}"),
    }
}

/// The things that `b` changes against `a`.
fn between(a: &str, b: &str) -> Vec<String> {
    let levels = format!("[[factor]]\nname = \"f\"\nlevels = {{ a = {{ {a} }}, b = {{ {b} }} }}");
    let experiment = experiment(&levels, "a");
    things_between(&experiment.configurations, "f", "a", "b").into_iter().collect()
}

#[test]
fn a_filesystem_with_its_own_words_is_one_thing() {
    assert_eq!(
        between(
            "filesystem = { kind = \"ext4\", mkfs = [\"-m\", \"0\"] }, mount.options = [\"barrier=1\"]",
            "filesystem = { kind = \"btrfs\" }, mount.options = [\"compress=zstd\"]"
        ),
        ["filesystem.kind"]
    );
    assert_eq!(
        between("filesystem.kind = \"ext4\"", "filesystem.kind = \"xfs\", mount.options = [\"noatime\"]"),
        ["filesystem.kind", "mount option atime"]
    );
}

#[test]
fn each_setting_of_the_queue_and_the_kernel_is_a_thing_in_whatever_unit() {
    assert_eq!(
        between("queue.scheduler = \"none\"", "queue.scheduler = \"bfq\", queue.nr_requests = 64"),
        ["queue.nr_requests", "queue.scheduler"]
    );
    assert_eq!(between("queue.readahead = 256", "queue.read_ahead_kb = 64"), ["queue.readahead"]);
    assert_eq!(
        between("sysctl.vm.dirty_ratio = 20", "sysctl.vm.dirty_bytes = \"64MiB\""),
        ["sysctl.vm.dirty_ratio"]
    );
    assert_eq!(
        between("sysctl.vm.swappiness = 1", "sysctl = { vm.swappiness = 2, vm.dirty_ratio = 5 }"),
        ["sysctl.vm.dirty_ratio", "sysctl.vm.swappiness"]
    );
}

#[test]
fn each_mount_option_is_a_thing_however_it_is_spelt() {
    assert_eq!(
        between("mount.options = [\"barrier=1\"]", "mount.options = [\"nobarrier\"]"),
        ["mount option barrier"]
    );
    assert_eq!(
        between("mount.options = [\"barrier=1\"]", "mount.options = [\"barrier=0\", \"data=writeback\"]"),
        ["mount option barrier", "mount option data"]
    );
    assert_eq!(
        between("mount.options = [\"noatime\"]", "mount.options = [\"relatime\"]"),
        ["mount option atime"]
    );
}

#[test]
fn what_goes_without_saying_is_no_thing() {
    let bs = |options: &str, bs: &str| format!("mount.options = [{options}], workload.bs = \"{bs}\"");
    for (one, other) in [
        ("\"barrier=0\"", "\"nobarrier\""),
        ("\"rw\", \"async\", \"defaults\"", ""),
        ("\"relatime\", \"barrier=1\"", "\"commit=5\""),
        ("\"noatime\"", "\"noatime\", \"nodiratime\""),
    ] {
        assert_eq!(between(&bs(one, "4KiB"), &bs(other, "8KiB")), ["workload.bs"], "{one} {other}");
    }
    let btrfs = |options: &str| format!("filesystem.kind = \"btrfs\", mount.options = [{options}]");
    for (one, other, thing) in [
        ("", "\"nodatacow\", \"nodatasum\"", "datacow"),
        ("\"nodatasum\"", "\"nodatacow\"", "datacow"),
        ("\"compress=no\"", "\"compress-force\"", "compress"),
        ("\"compress=zstd\"", "\"compress-force=zstd:3\"", "compress"),
    ] {
        assert_eq!(between(&btrfs(one), &btrfs(other)), [format!("mount option {thing}")], "{one} {other}");
    }
    assert!(between(&btrfs("\"compress=zstd\""), &btrfs("\"compress=zstd:3\"")).is_empty());
}

#[test]
fn an_option_that_both_filesystems_take_is_a_thing_of_its_own() {
    let of = |kind: &str, options: &str| format!("filesystem.kind = \"{kind}\", mount.options = [{options}]");
    let ext4 = |options: &str, others: &str| between(&of("ext4", options), &of("btrfs", others));
    assert_eq!(ext4("\"nobarrier\"", ""), ["filesystem.kind", "mount option barrier"]);
    assert_eq!(
        ext4("", "\"nobarrier\", \"commit=300\""),
        ["filesystem.kind", "mount option barrier", "mount option commit"]
    );
    for (one, other) in [
        ("\"barrier=0\"", "\"nobarrier\""),
        ("\"barrier=1\", \"commit=5\"", ""),
        ("\"commit=30\"", ""),
        ("\"data=writeback\"", "\"nodatacow\", \"ssd\""),
        ("\"noatime\"", "\"noatime\""),
    ] {
        assert_eq!(ext4(one, other), ["filesystem.kind"], "{one} {other}");
    }
}

#[test]
fn barriers_of_ext4_are_held_against_the_flushes_that_xfs_always_sends() {
    let xfs = "filesystem.kind = \"xfs\"";
    assert_eq!(between("mount.options = [\"barrier=0\"]", xfs), ["filesystem.kind", "mount option barrier"]);
    assert_eq!(between("mount.options = [\"barrier=1\"]", xfs), ["filesystem.kind"]);
}

#[test]
fn each_option_of_orion_is_a_thing_on_its_command_line_too() {
    let between = |one: &str, other: &str| {
        let text = format!(
            "name = \"t\"\n[stack]\nvolume = {{ kind = \"emulated\", size = \"1GiB\" }}\n[[factor]]\nname = \"f\"\n\
             levels = {{ a = {{ workload.arguments = \"-run advanced {one}\" }}, b = {{ workload.arguments = \"-run \
             advanced {other}\" }} }}\n[workload]\nkind = \"orion\"\n[decide]\nmetric = \"curve\"\nbaseline = \"a\"\n"
        );
        match read(&text, &[]) {
            Ok(experiment) => experiment.confounded_levels().pop().map(|level| level.things),
            Err(found) => panic!("{found:?}"),
        }
    };
    assert_eq!(between("-write 0 -num_disks 2", "-write 20 -num_disks 2"), None);
    let several = between("-write 0 -num_disks 2", "-write 20 -num_disks 4 -size_small 16");
    let things = ["workload.num_disks", "workload.size_small", "workload.write"];
    assert_eq!(several.unwrap(), things);
    // A column has a number of small I/Os to say, and a basic matrix none.
    assert_eq!(between("-matrix basic", "-matrix col -num_small 2"), None);
}

#[test]
fn a_plus_in_the_name_of_a_factor_declares_nothing() {
    let text = "name = \"t\"\n[stack]\nvolume = { kind = \"emulated\", size = \"1GiB\" }\n[[factor]]\nname = \"fs+kernel\"\n\
                levels = { a = { filesystem.kind = \"ext4\" }, b = { filesystem.kind = \"xfs\" } }\n[workload]\nkind = \"io\"\n\
                rw = \"read\"\nsize = \"1MiB\"\nruntime = \"1s\"\n[decide]\nmetric = \"iops\"\nbaseline = \"a\"\n";
    let told = format!("{:?}", read(text, &[]).unwrap_err());
    assert!(told.contains("cannot name a factor") && told.contains("combine.zip"), "{told}");
}

#[test]
fn volumes_and_the_array_over_them_are_one_thing() {
    let striped = "volume.count = 2, array = { kind = \"md\", level = \"raid0\" }";
    assert_eq!(between("volume.count = 1", striped), ["volume.count"]);
    assert_eq!(between("volume.size = \"1GiB\"", "volume.size = \"2GiB\""), ["volume.size"]);
}

#[test]
fn a_container_where_there_was_none_is_one_thing() {
    assert_eq!(
        between(
            "mount.options = []",
            "container = { kind = \"overlay\", place = \"layer\", volatile = true }"
        ),
        ["container.kind"]
    );
    assert_eq!(
        between(
            "container = { kind = \"docker\", place = \"bind\", driver = \"vfs\" }",
            "container = { kind = \"docker\", place = \"layer\", driver = \"overlay2\" }"
        ),
        ["container.driver", "container.place"]
    );
    assert_eq!(
        between("container.kind = \"overlay\"", "container = { kind = \"overlay\", volatile = true }"),
        ["container.volatile"]
    );
}

#[test]
fn a_filesystem_and_a_kernel_are_two_things_and_both_are_named() {
    let experiment = experiment(
        "[[factor]]\nname = \"filesystem\"\nlevels = { a = { machine.kernel = \"6.1\" }, b = { filesystem.kind = \
         \"btrfs\", machine.kernel = \"6.12\" } }\n[[factor]]\nname = \"bs\"\npath = \"workload.bs\"\nvalues = \
         [\"4KiB\", \"8KiB\"]",
        "a",
    );
    let found = experiment.confounded_levels();
    let [one] = &found[..] else { panic!("{found:?}") };
    assert_eq!(one.things, ["filesystem.kind", "machine.kernel"]);
    assert!(!one.declared);
    assert_eq!(
        confounded_sentences(&found),
        [
            "factor `filesystem` changes two things at once: `b` differs from `a` in `filesystem.kind` and `machine.kernel`; the result cannot be attributed to any one of them; vary one at a time, or make each its own factor"
        ]
    );
}

#[test]
fn factors_that_were_said_to_go_together_are_told_as_such() {
    let experiment = experiment(
        "[[factor]]\nname = \"fs\"\nlevels = { a = { filesystem.kind = \"ext4\" }, b = { filesystem.kind = \"xfs\" } }\n\
         [[factor]]\nname = \"bs\"\nlevels = { small = { workload.bs = \"4KiB\" }, large = { workload.bs = \"8KiB\" } }\n\
         [combine]\nzip = [[\"fs\", \"bs\"]]",
        "a+small",
    );
    let found = experiment.confounded_levels();
    assert!(found.iter().all(|level| level.declared) && found.len() == 1, "{found:?}");
    assert!(confounded_sentences(&found)[0].contains("as the experiment declares"));
}

#[test]
fn one_of_several_factors_that_changes_two_things_is_not_declared_by_the_others() {
    let zipped = |fs: &str, bs: &str, baseline: &str| {
        let experiment = experiment(
            &format!(
                "[[factor]]\nname = \"fs\"\nlevels = {{ a = {{ filesystem.kind = \"ext4\" }}, b = {{ {fs} }} }}\n\
                 [[factor]]\nname = \"bs\"\nlevels = {{ small = {{ workload.bs = \"4KiB\" }}, large = {{ {bs} }} }}\n\
                 [combine]\nzip = [[\"fs\", \"bs\"]]"
            ),
            baseline,
        );
        let found = experiment.confounded_levels();
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.things.len(), 2, "{one:?}");
        let seen_from = |level: &str| experiment.with_baseline(level).unwrap().confounded_levels();
        assert!(["a+small", "b+large"].iter().all(|level| seen_from(level)[0].declared == one.declared));
        one.declared
    };
    let two = "filesystem.kind = \"xfs\", machine.kernel = \"6.12\"";
    for baseline in ["a+small", "b+large"] {
        assert!(!zipped(two, "workload.bs = \"4KiB\"", baseline));
        assert!(zipped("filesystem.kind = \"xfs\"", "workload.bs = \"8KiB\"", baseline));
    }
}

#[test]
fn the_mix_of_reads_and_writes_is_one_thing_and_a_block_size_another() {
    assert_eq!(
        between("workload.rw = \"randread\"", "workload = { rw = \"randrw\", rwmixread = 70 }"),
        ["workload.rw"]
    );
    assert_eq!(
        between("workload.bs = \"4KiB\"", "workload = { bs = \"8KiB\", iodepth = 4 }"),
        ["workload.bs", "workload.iodepth"]
    );
}

#[test]
fn an_instance_is_one_thing_and_its_price_none() {
    let machine =
        |name: &str, link: &str| format!("machine = {{ instance = \"{name}\", link = \"{link}\" }}");
    assert_eq!(
        between(&machine("t1.micro", "280Mbps"), &machine("m1.large", "500Mbps")),
        ["machine.instance"]
    );
    // A kernel beside it is a second thing, and the instance's settings still are none of their own.
    let with = |machine: &str, kernel: &str| machine.replace(" }", &format!(", kernel = \"{kernel}\" }}"));
    assert_eq!(
        between(
            &with(&machine("t1.micro", "280Mbps"), "6.1.0-1-amd64"),
            &with(&machine("m1.large", "500Mbps"), "6.12.0-1-amd64")
        ),
        ["machine.instance", "machine.kernel"]
    );
    assert!(between("machine = { usd_per_hour = 1.0 }", "machine = { usd_per_hour = 2.0 }").is_empty());
}

#[test]
fn no_experiment_that_comes_with_iostone_is_confounded() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let read = read(&std::fs::read_to_string(&path).unwrap(), &[]);
        let found = read.unwrap_or_else(|found| panic!("{}: {found:?}", path.display())).confounded_levels();
        assert_eq!(found, [], "{}", path.display());
        seen += 1;
    }
    assert!(seen > 10);
}
