//! No reader panics, whatever was done to a file: lines cut, doubled, swapped or changed.

use std::path::{Path, PathBuf};

use iostone_tools::{FORMATS, Head, Input};
use proptest::prelude::*;

/// Every fixture of every format.
fn fixtures() -> Vec<PathBuf> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder of fixtures") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { collect(&path, files) } else { files.push(path) }
        }
    }
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut files);
    files.sort();
    files
}

/// What may happen to a text.
#[derive(Debug, Clone)]
enum Harm {
    CutAt(prop::sample::Index),
    Remove(prop::sample::Index, usize),
    Double(prop::sample::Index, usize),
    Insert(prop::sample::Index, String),
}

fn harm() -> impl Strategy<Value = Harm> {
    let pieces = prop_oneof![
        "[0-9]{1,24}",
        Just("é".to_owned()),
        Just("\u{a0}".to_owned()),
        Just("-1".to_owned()),
        Just("1e999".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just(";".to_owned()),
        Just("%".to_owned()),
        "[ -~]{1,8}",
    ];
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Harm::CutAt),
        (any::<prop::sample::Index>(), 1usize..200).prop_map(|(at, length)| Harm::Remove(at, length)),
        (any::<prop::sample::Index>(), 1usize..2000).prop_map(|(at, length)| Harm::Double(at, length)),
        (any::<prop::sample::Index>(), pieces).prop_map(|(at, text)| Harm::Insert(at, text)),
    ]
}

fn apply(bytes: &mut Vec<u8>, harm: &Harm) {
    let length = bytes.len().max(1);
    match harm {
        Harm::CutAt(at) => bytes.truncate(at.index(length)),
        Harm::Remove(at, count) => {
            let start = at.index(length).min(bytes.len());
            bytes.drain(start..(start + count).min(bytes.len()));
        }
        Harm::Double(at, count) => {
            let start = at.index(length).min(bytes.len());
            let piece = bytes[start..(start + count).min(bytes.len())].to_vec();
            bytes.splice(start..start, piece);
        }
        Harm::Insert(at, text) => {
            let start = at.index(length).min(bytes.len());
            bytes.splice(start..start, text.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_file_is_read_or_refused(which in any::<prop::sample::Index>(), harms in prop::collection::vec(harm(), 1..6)) {
        let files = fixtures();
        let mut bytes = std::fs::read(which.get(&files)).unwrap();
        for harm in &harms {
            apply(&mut bytes, harm);
        }
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]).into_owned();
        let recognised = |format: &&&dyn iostone_tools::Format| {
            format.recognise(&Head { name: "x", text: &head }) > iostone_tools::Likeness::Perhaps
        };
        for format in FORMATS.iter().filter(recognised) {
            if let Ok(reading) = format.read(&mut Input::new("x", bytes.as_slice())) {
                for observation in &reading.observations {
                    prop_assert!(observation.figures.values().all(|figure| figure.value.is_finite()), "{}", format.name());
                    for series in observation.series.values() {
                        prop_assert_eq!(series.at_seconds.len(), series.values.len());
                    }
                }
            }
        }
    }
}

#[test]
fn no_two_formats_are_certain_of_a_fixture() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(64 << 10)]).into_owned();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let certain = FORMATS.iter().filter(|format| {
            format.recognise(&Head { name, text: &text }) == iostone_tools::Likeness::Certain
        });
        let certain: Vec<&str> = certain.map(|format| format.name()).collect();
        assert!(certain.len() <= 1, "{}: {certain:?}", path.display());
    }
}
