//! Plain tables of people who never read the rules of columns: their conditions must not merge.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]

use std::fmt::Write;
use std::fs;

use iostone_model::dataset::{Dataset, Observation};
use iostone_model::metric::Unit;
use iostone_tools::described::open_described;
use iostone_tools::import::{Import, ImportOptions, import};

fn read_as(name: &str, text: &str, by: Option<&str>) -> Import {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let by = by.map(|pattern| pattern.parse().unwrap());
    import(&[path], &ImportOptions { by, ..ImportOptions::default() })
}

fn read(text: &str) -> Dataset {
    let import = read_as("a.csv", text, None);
    assert!(import.failures.is_empty(), "{:?}", import.failures);
    import.dataset
}

fn refuse(text: &str) -> String {
    let import = read_as("a.csv", text, None);
    assert!(import.dataset.observations.is_empty());
    import.failures[0].error.to_string()
}

/// The conditions with how many observations each has.
fn conditions(dataset: &Dataset) -> Vec<(String, usize)> {
    let mut conditions: Vec<(String, usize)> = Vec::new();
    for observation in &dataset.observations {
        let condition = observation.condition(&dataset.factors);
        match conditions.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, count)) => *count += 1,
            None => conditions.push((condition, 1)),
        }
    }
    conditions
}

fn figures(dataset: &Dataset) -> Vec<&str> {
    dataset.metrics.keys().map(String::as_str).collect()
}

#[test]
fn circumstances_that_were_varied_part_conditions() {
    let mut text = "filesystem,run,throughput_mb_s\n".to_owned();
    for filesystem in ["ext4", "xfs"] {
        for run in 1..=6 {
            writeln!(text, "{filesystem},{run},{}.5", 60 + run).unwrap();
        }
    }
    let expected = [("filesystem=ext4".to_owned(), 6), ("filesystem=xfs".to_owned(), 6)];
    assert_eq!(conditions(&read(&text)), expected);
}

#[test]
fn an_image_that_a_kernel_determines_stays_a_circumstance() {
    let text = "kernel,image,run,throughput_mb_s\n2.6,a,1,58.7\n2.6,a,2,60.9\n3.1,a,1,195.1\n3.1,a,2,196.5\n3.2,b,1,330.0\n3.2,b,2,331.4\n";
    assert_eq!(read(text).factors, ["kernel"]);
    let text = "instance,condition,real_s\nt1.micro,30 %,4503.4\nm1.small,no limit,2763.6\nm1.medium,no limit,1533.9\n";
    assert_eq!(conditions(&read(text)).len(), 3);
}

#[test]
fn numbers_under_unknown_names_beside_a_figure_with_its_unit_are_levels() {
    for (name, levels) in
        [("release", ["1.10", "1.20"]), ("gadgets", ["1", "4"]), ("os_rel", ["22.04", "24.04"])]
    {
        let mut text = format!("{name},throughput_mb_s\n");
        for (index, level) in levels.iter().cycle().take(6).enumerate() {
            writeln!(text, "{level},{}.25", 60 + index * index).unwrap();
        }
        let dataset = read(&text);
        assert_eq!(dataset.factors, [name]);
        assert_eq!(figures(&dataset), ["throughput"]);
    }
    assert_eq!(read("gadgets,x_s\n1,9.5\n2,8.5\n4,7.5\n").factors, ["gadgets"]);
}

#[test]
fn a_figure_whose_column_names_no_unit_is_remarked_on() {
    let dataset = read("mode,score,x_s\na,17.25,1.5\nb,17.5,1.75\n");
    assert_eq!(figures(&dataset), ["score", "x"]);
    let remarks = &dataset.observations[0].facts.remarks;
    assert_eq!(remarks, &["column `score` names no unit; taken for a figure"]);
}

#[test]
fn quotas_and_times_below_zero_are_levels() {
    let dataset = read("cfs_quota_us,limit_s,x_s\n-1,-1,11219.7\n250000,3,5408.6\n");
    assert_eq!(figures(&dataset), ["x"]);
    assert_eq!(dataset.factors, ["cfs_quota_us", "limit_s"]);
}

#[test]
fn a_column_that_counts_within_conditions_is_the_repetition() {
    for name in ["attempt", "try", "iteration", "rep", "sample", "n", "#", "test_no", "whatever"] {
        // A line that begins with `#` would be a comment.
        let text = format!("mode,{name},x_s\na,1,1.5\na,2,1.6\na,3,1.7\nb,1,2.5\nb,2,2.6\nb,3,2.7\n");
        let dataset = read(&text);
        assert_eq!(conditions(&dataset), [("mode=a".to_owned(), 3), ("mode=b".to_owned(), 3)], "{name}");
        assert_eq!(dataset.observations[4].run.as_deref(), Some("2"), "{name}");
        assert_eq!(!dataset.observations[0].facts.remarks.is_empty(), name == "whatever");
    }
    // A switch counts 0 and 1 within every other label, and is no repetition.
    let dataset = read("kernel,barrier,x_s\n5,0,1.5\n5,1,1.6\n6,0,1.7\n6,1,1.8\n");
    assert_eq!(dataset.factors, ["barrier", "kernel"]);
}

