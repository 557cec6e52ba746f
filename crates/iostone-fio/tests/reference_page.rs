//! The reference page says what the table says. `IOSTONE_BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_reference_page_is_that_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/fio-options.md");
    let page = iostone_fio::write_reference();
    if std::env::var_os("IOSTONE_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "docs/reference/fio-options.md is stale; run the test with IOSTONE_BLESS=1");
}
