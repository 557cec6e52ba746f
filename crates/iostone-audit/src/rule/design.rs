//! Rules on how the figures were taken: repetitions, order, conditions.

use super::Rule;

/// These rules.
pub(super) const RULES: &[&dyn Rule] = &[];
