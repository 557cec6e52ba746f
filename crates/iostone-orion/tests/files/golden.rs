//! Texts that are known: published files of 11.1, and the lines that each kind of test has.

use iostone_model::orion::{CellEstimate, Knee, LoadPoint, OrionEnd, ServedAtPoint};
use iostone_orion::files::{self, Format, announcement, console, iops_csv, lat_csv, mbps_csv, summary};

use super::records::{asked, figures, measured, point_of, published};

#[test]
fn the_published_tables_come_out_byte_for_byte() {
    let record = published();
    let tables = [iops_csv, lat_csv, mbps_csv].map(|table| table(&record, Format::V11_1));
    assert_eq!(tables.each_ref().map(String::len), [128, 128, 100]);
    assert_eq!(tables[0], include_str!("../fixtures/11.1/iops.csv"));
    assert_eq!(tables[1], include_str!("../fixtures/11.1/lat.csv"));
    assert_eq!(tables[2], include_str!("../fixtures/11.1/mbps.csv"));
}

#[test]
fn the_published_summary_comes_out_but_for_the_line_that_says_who_measured() {
    let mut record = asked("-run simple -testname mytest -num_disks 8", 1);
    let mut large = figures(56.97, 1_000_000, 0.1, 0.0);
    large.reads.bytes = 56_970_000 * 60;
    record.points = vec![
        point_of(2, LoadPoint { small: 1, large: 0 }, Some(figures(68.0, 8192, 0.014_62, 0.0)), None),
        point_of(3, LoadPoint { small: 40, large: 0 }, Some(figures(442.0, 8192, 0.09, 0.0)), None),
        point_of(4, LoadPoint { small: 0, large: 7 }, None, Some(large)),
    ];
    let text = summary(&record, Format::V11_1);
    let ours = "Measured by iostone 0.1.0, in the layout of ORION 11.1\n\n";
    assert_eq!(text.matches(ours).count(), 1);
    assert_eq!(text.replace(ours, ""), include_str!("../fixtures/11.1/summary.txt"));
    assert!(text.ends_with(&console(&record, Format::V11_1)));
}

#[test]
fn the_layout_of_12_says_what_its_tables_hold_and_gives_microseconds() {
    let record = published();
    assert_eq!(
        lat_csv(&record, Format::V12),
        "# Mean latency of the small I/Os in microseconds, reads and writes together.\n\
         # Columns: outstanding small I/Os. Rows: outstanding large I/Os, or sequential streams.\n\
         Large/Small,      1,      2,      3,      4,      5\n          \
         0, 430.00, 450.00, 550.00, 670.00, 800.00\n          1\n          2\n"
    );
    let bare = |text: &str| text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    for table in [iops_csv, mbps_csv] {
        assert_eq!(bare(&table(&record, Format::V12)), table(&record, Format::V11_1).trim_end());
    }
    assert!(summary(&record, Format::V12).starts_with("ORION: ORacle IO Numbers -- Version 12.2.0.1.0\n\n"));
    assert!(summary(&record, Format::V12).contains("\n1 files found.\n"));
    assert_eq!(
        console(&record, Format::V12),
        "Maximum Large MBPS=374.26 @ Small=0 and Large=2\n\n\
         Maximum Small IOPS=6210 @ Small=5 and Large=0\n\
         Small Read Latency: avg=720.000 us, min=360.000 us, max=28800.000 us, std dev=72.000 us @ Small=5 and Large=0\n\n\
         Minimum Small Latency=430.000 usecs @ Small=1 and Large=0\n\
         Small Read Latency: avg=387.000 us, min=193.500 us, max=15480.000 us, std dev=38.700 us @ Small=1 and Large=0\n"
    );
}

#[test]
fn a_line_about_writes_stands_there_where_there_are_any() {
    let lines = |words: &str| {
        let text = console(&measured(words, 1), Format::V12);
        ["Small Read Latency:", "Small Write Latency:"].map(|begin| text.matches(begin).count())
    };
    assert_eq!(lines("-run oltp"), [2, 0]);
    assert_eq!(lines("-run oltp -write 20"), [2, 2]);
    assert_eq!(lines("-run oltp -write 100"), [0, 2]);
}

