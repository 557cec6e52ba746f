//! Described datasets: what is read of them, and what is said of those that are wrong.

use iostone_model::dataset::{DataKind, Ending};
use iostone_model::metric::Unit;

use super::*;

const EBS: &str = r#"
name = "ebs-bandwidth"
question = "How long does it take to fill a 220 GiB volume?"
conclusion = "The instance's own link is the limit"
source = "Field report 4, 2017-07-10"
order = "as-listed"
factors = ["instance"]

[labels]
filesystem = "ext4"

[facts]
source = "/dev/urandom"
ending = "disk-full"
volume_bytes = "220GiB"
work = "dd bs=1M"

[[table]]
tool = "dd"
rows = """
# A comment.
instance,volume,bytes,seconds,dd_rate,instance_limit_mbps
c4.large,gp2 220GiB,232303771648,3763.15,61.7 MB/s,500
c4.4xlarge,gp2 220GiB,232303767552,1354.88,171 MB/s,2000
"""
[table.columns]
bytes = { fact = "claimed_written_bytes" }
seconds = { metric = "wall_time", unit = "s" }
dd_rate = { metric = "throughput" }
instance_limit_mbps = "ignore"

[[facts_for]]
where = { instance = "c4.4xlarge" }
memory_bytes = "30GiB"
source = "the provider's table of instances"

[[ceiling]]
name = "instance link"
limit = "500Mbps"
restated = "62.5MiB/s"
metrics = ["throughput"]
where = { instance = "c4.large" }
source = "the provider's table of instances"

[[ceiling]]
name = "volume"
limit = "160MiB/s"
source = "the provider's page on volumes"

[[prediction]]
metric = "wall_time"
expected = "59min"
amount = "220GiB"
rate = "62.5MiB/s"
where = { instance = "c4.large" }
source = "the author"

[[comparison]]
metric = "throughput"
by = "instance"
baseline = "c4.large"
margin = "3%"
claim = "choose the instance by its link"
"#;

fn nothing(_: &str) -> io::Result<Vec<u8>> {
    Err(io::ErrorKind::NotFound.into())
}

fn read(text: &str) -> Described {
    read_described(text, "data.toml", &nothing).unwrap()
}

fn refuse(text: &str) -> String {
    read_described(text, "data.toml", &nothing).unwrap_err().to_string()
}

/// The EBS dataset with one piece of its text replaced.
fn refuse_with(from: &str, to: &str) -> String {
    assert!(EBS.contains(from), "{from}");
    refuse(&EBS.replacen(from, to, 1))
}

