//! Structures in Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>), as far as Parquet's footer has them.

/// Types of fields.
const TRUE: u8 = 1;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure being written; fields come in ascending order.
pub(super) struct Struct {
    bytes: Vec<u8>,
    last: i16,
}

impl Struct {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), last: 0 }
    }

    fn field(&mut self, id: i16, kind: u8) {
        // Fields are few and near each other: the difference always fits into four bits.
        let step = u8::try_from(id - self.last).unwrap_or_default();
        self.bytes.push(step << 4 | kind);
        self.last = id;
    }

    /// A whole number of 32 bits.
    pub(super) fn short(mut self, id: i16, value: i32) -> Self {
        self.field(id, I32);
        zigzag(&mut self.bytes, i64::from(value));
        self
    }

    /// A whole number of 64 bits: offsets and counts.
    pub(super) fn long(mut self, id: i16, value: i64) -> Self {
        self.field(id, I64);
        zigzag(&mut self.bytes, value);
        self
    }

    pub(super) fn truth(mut self, id: i16) -> Self {
        self.field(id, TRUE);
        self
    }

    pub(super) fn text(mut self, id: i16, value: &str) -> Self {
        self.field(id, BINARY);
        binary(&mut self.bytes, value);
        self
    }

    pub(super) fn structure(mut self, id: i16, ended: &[u8]) -> Self {
        self.field(id, STRUCT);
        self.bytes.extend(ended);
        self
    }

    pub(super) fn structures(mut self, id: i16, ended: &[Vec<u8>]) -> Self {
        self.list(id, STRUCT, ended.len());
        self.bytes.extend(ended.concat());
        self
    }

    pub(super) fn shorts(mut self, id: i16, values: &[i32]) -> Self {
        self.list(id, I32, values.len());
        for value in values {
            zigzag(&mut self.bytes, i64::from(*value));
        }
        self
    }

    pub(super) fn texts(mut self, id: i16, values: &[&str]) -> Self {
        self.list(id, BINARY, values.len());
        for value in values {
            binary(&mut self.bytes, value);
        }
        self
    }

    fn list(&mut self, id: i16, kind: u8, length: usize) {
        self.field(id, LIST);
        match u8::try_from(length) {
            Ok(short) if short < 15 => self.bytes.push(short << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, length as u64);
            }
        }
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// A number in groups of seven bits, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = (value & 0x7f).to_le_bytes();
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

fn zigzag(bytes: &mut Vec<u8>, value: i64) {
    varint(bytes, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

fn binary(bytes: &mut Vec<u8>, value: &str) {
    varint(bytes, value.len() as u64);
    bytes.extend(value.as_bytes());
}
