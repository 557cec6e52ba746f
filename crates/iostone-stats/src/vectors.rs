//! The reference vectors as tests read them: computed once by two independent programs.

use serde_json::Value;

fn all() -> Value {
    serde_json::from_str(include_str!("../tests/vectors.json")).unwrap()
}

/// A named list of cases.
pub(crate) fn list(name: &str) -> Vec<Value> {
    all()[name].as_array().unwrap().clone()
}

/// A named table.
pub(crate) fn map(name: &str) -> serde_json::Map<String, Value> {
    all()[name].as_object().unwrap().clone()
}

/// A whole number.
pub(crate) fn whole(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

/// A list of numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Equal to 1e-9, as the vectors promise for estimates and bounds.
pub(crate) fn assert_close(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9, "{found} is not {expected}");
}

/// Equal to one part in 1e9, as the vectors promise for probabilities.
pub(crate) fn assert_relative(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}
