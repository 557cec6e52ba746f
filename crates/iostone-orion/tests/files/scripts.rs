//! Files of 11.1 are cut apart as shell scripts of that time do it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostone_orion::files::{Format, files_of};

use super::records::{measured, published};

/// Runs a line of shell in that directory and gives what it prints.
fn shell(directory: &Path, line: &str) -> String {
    let output = Command::new("sh").arg("-c").arg(line).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn in_directory(record: &iostone_model::orion::OrionRecord) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files_of(record, &directory.path().join("orion_20180913_0034"), Format::V11_1) {
        fs::write(path, text).unwrap();
    }
    let path = directory.path().to_owned();
    (directory, path)
}

#[test]
fn the_maxima_are_cut_out_of_the_summary() {
    let (_directory, path) = in_directory(&published());
    for (line, expected) in [
        (r"sed -n 's/^Maximum Small IOPS=\([0-9]*\).*/\1/p' orion_*_summary.txt", "6210"),
        (r"awk -F'[= ]' '/Maximum Large MBPS=/ { print $4 }' orion_*_summary.txt", "374.26"),
        (r"grep 'Minimum Small Latency=' orion_*_summary.txt | cut -d= -f2 | cut -d' ' -f1", "0.43"),
        (r"awk '/Total Data Points:/ { print $NF }' orion_*_summary.txt", "8"),
        (r"tail -n 1 orion_*_summary.txt | cut -d' ' -f1", "Minimum"),
        (r"head -n 1 orion_*_summary.txt | awk '{ print $3 }'", "11.1.0.7.0"),
        ("ls orion_* | wc -l", "5"),
    ] {
        assert_eq!(shell(&path, line), expected, "{line}");
    }
}

#[test]
fn the_tables_are_cut_at_their_commas() {
    let (_directory, path) = in_directory(&published());
    for (line, expected) in [
        (r"cut -d, -f2 orion_*_mbps.csv | tail -n +2 | tr -d ' ' | tr '\n' ' '", "271.58 374.26"),
        (r"awk -F, '$1 == 0 { print $4 + 0 }' orion_*_iops.csv", "5450"),
        (r"awk -F, 'NR == 1 { print $NF + 0 }' orion_*_lat.csv", "5"),
        (r"awk -F, '$1 == 0 { print $NF }' orion_*_lat.csv | tr -d ' '", "0.80"),
    ] {
        assert_eq!(shell(&path, line), expected, "{line}");
    }
}

#[test]
fn the_last_field_of_a_point_is_its_figure() {
    let record = measured("-run advanced -matrix point -num_small 4 -num_large 2", 1);
    let (_directory, path) = in_directory(&record);
    let point = &record.points[0];
    let last =
        |file: &str| shell(&path, &format!("tail -n 1 orion_*_{file}.csv | awk -F, '{{ print $NF + 0 }}'"));
    assert_eq!(last("iops"), format!("{:.0}", point.iops().unwrap()));
    let figure = |text: String| text.parse::<f64>().unwrap();
    assert!((figure(last("lat")) - point.latency().unwrap() * 1e3).abs() < 0.006);
    assert!((figure(last("mbps")) - point.throughput().unwrap() / 1e6).abs() < 0.006);
    assert!(fs::read_to_string(path.join("orion_20180913_0034_iops.csv")).unwrap().is_ascii());
}
