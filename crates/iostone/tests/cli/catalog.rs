//! `catalog`: what is known is found, shown, compared, written and read back; the user's rows go before, and say so.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::support::Bench;

const DESCRIBED: &str = r#"{"InstanceTypes": [
    {"InstanceType": "c4.large", "VCpuInfo": {"DefaultVCpus": 2}, "MemoryInfo": {"SizeInMiB": 3840},
     "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"BaselineBandwidthInMbps": 750,
        "BaselineIops": 4000, "MaximumBandwidthInMbps": 750, "MaximumIops": 4000}}},
    {"InstanceType": "z9.large", "VCpuInfo": {"DefaultVCpus": 3}}]}"#;

/// Whether a fact is shown as one that is not known.
fn is_unknown(shown: &str, label: &str) -> bool {
    let mut words = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.any(|words| words == [label, "unknown"])
}

#[test]
fn more_than_1400_types_are_there_and_none_has_a_zero_for_what_is_not_known() {
    let bench = Bench::new();
    let all = bench.iostone(&["catalog", "search", "--json"]).ended_with(0).json();
    assert_eq!(all["of"], 1437);
    let instances = all["instances"].as_array().unwrap();
    assert_eq!(instances.len(), 1437);
    for one in instances {
        for key in ["vcpus", "memory_bytes", "clock_ghz", "ecu"] {
            assert!(one[key].is_null() || one[key].as_f64().unwrap() > 0.0, "{one}");
        }
        assert!(
            one["ebs"].is_null() || one["ebs"]["baseline_bytes_per_second"].as_u64().unwrap() > 0,
            "{one}"
        );
        assert!(one["source"].as_str().unwrap().contains("20") && one["date"].is_string(), "{one}");
    }
    let unknown = bench.iostone(&["catalog", "show", "hi1.4xlarge"]).ended_with(0);
    assert!(is_unknown(&unknown.stdout, "memory"), "{}", unknown.stdout);
    assert!(bench.iostone(&["catalog"]).ended_with(0).stdout.contains("1437 instance types of EC2"));
}

#[test]
fn searches_say_how_many_and_what_is_near() {
    let bench = Bench::new();
    let found = bench.iostone(&["catalog", "search", "c4.", "--vcpus", "2..16"]).ended_with(0);
    assert!(found.stdout.contains("4 of 1437 types; prices of us-east-1."), "{}", found.stdout);
    assert!(found.stdout.lines().all(|line| line.chars().count() <= 100), "{}", found.stdout);
    bench.iostone(&["catalog", "search", "c4.lagre"]).ended_with(0).complains_of("did you mean `c4.large`?");
    bench
        .iostone(&["catalog", "search", "--region", "mars-1"])
        .ended_with(2)
        .complains_of("only for us-east-1");
    bench.iostone(&["catalog", "search", "--ebs", "500MBps.."]).ended_with(2).complains_of("not a unit here");
    bench
        .iostone(&["catalog", "search", "--vcpus", "8..4"])
        .ended_with(2)
        .complains_of("ends before it begins");
    bench.iostone(&["catalog", "show", "c4.lagre"]).ended_with(2).complains_of("did you mean `c4.large`?");
    let burstable = bench.iostone(&["catalog", "search", "--burstable", "--json"]).ended_with(0).json();
    assert_eq!(burstable["found"], 28);
    let volumes = bench.iostone(&["catalog", "search", "--volumes", "gp"]).ended_with(0);
    assert!(volumes.stdout.contains("gp2") && volumes.stdout.contains("gp3"), "{}", volumes.stdout);
}