#[test]
fn a_table_is_read_as_it_is_described() {
    let described = read(EBS);
    assert_eq!(described.question.as_deref(), Some("How long does it take to fill a 220 GiB volume?"));
    let dataset = &described.dataset;
    assert_eq!((dataset.name.as_str(), dataset.order), ("ebs-bandwidth", Order::AsListed));
    assert_eq!(dataset.unit_of("throughput"), Unit::BytesPerSecond);
    assert_eq!(dataset.metrics.len(), 2);
    let first = &dataset.observations[0];
    assert_eq!((first.place().as_str(), first.tool.as_str()), ("data.toml, line 23", "dd"));
    assert!(EBS.lines().nth(22).unwrap().starts_with("c4.large"));
    assert_eq!(first.value("wall_time"), Some(3763.15));
    assert_eq!(first.value("throughput"), Some(61.7 * 1e6));
    assert_eq!(first.labels["filesystem"], "ext4");
    assert_eq!(first.labels["volume"], "gp2 220GiB");
    assert_eq!(first.facts.claimed_written_bytes, Some(232_303_771_648));
    assert_eq!(first.facts.ending, Some(Ending::DiskFull));
    assert_eq!(first.facts.memory_bytes, None);
    assert_eq!(dataset.observations[1].facts.memory_bytes, Some(30 << 30));
    assert_eq!(described.known[0].facts, ["memory_bytes"]);
    assert_eq!(described.comparisons[0].margin, Some(0.03));
    assert!(dataset.ceilings[0].bounds(first, "throughput", Unit::BytesPerSecond));
    let restated =
        dataset.ceilings[0].restated.as_ref().map(|restated| (restated.value, restated.text.as_str()));
    assert_eq!(restated, Some((65_536_000.0, "62.5MiB/s")));
    assert!(dataset.predictions[0].is_about(first));
    assert!(!dataset.predictions[0].is_about(&dataset.observations[1]));
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let page = include_str!("../../../../docs/reference/described-datasets.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let described = read(example);
    assert_eq!((described.dataset.observations.len(), described.comparisons.len()), (2, 1));
    assert_eq!((described.dataset.ceilings.len(), described.dataset.predictions.len()), (1, 1));
    for key in crate::csv_table::KEYS {
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
}

#[test]
fn a_table_of_quotas_is_read_as_it_is_described() {
    let text = r#"
        name = "cpu-limit"
        order = "unknown"
        factors = ["limit"]
        [facts]
        work = "perlbrew install perl-5.18.2"
        cpus = 1
        [[table]]
        rows = """
            instance,condition,cfs_quota_us,real_s,user_s,sys_s
            t1.micro,no limit,-1,11219.721,7674.352,3112.487
            t1.micro,25 %,250000,5408.645,904.317,331.501
            t1.micro,30 %,300000,4503.421,901.468,324.844
            t1.micro,40 %,400000,5246.738,1420.645,530.737
        """
        columns = { condition = { label = "limit" }, cfs_quota_us = "ignore" }
        [[facts_for]]
        where = { limit = "30 %" }
        cpu_quota = "30%"
        [[comparison]]
        metric = "wall_time"
        by = "limit"
        baseline = "no limit"
        claim = "30 % is best"
    "#;
    let described = read(text);
    let dataset = &described.dataset;
    // The columns that the file says nothing of are known by their names.
    assert_eq!(dataset.metrics.keys().collect::<Vec<_>>(), ["system_time", "user_time", "wall_time"]);
    assert_eq!(dataset.values_of("limit"), ["no limit", "25 %", "30 %", "40 %"]);
    let best = &dataset.observations[2];
    assert_eq!((best.value("wall_time"), best.facts.cpu_quota), (Some(4503.421), Some(0.3)));
    assert_eq!(best.place(), "data.toml, line 13");
    assert_eq!(described.comparisons[0].better, Direction::Lower);
    assert_eq!(described.comparisons[0].margin, None);
}

#[test]
fn facts_of_a_row_outrank_those_of_its_labels_and_these_those_of_its_table() {
    let text = r#"
        [facts]
        steal = "1%"
        memory_bytes = "1GiB"
        cpus = 1
        data = "zeros"
        [[table]]
        rows = "host,memory,ms\na,4,1\na,,2\nb,,3\n"
        facts = { memory_bytes = "2GiB", cpus = 2 }
        columns = { memory = { fact = "memory_bytes", unit = "GiB" } }
        [[facts_for]]
        where = { host = "a" }
        memory_bytes = "3GiB"
        averaged = { executions = 5, by = "mean" }
    "#;
    let dataset = read(text).dataset;
    let memory: Vec<_> =
        dataset.observations.iter().map(|one| one.facts.memory_bytes.unwrap() >> 30).collect();
    assert_eq!(memory, [4, 3, 2]);
    let last = &dataset.observations[2].facts;
    assert_eq!((last.cpus, last.steal, last.data), (Some(2.0), Some(0.01), Some(DataKind::Zeros)));
    assert_eq!(dataset.observations[0].facts.averaged.unwrap().executions, Some(5));
    assert_eq!(last.averaged, None);
    // Rows in one line of text all stand on that line.
    assert_eq!(dataset.observations[0].line, Some(8));
}

#[test]
fn observations_stand_without_a_table() {
    let text = r#"
        [metrics]
        score = { better = "higher", title = "points" }
        [[observation]]
        labels = { mode = "burst", disks = 2 }
        figures = { wall_time = "14min", score = 61.70 }
        run = 1
        block = 3
        [[observation]]
        labels = { mode = "baseline" }
        facts = { ending = { how = "given-up", why = "not ended after two weeks" }, network = "the build downloads" }
    "#;
    let dataset = read(text).dataset;
    assert_eq!(dataset.factors, ["mode"]);
    let [burst, baseline] = dataset.observations.as_slice() else { panic!() };
    assert_eq!(burst.value("wall_time"), Some(840.0));
    assert_eq!(burst.figures["score"], iostone_model::dataset::Figure { value: 61.7, step: 0.01 });
    assert_eq!(
        (burst.labels["disks"].as_str(), burst.run.as_deref(), burst.block),
        ("2", Some("1"), Some(3))
    );
    assert_eq!(dataset.metrics["score"].better, Some(Direction::Higher));
    assert_eq!(baseline.facts.ending, Some(Ending::GivenUp("not ended after two weeks".to_owned())));
}

#[test]
fn tables_lie_in_files_beside_it() {
    let open = |file: &str| match file {
        "sub/one.csv" => Ok(b"# c\ncondition,run,throughput_mb_s\non,1,198.8\noff,1,198.5\n".to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    let text = "[[table]]\nname = \"one\"\nfile = \"sub/one.csv\"\n";
    let dataset = read_described(text, "data.toml", &open).unwrap().dataset;
    assert_eq!(dataset.observations[1].place(), "sub/one.csv, line 4");
    assert_eq!((dataset.name.as_str(), dataset.observations[1].table.as_str()), ("data", "one"));
    let files: Vec<&str> = dataset.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["data.toml", "sub/one.csv"]);
    assert_eq!(dataset.files[1].sha256.len(), 64);
    let missing =
        read_described("[[table]]\nfile = \"two.csv\"", "data.toml", &open).unwrap_err().to_string();
    assert_eq!(
        missing,
        "`data.toml`, line 2: `table.file`: expected a CSV file beside this one, found `two.csv`: entity not found"
    );
}

#[test]
fn paths_stay_in_the_folder() {
    for path in ["../a.csv", "/etc/passwd", "a/../../b", "", ".", "a\\\\b"] {
        let message = refuse(&format!("[[table]]\nfile = \"{path}\""));
        assert!(
            message.contains("line 2: `table.file`: expected the name of a file in the folder"),
            "{message}"
        );
    }
}

#[test]
fn a_mistyped_key_is_met_with_the_one_that_was_meant() {
    assert_eq!(
        refuse_with("question =", "qeustion ="),
        "`data.toml`, line 3: unknown key `qeustion`; did you mean `question`?"
    );
    assert_eq!(
        refuse_with("memory_bytes", "memory"),
        "`data.toml`, line 34: unknown key `facts_for.memory`; did you mean `memory_bytes`?"
    );
    assert_eq!(
        refuse_with("dd_rate = {", "dd_raet = {"),
        "`data.toml`, line 29: unknown key `table.columns.dd_raet`; did you mean `dd_rate`?"
    );
}

#[test]
fn a_wrong_value_is_named_with_its_line_and_what_was_expected() {
    let is = |from: &str, to: &str, message: &str| assert_eq!(refuse_with(from, to), message);
    is(
        "\"500Mbps\"",
        "\"500 Mb\"",
        "`data.toml`, line 39: `ceiling.limit`: expected a number with its unit, as in `160MiB/s`, `500Mbps`, `220GiB`, \
         `23min`, `1000/s` or `20%`, found `500 Mb`",
    );
    is(
        "expected = \"59min\"",
        "expected = \"59MB\"",
        "`data.toml`, line 52: `prediction.expected`: expected a number of seconds, found `59MB`",
    );
    is(
        "{ instance = \"c4.large\" }\nsource = \"the author\"",
        "{ instance = \"c4.larg\" }\nsource = \"the author\"",
        "`data.toml`, line 55: `prediction.where`: expected a value of `instance` (did you mean `c4.large`?), found \
         `c4.larg`",
    );
    is(
        "metric = \"throughput\"\nby",
        "metric = \"iops\"\nby",
        "`data.toml`, line 59: `comparison.metric`: expected a figure (there are `throughput`, `wall_time`), found \
         `iops`",
    );
    is(
        "baseline = \"c4.large\"",
        "",
        "`data.toml`, line 58: `comparison.baseline` is missing; expected the level that the others were held against",
    );
    is(
        "unit = \"s\"",
        "unit = \"MB/s\"",
        "`data.toml`, line 28: `table.columns.seconds.metric`: expected a unit of seconds, in which `wall_time` is \
         counted, found `unit = \"MB/s\"`",
    );
    is(
        "order = \"as-listed\"",
        "order = \"randomised-blocks\"",
        "`data.toml`, line 6: `order`: expected `randomised-blocks` only where every observation has a block: a column \
         that is `\"block\"`, found `randomised-blocks`",
    );
    is("3763.15", "an hour", "`data.toml`, line 23: expected a number, in column `seconds`, found `an hour`");
    is(
        "ending = \"disk-full\"",
        "ending = 5",
        "`data.toml`, line 14: `facts.ending`: expected `completed`, `disk-full`, `given-up: WHY` or `failed: WHY`, \
         found the number `5`",
    );
}

#[test]
fn a_file_without_figures_is_refused() {
    assert!(refuse("name = \"x\"").contains("`table` is missing; expected `[[table]]`"));
    assert!(refuse("[[observation]]\nlabels = { a = \"b\" }").contains("`observation.figures` is missing"));
    assert!(refuse("[[table]]\nname = \"x\"").contains("`table.file` is missing"));
    assert!(refuse("name = ").contains("`data.toml`, line 1: this is not TOML"));
    assert!(refuse("[[table]]\nrows = \"a,b\\n1\"\n").contains("`data.toml`, line 2: expected 2 cells"));
    let twice = "[[observation]]\nfigures = { a = \"1s\" }\n[[observation]]\nfigures = { a = \"1MB/s\" }\n";
    assert!(refuse(twice).contains("line 4: `observation.figures.a`: expected `a` in seconds"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "(\\[\\[(table|observation|ceiling|comparison)\\]\\]\n|[a-z_]{1,9} = (\"[a-z0-9,\\\\n]{0,20}\"|[0-9]{1,3}|\\{ [a-z]{1,4} = 1 \\})\n){0,8}") {
        let _ = read_described(&text, "data.toml", &nothing);
    }

    #[test]
    fn no_damaged_file_panics(start in 0..EBS.len(), length in 0..40usize, put in "[\\[\\]{}=\",a-z0-9\n.]{0,8}") {
        let end = (start + length).min(EBS.len());
        if let (Some(before), Some(behind)) = (EBS.get(..start), EBS.get(end..)) {
            let _ = read_described(&format!("{before}{put}{behind}"), "data.toml", &nothing);
        }
    }
}

#[test]
fn what_is_said_twice_is_refused_with_its_line() {
    let table = "[[table]]\nrows = \"mode,x_s\\na,1.5\\nb,2.5\"\n";
    assert!(refuse(&format!("[labels]\nmode = \"c\"\n{table}")).contains(
        "line 4: `table.rows`: expected the label `mode` either in `labels` or in a column, found both"
    ));
    for key in ["within = [\"mode\"]", "block = \"mode\""] {
        let comparison = format!("[[comparison]]\nmetric = \"x\"\nby = \"mode\"\nbaseline = \"a\"\n{key}\n");
        let message = refuse(&format!("{table}{comparison}"));
        assert!(message.contains("line 7: `comparison."), "{message}");
        assert!(message.ends_with("expected another label than `by` compares, found `mode`"), "{message}");
    }
    let itself = refuse("[[table]]\nfile = \"data.toml\"\n");
    assert!(itself.contains("line 2: `table.file`") && itself.ends_with("this file itself"), "{itself}");
}
