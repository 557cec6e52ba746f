//! How long a workload runs before its figures count: declared in the file, or found by a pilot.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Span, UnitError};

/// Load before figures are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ramp {
    /// So long.
    Fixed(Span),
    /// As long as pilots, run before the first block, show to be needed; the same for every trial of the run.
    Auto,
}

impl Ramp {
    /// How long; no time at all as long as no pilot has told.
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

impl Default for Ramp {
    fn default() -> Self {
        Self::Fixed(Span::default())
    }
}

impl fmt::Display for Ramp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(span) => span.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Ramp {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}

impl Serialize for Ramp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ramp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Ramp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a span of time in quotes, as in \"5s\", or \"auto\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Ramp, E> {
                text.parse().map_err(|error: UnitError| E::custom(format!("{error}, or \"auto\"")))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Ramp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ramp".into()
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
    fn a_ramp_is_a_time_or_found_by_a_pilot() {
        let five = Ramp::Fixed(Span(Duration::from_secs(5)));
        for (text, ramp) in [("\"5s\"", five), ("\"auto\"", Ramp::Auto), ("\"0s\"", Ramp::default())] {
            let read: Ramp = serde_json::from_str(text).unwrap();
            assert_eq!(read, ramp);
            assert_eq!(serde_json::to_string(&read).unwrap(), text);
        }
        let error = serde_json::from_str::<Ramp>("\"automatic\"").unwrap_err().to_string();
        assert!(error.contains("or \"auto\""), "{error}");
        assert!(serde_json::from_str::<Ramp>("5").unwrap_err().to_string().contains("or \"auto\""));
    }
}