#[test]
fn each_level_has_its_maxima() {
    for format in [Format::V11_1, Format::V12] {
        let has = |words: &str| {
            let text = summary(&measured(words, 1), format);
            ["Maximum Large MBPS=", "Maximum Small IOPS=", "Minimum Small Latency="]
                .map(|begin| text.lines().any(|line| line.starts_with(begin)))
        };
        assert_eq!(has("-run simple"), [true; 3]);
        assert_eq!(has("-run normal"), [true; 3]);
        assert_eq!(has("-run oltp"), [false, true, true]);
        assert_eq!(has("-run dss"), [true, false, false]);
    }
}

#[test]
fn columns_are_listed_as_orion_lists_them() {
    let listed = |words: &str| {
        let text = summary(&measured(words, 1), Format::V11_1);
        let line = |begin: &str| {
            text.lines().find_map(|line| line.strip_prefix(begin)).unwrap_or_default().replace(' ', "")
        };
        (line("Small Columns:"), line("Large Columns:"), line("Total Data Points:"))
    };
    let told = |small: &str, large: &str, total: &str| (small.to_owned(), large.to_owned(), total.to_owned());
    assert_eq!(listed("-run simple"), told(",0", ",0,1,2", "8"));
    assert_eq!(listed("-run normal"), told(",0,1,2,3,4,5", ",0,1,2", "18"));
    let oltp = listed("-run oltp");
    assert!(oltp.0.starts_with(",1,2,") && oltp.0.ends_with(",19,20"));
    assert_eq!((oltp.1.as_str(), oltp.2.as_str()), (",0", "21"));
    let point = "-run advanced -matrix point -num_small 4 -num_large 2";
    assert_eq!(listed(point), told(",4", ",2", "1"));
    assert_eq!(listed("-run advanced -matrix max -num_small 2 -num_large 1"), told(",0,1,2", ",0,1", "6"));
}

#[test]
fn the_summary_says_what_the_test_was() {
    let words = "-run advanced -testname dir/x -type seq -num_streamIO 8 -simulate raid0 -stripe 512 -write 20 \
                 -cache_size 51200 -duration 1 -size_small 4 -size_large 2048";
    let text = summary(&measured(words, 2), Format::V11_1);
    for line in [
        "Test: dir/x",
        "Small IO size: 4 KB",
        "Large IO size: 2048 KB",
        "IO Types: Small Random IOs, Large Sequential Streams",
        "Number of Concurrent IOs Per Stream: 8",
        "Simulated Array Type: RAID 0",
        "Stripe Depth: 512 KB",
        "Write: 20%",
        "Cache Size: 51200 MB",
        "Duration for each Data Point: 1 seconds",
    ] {
        assert!(text.lines().any(|other| other == line), "`{line}` is not in\n{text}");
    }
    let dss = summary(&measured("-run dss", 1), Format::V11_1);
    assert!(dss.contains("The large loads of dss are those of iostone"));
}