#[test]
fn a_table_under_a_header_is_not_taken_for_lines_of_an_old_bonnie() {
    // 27 cells, as bonnie++ 1.03 prints them.
    let header: Vec<String> = ["host".to_owned(), "size_mib".to_owned()]
        .into_iter()
        .chain((1..26).map(|i| format!("phase{i}_kb_s")))
        .collect();
    let row: Vec<String> = ["a".to_owned(), "2G".to_owned()]
        .into_iter()
        .chain((1..26).map(|i| (1000 + i).to_string()))
        .collect();
    let text = format!("{}\n{}\n", header.join(","), row.join(","));
    let import = read_as("a.csv", &text, None);
    assert_eq!(
        import.dataset.files.first().map(|file| file.tool.as_str()),
        Some("csv"),
        "{:?}",
        import.failures
    );
}

#[test]
fn thousands_of_a_count_are_no_kibibytes() {
    let dataset = read("mode,IOPS (k)\na,14.5\nb,15.5\n");
    assert_eq!(dataset.unit_of("iops"), Unit::PerSecond);
    assert_eq!(dataset.observations[0].value("iops"), Some(14500.0));
}

#[test]
fn an_export_is_read_as_the_observations_it_was_made_of() {
    let text = "table,run,block,order,disks,filesystem,metric,value,unit\n\
        one,1,1,3.5,2,ext4,throughput,61700000,B/s\none,1,1,3.5,2,ext4,latency_p99,0.0125,s\n\
        one,2,1,4.5,2,,throughput,61800000,B/s\none,2,1,4.5,2,,throughput,61900000,B/s\n\
        one,2,1,5,4,,steal,0.5,1\n";
    let dataset = read(text);
    assert_eq!(dataset.observations.len(), 4);
    let first = &dataset.observations[0];
    assert_eq!(
        (first.table.as_str(), first.run.as_deref(), first.block, first.order),
        ("one", Some("1"), Some(1), Some(3.5))
    );
    assert_eq!((first.value("throughput"), first.value("latency_p99")), (Some(61.7e6), Some(0.0125)));
    assert_eq!(first.labels.get("filesystem").map(String::as_str), Some("ext4"));
    assert_eq!(dataset.observations[1].labels.get("filesystem"), None);
    assert_eq!(dataset.unit_of("steal"), Unit::Share);
    assert_eq!(dataset.factors, ["disks"]);
    assert!(refuse(&text.replace("0.5,1\n", "0.5,MB\n")).starts_with("line 6: expected `B/s`"));
}

#[test]
fn a_gap_in_a_level_is_refused_and_one_in_a_note_is_not() {
    let message = refuse("mode,x_s\non,1.5\non,1.6\noff,1.7\noff,1.8\n,1.9\n");
    assert_eq!(
        message,
        "line 6: expected a value in column `mode`, as in other rows (`-` for none), found an empty cell"
    );
    assert!(
        refuse("mode,x_s\non,1.5\n,1.6\noff,1.7\n,1.8\n")
            .starts_with("line 3: expected a value in column `mode`")
    );
    assert_eq!(read("mode,remark,x_s\non,cold,1.5\non,,1.6\noff,cold,1.7\noff,warm,1.9\n").factors, ["mode"]);
}

#[test]
fn a_table_without_a_header_is_refused() {
    assert!(refuse("on,198.8\non,198.5\n").starts_with("line 1: expected a header line"));
    assert!(refuse("on,1,198.8\non,2,198.5\n").starts_with("line 1: expected a header line"));
}

#[test]
fn signs_of_thousands_and_what_excel_says_first_are_understood() {
    let values = |text: &str| -> Vec<f64> {
        read(text).observations.iter().filter_map(|one: &Observation| one.value("throughput")).collect()
    };
    assert_eq!(
        values("mode,throughput_b_s\na,\"1,234.5\"\nb,7.5\n".replace("_b_s", "_bytes_s").as_str()),
        [1234.5, 7.5]
    );
    assert_eq!(values("sep=;\nmode;throughput_bytes_s\na;1.234,5\nb;1.234\nc;7,5\n"), [1234.5, 1234.0, 7.5]);
    // Thousands or a decimal point: nobody can tell.
    assert!(refuse("mode;throughput_bytes_s\na;1.234\nb;7,5\n").contains("expected a decimal comma"));
}

#[test]
fn sizes_of_files_are_the_working_set() {
    for text in ["file_size_gib,x_s\n8,1.5\n16,2.5\n", "filesize,x_s\n8GiB,1.5\n16GiB,2.5\n"] {
        let dataset = read(text);
        assert_eq!(dataset.observations[0].facts.working_set_bytes, Some(8 << 30), "{text}");
        assert_eq!(conditions(&dataset).len(), 2);
    }
    assert_eq!(read("memory_gib,x_s\n8,1.5\n16,2.5\n").observations[0].facts.memory_bytes, Some(8 << 30));
}

#[test]
fn a_name_that_contradicts_the_content_is_refused() {
    let text = "clients,x_s\n5,1.5\n8,2.5\n";
    let import = read_as("8-1.csv", text, Some("{clients}-{run}.csv"));
    let message = import.failures[0].error.to_string();
    assert!(message.starts_with("by its name `clients` is `8`, by its line 2 it is `5`;"), "{message}");
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.csv"), "mode,x_s\na,1.5\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.csv"), folder.path().join("a.csv")).unwrap();
    let path = folder.path().join("data.toml");
    fs::write(&path, "[[table]]\nfile = \"a.csv\"\n").unwrap();
    let message = open_described(&path).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("a symbolic link out of the folder"), "{message}");
}

#[test]
fn every_published_investigation_is_still_read() {
    for case in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../casebook")).unwrap() {
        let path = case.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            open_described(&path).unwrap();
        }
    }
}
