//! x
#[path = "support/scenes.rs"]
mod scenes;
#[path = "support/synthetic.rs"]
mod synthetic;
#[test]
fn peek() {
    for r in [scenes::barrier(), scenes::five()] {
        println!("{}", iostone_report::text(&r, iostone_report::TextStyle::default()));
    }
}
