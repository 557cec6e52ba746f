//! Tests of the record on disk.

use iostone_model::orion::{LunRecord, OrionTest, RunLevel};

use super::*;

fn reopen(path: &Path) -> Result<(RecordFile, OrionRecord), OrionError> {
    RecordFile::reopen(OpenOptions::new().read(true).append(true).open(path).unwrap(), path)
}

fn header() -> OrionHeader {
    OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: "0.1.0".to_owned(),
        started_at: "2026-01-01T00:00:00+00:00".to_owned(),
        arguments: vec!["-run".to_owned(), "simple".to_owned()],
        directory: None,
        test: OrionTest::new(RunLevel::Simple),
        num_disks: 1,
        luns: vec![LunRecord {
            name: "a.data".to_owned(),
            kind: LunKind::File,
            bytes: 1 << 20,
            identity: None,
        }],
        seed: 1,
        direct: true,
        data: iostone_model::orion::FileData::Random,
        until: None,
        knee: false,
        adaptive: None,
        total_points: 8,
        limits: Vec::new(),
        machine: std::collections::BTreeMap::new(),
    }
}

fn point(number: u32) -> PointRecord {
    PointRecord { number, small: number - 1, seconds: 0.1 + 0.2, ..PointRecord::default() }
}

fn lun(name: &str, bytes: u64) -> Lun {
    Lun { name: name.to_owned(), path: name.into(), kind: LunKind::File, bytes, pin: None }
}

/// A record of two points, and where it is.
fn two_points() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x_record.jsonl");
    let mut file = RecordFile::create(&path, &header()).unwrap();
    file.append_point(&point(1)).unwrap();
    file.append_point(&point(2)).unwrap();
    (folder, path)
}

fn append(path: &Path, text: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text).unwrap();
}

#[test]
fn what_was_written_is_read_back_the_same() {
    let (_folder, path) = two_points();
    let record = read(&path).unwrap();
    assert_eq!((record.header, record.points, record.end), (header(), vec![point(1), point(2)], None));
}

#[test]
fn a_torn_last_line_is_dropped_and_cut_off() {
    for torn in [&b"{\"line\":\"point\",\"numb"[..], b"\0\0\0\0\0", b"{\"line\":\"end\"\n"] {
        let (_folder, path) = two_points();
        let whole = fs::metadata(&path).unwrap().len();
        append(&path, torn);
        assert_eq!(read(&path).unwrap().points.len(), 2);
        let (mut file, record) = reopen(&path).unwrap();
        assert_eq!((record.points.len(), fs::metadata(&path).unwrap().len()), (2, whole));
        file.append_point(&point(3)).unwrap();
        assert_eq!(read(&path).unwrap().points.len(), 3);
    }
}

#[test]
fn a_record_cut_anywhere_behind_its_first_line_can_be_gone_on_with() {
    let (_folder, path) = two_points();
    let text = fs::read(&path).unwrap();
    let first = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in (first..text.len()).step_by(7) {
        let (record, whole) = parse(&path, &text[..length]).unwrap();
        assert!(record.points.len() < 2 && whole <= length);
    }
    let torn = parse(&path, &text[..first - 1]).unwrap_err();
    assert!(torn.to_string().ends_with("is no record of a test: its first line is missing"));
}

#[test]
fn an_interrupted_test_goes_on_and_a_finished_one_does_not() {
    let (_folder, path) = two_points();
    let (mut file, _) = reopen(&path).unwrap();
    let reason = Some("interrupted".to_owned());
    file.append_end(&OrionEnd { reason, ..OrionEnd::default() }).unwrap();
    assert!(read(&path).unwrap().end.is_some());
    file.append_point(&point(3)).unwrap();
    assert_eq!(read(&path).unwrap().end, None);
    file.append_end(&OrionEnd { finished: true, ..OrionEnd::default() }).unwrap();
    assert!(read(&path).unwrap().is_finished());
    file.append_point(&point(4)).unwrap();
    assert!(read(&path).unwrap_err().to_string().ends_with("has a point after the end in line 7"));
}

#[test]
fn a_second_writer_is_refused_by_name() {
    let (_folder, path) = two_points();
    let (_file, _) = reopen(&path).unwrap();
    let refused = reopen(&path).unwrap_err().to_string();
    assert!(refused.contains("x_record.jsonl") && refused.contains("another iostone"), "{refused}");
    let refused = RecordFile::create(&path, &header()).unwrap_err().to_string();
    assert!(refused.contains("is there already"), "{refused}");
}

#[test]
fn foreign_and_disordered_records_are_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.jsonl");
    let line = |line: &RecordLine| serde_json::to_string(line).unwrap();
    let test = line(&RecordLine::Test(Box::new(header())));
    let second = line(&RecordLine::Point(Box::new(point(2))));
    let cases = [
        (format!("{}\n", test.replace(ORION_SCHEMA, "iostone/orion/9")), "has the schema `iostone/orion/9`"),
        (format!("{test}\n{second}\n"), "has point 2 where point 1 is due in line 2"),
        (format!("{test}\n{test}\n"), "has a second test in line 2"),
        (format!("{second}\n"), "does not begin with one"),
        (format!("{test}\nnonsense\n{second}\n"), "is broken in line 2"),
        (format!("{test}\n{{\"line\":\"other\"}}\n"), "has a line 2 that is none of a record's"),
        (String::new(), "its first line is missing"),
    ];
    for (text, said) in cases {
        fs::write(&path, text).unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn luns_that_changed_are_refused_by_name() {
    let check = |luns: &[Lun]| check_same(&header(), luns).map_err(|error| error.to_string());
    assert_eq!(check(&[lun("a.data", 1 << 20)]), Ok(()));
    let grown = check(&[lun("a.data", 2 << 20)]).unwrap_err();
    assert!(grown.contains("`a.data` when it had 1MiB, and it has 2MiB now"), "{grown}");
    assert!(check(&[lun("b.data", 1 << 20)]).unwrap_err().contains("`b.data`"));
    assert!(check(&[]).unwrap_err().contains("1 LUN, and none is named now"));
    let device = Lun { kind: LunKind::Device, ..lun("a.data", 1 << 20) };
    assert!(check(&[device]).unwrap_err().contains("when it was a file, and it is a device"));
}
