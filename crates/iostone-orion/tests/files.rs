//! ORION's files come out of a record in both layouts, byte for byte where a layout is published, and read back.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod golden;
mod read_back;
mod records;
mod scripts;
