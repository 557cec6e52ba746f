//! The record of a test on disk, `PREFIX_record.jsonl`: appended to line by line and made durable, read back to go on.
