//! What the fuzz targets share: records that read back as they were written, and edits of records that stay near to valid.

mod edit;

use std::fmt::Debug;

pub use edit::edit_json;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads bytes as JSON; what can be read must survive being written and read again.
pub fn read_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(bytes).ok()?;
    assert_survives_json(&value);
    Some(value)
}

/// A value that cannot be read back from its own JSON is lost when a run is.
pub fn assert_survives_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("it goes into JSON");
    let back: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&back, value, "{text}");
}