#[test]
fn a_type_is_shown_in_every_unit_and_types_side_by_side() {
    let bench = Bench::new();
    let shown = bench.iostone(&["catalog", "show", "c4.large"]).ended_with(0).stdout;
    assert!(shown.contains("500 Mbps = 62.5 MB/s = 59.6 MiB/s"), "{shown}");
    let shown = bench.iostone(&["catalog", "show", "m5.large"]).ended_with(0).stdout;
    assert!(shown.contains("EBS burst bucket") && shown.contains("assumed"), "{shown}");
    let compared = bench.iostone(&["catalog", "compare", "c4.large", "c4.4xlarge"]).ended_with(0).stdout;
    let row = compared.lines().find(|line| line.contains("EBS baseline")).unwrap();
    assert!(row.starts_with('*') && row.contains("250 MB/s (4.00x)"), "{compared}");
    let row = compared.lines().find(|line| line.contains("hypervisor")).unwrap();
    assert!(row.starts_with(' '), "{compared}");
    bench.iostone(&["catalog", "compare", "c4.large", "gp2"]).ended_with(2).complains_of("is a volume type");
    let gp2 = bench.iostone(&["catalog", "show", "gp2"]).ended_with(0).stdout;
    assert!(gp2.contains("since 2018-12-03"), "{gp2}");
}

#[test]
fn rows_of_the_user_go_before_and_every_answer_says_so() {
    let bench = Bench::new();
    bench.write("described.json", DESCRIBED);
    let dry = bench.iostone(&["catalog", "update", "--dry-run", "described.json"]).ended_with(0);
    assert!(dry.stdout.contains("ebs_baseline: 62.5MB/s -> 93.75MB/s"), "{}", dry.stdout);
    assert!(dry.stdout.contains("2 rows read: 1 added, 1 changed, 0 unchanged"), "{}", dry.stdout);
    let mine = bench.path("config/iostone/catalogue.toml");
    assert!(!mine.exists());
    bench
        .iostone(&["catalog", "update", "described.json", "--source", "EC2", "--date", "2026-11"])
        .ended_with(0);
    let text = fs::read_to_string(&mine).unwrap();
    assert!(text.contains("ebs_baseline = \"93.75MB/s\"") && !text.contains("vcpus = 2"), "{text}");
    let shown = bench.iostone(&["catalog", "show", "c4.large", "--json"]).ended_with(0).json();
    assert_eq!(shown["ebs"]["baseline_bytes_per_second"], 93_750_000);
    let source = shown["source"].as_str().unwrap();
    assert!(source.contains("your catalogue, ") && source.ends_with("(EC2, 2026-11)"), "{source}");
    let new = bench.iostone(&["catalog", "show", "z9.large"]).ended_with(0).stdout;
    assert!(new.contains("your catalogue") && is_unknown(&new, "memory"), "{new}");
    let again = bench.iostone(&["catalog", "update", "described.json"]).ended_with(0);
    assert!(again.stdout.contains("0 added, 0 changed, 2 unchanged"), "{}", again.stdout);
}