#[test]
fn what_is_not_measured_is_said() {
    let mut record = measured("-run normal", 1);
    let last = record.points.pop().unwrap();
    let mut end = OrionEnd { finished: false, reason: Some("interrupted".to_owned()), ..OrionEnd::default() };
    record.end = Some(end.clone());
    assert!(
        summary(&record, Format::V11_1)
            .contains("\nNot finished: 17 of 18 points were measured (interrupted)\n")
    );
    assert!(console(&record, Format::V12).starts_with("Not finished: 17 of 18 points were measured"));
    record.end = None;
    assert!(summary(&record, Format::V11_1).contains("\nNot finished: 17 of 18 points were measured\n"));
    (end.finished, end.reason) = (true, None);
    end.estimates = vec![CellEstimate {
        small: last.small,
        large: last.large,
        iops: Some(123.4),
        latency: Some(0.0405),
        throughput: Some(7.891e6),
        error: 0.0312,
    }];
    end.knee = Some(Knee {
        small: true,
        load: 3.5,
        at: 4,
        iops: 5000.0,
        latency: 0.0008,
        share_of_maximum: 0.9,
        latency_ratio: 1.2,
        saturated: false,
    });
    record.end = Some(end);
    let text = summary(&record, Format::V11_1);
    assert!(text.contains("\n1 of 18 points was estimated, the least certain to about 3.1 %\n"), "{text}");
    assert!(text.contains("\nNo knee of small I/O up to load 5: the rate still grows\n"));
    let knee = record.end.as_mut().and_then(|end| end.knee.as_mut()).unwrap();
    knee.saturated = true;
    let text = summary(&record, Format::V11_1);
    assert!(text.contains("\nKnee of small I/O: 3.5 outstanding; at 4 it does 5000 IOPS in 0.800 ms\n"));
    let told = "\n# 1 cell of the matrix is estimated, not measured; the trace names it.\nLarge/Small,";
    for table in [iops_csv, lat_csv, mbps_csv] {
        assert!(table(&record, Format::V12).contains(told));
        assert!(!table(&record, Format::V11_1).contains('#'));
    }
    assert!(iops_csv(&record, Format::V11_1).ends_with(",    123\n"), "an estimate fills its cell");
    assert!(lat_csv(&record, Format::V11_1).ends_with(",  40.50\n"));
    assert!(mbps_csv(&record, Format::V11_1).ends_with(",   7.89\n"));
    assert!(files::trace(&record).contains(
        "estimated small=5 large=2 iops=123.400 mean_us=40500.000 mbps=7.891 within_percent=3.12\n"
    ));
}

#[test]
fn a_search_for_the_knee_has_the_points_that_it_took() {
    let mut record = measured("-run normal", 1);
    record.header.knee = true;
    record.header.total_points = 8;
    let told = |text: &str| text.lines().any(|line| line == "Total Data Points: 18");
    assert!(told(&summary(&record, Format::V11_1)));
    assert!(files::trace(&record).contains("point=18 of=18 "));
    record.end = None;
    assert!(console(&record, Format::V12).starts_with("Not finished: 18 points were measured\n"));
}

#[test]
fn rates_between_two_whole_numbers_are_rounded_up_everywhere() {
    let mut record = published();
    record.points.truncate(1);
    let mut small = figures(25_110.0, 8192, 0.001, 0.0);
    small.reads.ios = 50_221;
    record.points.push(point_of(2, LoadPoint { small: 1, large: 0 }, Some(small), None));
    record.points[1].seconds = 2.0;
    assert!(iops_csv(&record, Format::V11_1).contains(",  25111"));
    assert!(console(&record, Format::V11_1).contains("Maximum Small IOPS=25111 @"));
}

#[test]
fn tables_have_the_columns_and_rows_of_the_rule_for_every_number_of_disks() {
    let loads =
        |line: &str| line.split(',').skip(1).map(|load| load.trim().parse().unwrap()).collect::<Vec<u32>>();
    for disks in 1..=64 {
        for run in ["simple", "normal", "oltp", "dss"] {
            let record = measured(&format!("-run {run} -num_disks {disks}"), 1);
            let test = &record.header.test;
            for (table, least_column, least_row) in
                [(iops_csv(&record, Format::V11_1), 1, 0), (mbps_csv(&record, Format::V11_1), 0, 1)]
            {
                let expected = |loads: Vec<u32>, least: u32| {
                    loads.into_iter().filter(|load| *load >= least).collect::<Vec<u32>>()
                };
                let mut lines = table.lines();
                let header = lines.next().unwrap();
                assert_eq!(loads(header), expected(test.small_loads(disks), least_column), "{run} {disks}");
                let rows: Vec<&str> = lines.collect();
                let labels: Vec<u32> = rows.iter().map(|row| row[..11].trim().parse().unwrap()).collect();
                assert_eq!(labels, expected(test.large_loads(disks), least_row), "{run} {disks}");
                assert!(
                    rows.iter().all(|row| row.len() % 8 == 3 && row.len() <= header.len()),
                    "{run} {disks}"
                );
            }
        }
    }
}

