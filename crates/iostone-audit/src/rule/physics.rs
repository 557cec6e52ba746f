//! Rules on what the figures can mean: limits, caches, units, processors.

use super::Rule;

/// These rules.
pub(super) const RULES: &[&dyn Rule] = &[];
