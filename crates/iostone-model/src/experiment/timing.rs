//! How long a workload runs, before its figures count and while they do: declared in the file, or found by pilots.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Span, UnitError};

/// A time of every trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// So long.
    Fixed(Span),
    /// As long as pilots, run before the first block, show to be needed; the same for every trial of the run.
    Auto,
}

impl Timing {
    /// How long; no time at all as long as no pilot has told. Of a runtime see [`IoWorkload::asked_runtime`].
    ///
    /// [`IoWorkload::asked_runtime`]: super::IoWorkload::asked_runtime
    pub fn span(self) -> Span {
        match self {
            Self::Fixed(span) => span,
            Self::Auto => Span::default(),
        }
    }

    /// Whether a pilot is to tell.
    pub fn is_auto(self) -> bool {
        self == Self::Auto
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::Fixed(Span::default())
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(span) => span.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Timing {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}

impl Serialize for Timing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timing {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Timing;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time in quotes, as in \"5s\", or \"auto\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timing, E> {
                text.parse().map_err(|error: UnitError| E::custom(format!("{error}, or \"auto\"")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Timing {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timing".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let span = generator.subschema_for::<Span>();
        schemars::json_schema!({ "anyOf": [{ "const": "auto" }, span] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_is_written_or_found_by_a_pilot() {
        let five = Timing::Fixed(Span(Duration::from_secs(5)));
        for (text, ramp) in [("\"5s\"", five), ("\"auto\"", Timing::Auto), ("\"0s\"", Timing::default())] {
            let read: Timing = serde_json::from_str(text).unwrap();
            assert_eq!(read, ramp);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        let error = serde_json::from_str::<Timing>("\"automatic\"").unwrap_err().to_string();
        assert!(error.contains("or \"auto\""), "{error}");
        assert!(serde_json::from_str::<Timing>("5").unwrap_err().to_string().contains("or \"auto\""));
    }
}