#[test]
fn conditions_that_orion_does_not_know_are_said() {
    let mut record = published();
    record.header.direct = false;
    record.header.until = Some(0.02);
    record.points[1].notes = vec!["The device was not idle".to_owned()];
    let text = summary(&record, Format::V11_1);
    for line in [
        "The page cache was not gone around: these are figures of memory as much as of storage",
        "A point ended once its rate was known within 2.00 %, and at the duration above at the latest",
        "Notes on 1 point are in the trace",
    ] {
        assert!(text.lines().any(|other| other == line), "{text}");
    }
    assert!(files::trace(&record).contains("\n    The device was not idle\n"));
}

#[test]
fn the_trace_tells_everything_about_a_point_in_one_line() {
    let mut record = measured("-run advanced -matrix point -num_small 1 -num_large 0 -write 50", 1);
    record.points[0].precision = Some(0.0123);
    record.points[0].warming_bytes = 4096;
    record.points[0].served = Some(ServedAtPoint {
        devices: vec!["sda".to_owned(), "sdb".to_owned()],
        reads: 1,
        read_bytes: 2,
        writes: 3,
        written_bytes: 4,
        flushes: 5,
    });
    let text = files::trace(&record);
    let line = text.lines().find(|line| line.starts_with("point=")).unwrap();
    let (begin, rest) = line.split_once(" small.mean_us=").unwrap();
    assert_eq!(
        begin,
        "point=1 of=1 small=1 large=0 started_at=2018-09-13T00:34:05+02:00[Europe/Berlin] seconds=60.000 \
         small.iops=2571.433 small.mbps=21.065"
    );
    for field in [
        "small.p99.99_us=",
        "small.read.ios=77143",
        "small.write.ios=77143",
        "small.write.p50_us=",
        "cpu.user=1.500 cpu.system=2.250 precision_percent=1.230 warming_bytes=4096 served.devices=sda,sdb",
        "served.reads=1 served.read_bytes=2 served.writes=3 served.written_bytes=4 served.flushes=5",
    ] {
        assert!(rest.contains(field), "`{field}` is not in {rest}");
    }
}

#[test]
fn a_gap_between_measured_cells_keeps_its_place() {
    let mut record = published();
    record.points.remove(2);
    let line = iops_csv(&record, Format::V11_1).lines().nth(1).unwrap().to_owned();
    assert_eq!(line, "          0,   2302,       ,   5450,   6006,   6210");
}

#[test]
fn text_from_outside_cannot_pass_for_a_line_of_orion() {
    let mut record = published();
    record.header.luns[0].name = "x\nMaximum Small IOPS=1 @ Small=1 and Large=0".to_owned();
    record.header.arguments.push("a b\nMaximum".to_owned());
    let text = summary(&record, Format::V11_1);
    assert_eq!(text.lines().filter(|line| line.starts_with("Maximum Small IOPS=")).count(), 1);
    assert!(text.contains("-run simple 'a b Maximum'\n"));
}

#[test]
fn the_announcement_is_in_the_words_of_its_version() {
    let header = &published().header;
    assert_eq!(
        announcement(header, 0, Format::V11_1),
        "Test will take approximately 9 minutes\nLarger caches may take longer\n"
    );
    assert!(
        announcement(header, 0, Format::V12)
            .starts_with("Calibration will take approximately 9 minutes.\nUsing")
    );
}

#[test]
fn formats_are_read_by_their_versions() {
    for (word, format) in [("11.1", Format::V11_1), ("12", Format::V12), ("12.2.0.1.0", Format::V12)] {
        assert_eq!(word.parse(), Ok(format));
    }
    for word in ["11", "11.2", "120", ""] {
        assert!(word.parse::<Format>().unwrap_err().to_string().contains("`11.1` and `12`"), "{word}");
    }
}
