//! The agent's wire: frames of anything, and the messages in them.
#![no_main]

use std::fmt::Debug;

use iostone_machine::{Event, Reply, Request, frame};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|bytes: &[u8]| {
    read_all::<Request>(bytes);
    read_all::<Reply>(bytes);
    read_all::<Event>(bytes);
    // The length is right for once, so that the message itself is looked at.
    let length = u32::try_from(bytes.len()).expect("inputs are short").to_be_bytes();
    let framed = [&length, bytes].concat();
    read_all::<Request>(&framed);
    read_all::<Reply>(&framed);
    read_all::<Event>(&framed);
});

fn read_all<T: Serialize + DeserializeOwned + PartialEq + Debug>(mut stream: &[u8]) {
    while let Ok(Some(message)) = frame::read::<T>(&mut stream) {
        let mut wire = Vec::new();
        frame::write(&mut wire, &message).expect("it came in a frame");
        let back = frame::read::<T>(&mut wire.as_slice()).expect("it was just written");
        assert_eq!(back.as_ref(), Some(&message));
    }
}
