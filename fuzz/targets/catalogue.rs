//! Rows of a catalogue: the user's file in TOML, exports, and what `aws ec2 describe-instance-types` prints.
#![no_main]

use iostone_cloud::{Catalogue, ExchangeFormat, edit_user_rows, read_exchange, write_exchange};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(diagnostics) = Catalogue::with_user_rows(text, "fuzz.toml") {
        assert!(!diagnostics.is_empty(), "refused without a reason");
        for diagnostic in diagnostics {
            assert!(!diagnostic.message.is_empty() && diagnostic.code.starts_with("io"), "{diagnostic:?}");
            for label in &diagnostic.labels {
                assert!(text.get(label.span.clone()).is_some(), "{diagnostic:?}");
            }
        }
    }
    match read_exchange(text) {
        Ok(described) => {
            for format in [ExchangeFormat::Csv, ExchangeFormat::Json, ExchangeFormat::Toml] {
                let written = write_exchange(&described.rows, format);
                let read = read_exchange(&written).unwrap_or_else(|error| panic!("{error}: {written}")).rows;
                assert_eq!(read.instance, described.rows.instance, "{written}");
                assert!(format == ExchangeFormat::Csv || read.volume == described.rows.volume, "{written}");
            }
            let edited = edit_user_rows("", &described.rows, None, None).expect("a new file takes any rows");
            edit_user_rows(&edited, &described.rows, None, None).expect("what was written can be edited");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
