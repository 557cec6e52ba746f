//! ORION's files come out of a record in both layouts, byte for byte where a layout is published, and read back.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

#[path = "files/golden.rs"]
mod golden;
#[path = "files/read_back.rs"]
mod read_back;
#[path = "files/records.rs"]
mod records;
#[path = "files/scripts.rs"]
mod scripts;