#[test]
fn updates_at_the_same_time_all_get_in() {
    let bench = Bench::new();
    let names: Vec<String> = (0..8).map(|number| format!("z{number}.large")).collect();
    let children: Vec<_> = names
        .iter()
        .map(|name| {
            let file = format!("{name}.toml");
            bench.write(&file, format!("[instance.\"{name}\"]\nvcpus = 2\n"));
            bench.command(&["--quiet", "catalog", "update", &file]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = fs::read_to_string(bench.path("config/iostone/catalogue.toml")).unwrap();
    for name in names {
        assert!(text.contains(&name), "{name} is lost:\n{text}");
    }
    let left = fs::read_dir(bench.path("config/iostone")).unwrap().count();
    assert_eq!(left, 1, "only the catalogue is there");
}

#[test]
fn a_table_is_whole_in_a_pipe_and_as_wide_as_columns_says() {
    let bench = Bench::new();
    let volumes = bench.iostone(&["catalog", "search", "--volumes", "gp"]).ended_with(0).stdout;
    assert!(volumes.contains("limits known") && !volumes.contains("Not shown"), "{volumes}");
    let narrow = |columns: &str| {
        let mut command = bench.command(&["catalog", "search", "--volumes", "gp"]);
        crate::support::Said::from(command.env("COLUMNS", columns).output().unwrap()).ended_with(0).stdout
    };
    let volumes = narrow("80");
    assert!(volumes.contains("IOPS now") && volumes.contains("Not shown, for lack of space:"), "{volumes}");
    assert!(narrow("400").contains("limits known"));
}

#[test]
fn types_are_found_in_capitals_and_what_is_not_known_is_not_told() {
    let bench = Bench::new();
    for (name, title) in [("C4.LARGE", "c4.large"), ("GP2", "gp2")] {
        let shown = bench.iostone(&["catalog", "show", name]).ended_with(0).stdout;
        assert!(shown.starts_with(title), "{shown}");
    }
    let said = bench.iostone(&["catalog", "show", "c4.lagre"]).ended_with(2);
    said.complains_of("did you mean `c4.large`? `iostone catalog search` lists");
    let said = bench.iostone(&["catalog", "search", "--max-price", "-1"]).ended_with(2);
    said.complains_of("expected US dollars per hour above 0");
    let t1 = bench.iostone(&["catalog", "show", "t1.micro"]).ended_with(0).stdout;
    assert!(!t1.contains("not known to be burstable") && t1.contains("`iostone credits t1.micro`"), "{t1}");
    bench.iostone(&["credits", "t1.micro", "--work", "5min"]).ended_with(0);
    fs::create_dir_all(bench.path("config/iostone")).unwrap();
    bench.write("config/iostone/catalogue.toml", "[instance.\"lab.large\"]\nvcpus = 4\n");
    let lab = bench.iostone(&["catalog", "show", "lab.large"]).ended_with(0).stdout;
    assert!(
        lab.lines().any(|line| line.trim_start().starts_with("CPU credits") && line.ends_with("unknown")),
        "{lab}"
    );
}

#[test]
fn volume_laws_that_cannot_hold_and_files_without_rows_are_refused() {
    let bench = Bench::new();
    let row = |law: &str| {
        format!("[[volume]]\nname = \"nas/x\"\niops = {law}\nbasis = \"assumed\"\nsource = \"me\"\n")
    };
    bench.write("wrong.toml", row("{ law = \"provisioned\", min = 100, max = 10 }"));
    bench
        .iostone(&["catalog", "update", "wrong.toml"])
        .ended_with(2)
        .complains_of("`iops.min` is 100, and must not be above `max`, which is 10");
    bench.write("floor.toml", row("{ law = \"size\", per_gib = 1, floor = 2000, cap = 1000 }"));
    bench
        .iostone(&["catalog", "update", "floor.toml"])
        .ended_with(2)
        .complains_of("`iops.floor` is 2\u{202f}000");
    bench.write(
        "right.toml",
        row("{ law = \"provisioned\", min = 10, max = 100 }")
            .replace("iops", "size = [\"1GiB\", \"8TiB\"]\niops"),
    );
    let said = bench.iostone(&["catalog", "update", "right.toml"]).ended_with(0);
    assert!(said.stdout.contains("size: 1GiB to 8TiB"), "{}", said.stdout);
    let said = bench.iostone(&["predict", "--volume", "nas/x:1GiB", "--write", "1MiB"]).ended_with(2);
    said.complains_of("nas/x:1GiB can have 10 to 100 IOPS");
    bench.iostone(&["catalog", "update", "/dev/null"]).ended_with(2).complains_of("`/dev/null` has no rows");
    bench.write("own.toml", row("{ law = \"size\", per_gib = 5 }").replace("nas/x", "nas/y"));
    bench.iostone(&["catalog", "update", "own.toml"]).ended_with(0);
    let text = fs::read_to_string(bench.path("config/iostone/catalogue.toml")).unwrap();
    assert!(!text.contains("base") && !text.contains("floor"), "nobody wrote them:\n{text}");
}

#[test]
fn a_home_that_is_closed_holds_no_catalogue() {
    let bench = Bench::new();
    bench.write("closed", "a file, not a folder");
    let ask = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.env("XDG_CONFIG_HOME", bench.path("closed"));
        crate::support::Said::from(command.output().unwrap())
    };
    ask(&["catalog", "show", "c4.large"]).ended_with(0).complains_of("using the built-in catalogue");
    ask(&["explain", "casebook", "instance-bandwidth"]).ended_with(0).complains_of("is not accessible");
    bench.write("described.json", DESCRIBED);
    ask(&["catalog", "update", "described.json"]).ended_with(2).complains_of("writing `");
}

#[test]
fn an_export_reads_back_as_nothing_new() {
    let bench = Bench::new();
    for format in ["csv", "json", "toml"] {
        let export =
            bench.iostone(&["catalog", "export", "--format", format, "--output", "all"]).ended_with(0);
        assert_eq!(export.stdout, "");
        let update = bench.iostone(&["catalog", "update", "all", "--json"]).ended_with(0).json();
        assert_eq!(update["changes"], serde_json::json!([]), "{format}");
        assert!(update["rows"].as_u64().unwrap() >= 1437 && update["written"] == false, "{format}");
    }
    assert!(!bench.path("config").exists(), "nothing differs, so nothing is written");
}

#[test]
fn a_broken_file_stops_who_asks_the_catalogue_and_nobody_else() {
    let bench = Bench::new();
    let with = |arguments: &[&str], file: &str| {
        let mut command = bench.command(arguments);
        command.env("IOSTONE_CATALOGUE", bench.path(file));
        crate::support::Said::from(command.output().unwrap())
    };
    bench.write("wrong.toml", "[instance.\"c4.large\"]\nmemry = \"4GiB\"\nebs_baseline = 500\n");
    let said = with(&["catalog", "show", "c4.large"], "wrong.toml").ended_with(2);
    said.complains_of("`memry` is not a key of")
        .complains_of("wrong.toml:2:1")
        .complains_of("a rate in quotes");
    with(&["catalog", "--help"], "wrong.toml").ended_with(0);
    with(&["list"], "wrong.toml").ended_with(0);
    with(&["catalog"], "absent.toml").ended_with(2).complains_of("names a catalogue that does not exist");
    bench.write("latin.toml", b"# ok\n# caf\xe9\n");
    with(&["catalog"], "latin.toml").ended_with(2).complains_of("is not UTF-8 from line 2 on");
    fs::File::create(bench.path("large.toml")).unwrap().set_len(100 << 20).unwrap();
    with(&["catalog"], "large.toml").ended_with(2).complains_of("is larger than 16 MiB");
    symlink(bench.path("loop.toml"), bench.path("loop.toml")).unwrap();
    with(&["catalog"], "loop.toml").ended_with(2).complains_of("reading");
    fs::create_dir(bench.path("folder.toml")).unwrap();
    with(&["catalog"], "folder.toml").ended_with(2).complains_of("reading");
    bench.write("cut.json", "{\"InstanceTypes\": [{");
    bench.iostone(&["catalog", "update", "cut.json"]).ended_with(2).complains_of("line 1, column");
}

#[test]
fn a_catalogue_that_cannot_be_written_is_as_it_was() {
    let bench = Bench::new();
    bench.write("described.json", DESCRIBED);
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    let said = command.env("IOSTONE_CATALOGUE", "/dev/full").output().unwrap();
    assert_eq!(said.status.code(), Some(2), "{said:?}");
    fs::create_dir(bench.path("real")).unwrap();
    bench.write("real/rows.toml", "# mine\n");
    symlink(bench.path("real/rows.toml"), bench.path("link.toml")).unwrap();
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    assert!(command.env("IOSTONE_CATALOGUE", bench.path("link.toml")).status().unwrap().success());
    let mut command = bench.command(&["catalog", "update", "described.json"]);
    assert!(command.env("IOSTONE_CATALOGUE", bench.path("new.toml")).status().unwrap().success());
    assert!(bench.path("new.toml").is_file(), "who updates a named catalogue makes it");
    assert!(bench.path("link.toml").is_symlink());
    let text = fs::read_to_string(bench.path("real/rows.toml")).unwrap();
    assert!(text.starts_with("# mine\n") && text.contains("z9.large"), "{text}");
}
