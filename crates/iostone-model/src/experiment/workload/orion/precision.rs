//! A precision that is asked for: `2%`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The half width of an interval as a share of what it is of: above 0 % and at most 50 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Precision {
    percent: f64,
}

/// No precision is not a number, so that each equals itself.
impl Eq for Precision {}

impl Precision {
    /// As a fraction of 1.
    pub fn share(self) -> f64 {
        self.percent / 100.0
    }
}

impl FromStr for Precision {
    /// Why, in the words of a quantity: what it is not, and what would be right.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refused = |reason: &str| format!("`{text}` is not a precision: {reason}");
        let number = text.trim().strip_suffix('%').ok_or_else(|| refused("it needs a `%`, as in 2%"))?;
        let percent: f64 =
            number.trim_end().parse().map_err(|_| refused("it must be a number, as in 2% or 0.5%"))?;
        if !(percent > 0.0 && percent <= 50.0) {
            return Err(refused("above 0% and up to 50%"));
        }
        Ok(Self { percent })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

impl TryFrom<String> for Precision {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> Self {
        precision.to_string()
    }
}

impl JsonSchema for Precision {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Precision".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": r"^[0-9]+(\.[0-9]{1,6})?%$",
            "examples": ["2%"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_reads_back_what_it_prints_and_is_no_bare_number() {
        for text in ["2%", "0.5%", "50%"] {
            assert_eq!(text.parse::<Precision>().unwrap().to_string(), text);
        }
        assert!(("2%".parse::<Precision>().unwrap().share() - 0.02).abs() < 1e-12);
        for wrong in ["2", "0%", "51%", "-1%", "x%", ""] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
    }
}
