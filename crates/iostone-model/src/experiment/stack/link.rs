//! The link of an instance to its volumes: what all of them together may move, in the long run and for a while.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Burst;
use crate::units::ByteRate;

/// What caps all emulated volumes together, reads and writes: `500Mbps`, or a table where it bursts or counts I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Bytes a second in the long run.
    pub throughput: ByteRate,
    /// I/Os a second in the long run, of at most 16 KiB each as EBS states them; no limit if left out.
    pub iops: Option<u32>,
    /// More for a while: what EC2 calls the maximum, "for 30 minutes at least once every 24 hours".
    pub burst: Option<Burst>,
}

impl Link {
    /// A link of that rate, which neither bursts nor counts I/Os.
    pub fn of(throughput: ByteRate) -> Self {
        Self { throughput, iops: None, burst: None }
    }

    /// "81.25MB/s and 3600 IOPS, 593.75MB/s while 1.9 TiB of credits last": all of it.
    pub fn in_words(&self) -> String {
        let iops = self.iops.map(|iops| format!(" and {iops} IOPS")).unwrap_or_default();
        let long_run = format!("{}{iops}", self.throughput);
        let Some(burst) = self.burst else { return long_run };
        let bytes = burst.throughput.zip(burst.credit_bytes);
        let bytes =
            bytes.map(|(rate, credits)| format!("{rate} while {} of credits last", credits.in_words()));
        let requests = burst.iops.zip(burst.credits);
        let requests = requests.map(|(iops, credits)| format!("{iops} IOPS while {credits} credits last"));
        let start = burst.start.map(|start| format!("begun with {start} of them"));
        [Some(long_run), bytes, requests, start].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Link {
    /// The rate of the long run: "62.5MB/s".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.throughput.fmt(f)
    }
}

/// The form of a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LinkTable {
    /// Bytes a second in the long run.
    throughput: ByteRate,
    /// I/Os a second in the long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iops: Option<u32>,
    /// More for a while, out of a bucket of credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    burst: Option<Burst>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "read by the schema alone")]
enum LinkForm {
    /// A rate.
    Rate(ByteRate),
    /// A rate with a burst, or with a limit of I/Os.
    Table(LinkTable),
}

impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self { throughput, iops: None, burst: None } => throughput.serialize(serializer),
            Self { throughput, iops, burst } => {
                LinkTable { throughput: *throughput, iops: *iops, burst: *burst }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Link;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a rate such as 500Mbps, or { throughput = \"500Mbps\", iops = 4000, burst = { .. } }",
                )
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Link, E> {
                text.parse().map(Link::of).map_err(E::custom)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Link, A::Error> {
                let table = LinkTable::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Link { throughput: table.throughput, iops: table.iops, burst: table.burst })
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Link {
    fn schema_name() -> Cow<'static, str> {
        "Link".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        LinkForm::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_link_and_a_table_says_more() {
        let plain: Link = serde_json::from_str("\"500Mbps\"").expect("a rate");
        assert_eq!(plain, Link::of(ByteRate(62_500_000)));
        assert_eq!(serde_json::to_string(&plain).expect("text"), "\"62.5MB/s\"");
        let text = r#"{"throughput":"81.25MB/s","iops":3600,"burst":{"throughput":"1250MB/s","credit_bytes":"2103750000000B"}}"#;
        let table: Link = serde_json::from_str(text).expect("a table");
        let again: Link =
            serde_json::from_str(&serde_json::to_string(&table).expect("text")).expect("a table");
        assert_eq!(table, again);
        assert_eq!(table.iops, Some(3600));
        assert_eq!(plain.in_words(), "62.5MB/s");
        let words = "81.25MB/s and 3600 IOPS, 1.25GB/s while 1.91 TiB of credits last";
        assert_eq!(table.in_words(), words);
    }
}
