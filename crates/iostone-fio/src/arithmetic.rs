//! Expressions in a value: `(4*1024+512)`, `(2^10)k`, and sums with a keyword such as `$mb_memory`.
//!
//! Operators and their binding follow fio's grammar (its `exp/expression-parser.y`), from loosest to tightest: `+ -`, a
//! unit behind, `* /`, `^` (to the right), `%` (the remainder), a minus in front. Whole numbers divide to whole numbers.

/// How deep parentheses and signs may nest.
const DEEPEST: usize = 64;

/// A number of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    /// A whole one.
    Whole(i64),
    /// One with a fraction.
    Real(f64),
}

/// What an expression comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// The number; in microseconds where the expression names a unit of time.
    pub(crate) number: Number,
    /// Whether any unit was written.
    pub(crate) has_unit: bool,
}

/// Which units an expression may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Units {
    /// Sizes: `k` is 1024 and `kib` 1000, whatever `kb_base` says.
    Size,
    /// Times, in microseconds; `m` is a minute.
    Time,
    /// None.
    Plain,
}

/// Computes an expression.
pub(crate) fn evaluate(text: &str, units: Units) -> Result<Outcome, String> {
    let mut parser = Parser { text, at: 0, units, has_unit: false, depth: 0 };
    let number = parser.sum(0)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(format!("the expression does not go on with `{}`", &text[parser.at..]));
    }
    Ok(Outcome { number, has_unit: parser.has_unit })
}

impl Number {
    pub(crate) fn real(self) -> f64 {
        match self {
            Self::Whole(value) => value as f64,
            Self::Real(value) => value,
        }
    }

    /// Without its fraction, as fio stores it in a whole number.
    pub(crate) fn whole(self) -> Result<i64, String> {
        match self {
            Self::Whole(value) => Ok(value),
            #[expect(clippy::cast_possible_truncation, reason = "bounded just before")]
            Self::Real(value) if value.abs() < 9.2e18 => Ok(value as i64),
            Self::Real(_) => Err(TOO_LARGE.into()),
        }
    }
}

const TOO_LARGE: &str = "the expression passes 2^63";

struct Parser<'a> {
    text: &'a str,
    at: usize,
    units: Units,
    has_unit: bool,
    depth: usize,
}

/// How tightly a unit behind binds: between `+` and `*`.
const UNIT_BINDS: u8 = 2;

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn enter(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST { Err(format!("the expression nests deeper than {DEEPEST}")) } else { Ok(()) }
    }

    fn sum(&mut self, least: u8) -> Result<Number, String> {
        self.enter()?;
        let mut left = self.operand()?;
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek() else { break };
            if byte.is_ascii_alphabetic() {
                if UNIT_BINDS < least {
                    break;
                }
                left = self.unit(left)?;
                continue;
            }
            // The weight of the operator, and what its right side must pass.
            let (binds, right) = match byte {
                b'+' | b'-' => (1, 2),
                b'*' | b'/' => (3, 4),
                b'^' => (4, 4),
                b'%' => (5, 6),
                _ => break,
            };
            if binds < least {
                break;
            }
            self.at += 1;
            let other = self.sum(right)?;
            left = apply(byte, left, other)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Number, String> {
        self.skip_blanks();
        match self.peek() {
            Some(b'-') => {
                self.at += 1;
                let number = self.sum(6)?;
                apply(b'-', Number::Whole(0), number)
            }
            Some(b'(') => {
                self.at += 1;
                let number = self.sum(0)?;
                self.skip_blanks();
                if self.peek() != Some(b')') {
                    return Err("a `)` is missing".into());
                }
                self.at += 1;
                Ok(number)
            }
            Some(byte) if byte.is_ascii_digit() || byte == b'.' => self.number(),
            Some(_) => Err(format!("a number was expected at `{}`", &self.text[self.at..])),
            None => Err("the expression ends where a number was expected".into()),
        }
    }

    fn number(&mut self) -> Result<Number, String> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        if matches!(bytes, [b'0', b'x' | b'X', ..]) {
            let length = bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
            self.at += 2 + length;
            return i64::from_str_radix(&rest[2..2 + length], 16)
                .map(Number::Whole)
                .map_err(|_| format!("`{}` is no hexadecimal number", &rest[..2 + length]));
        }
        let mut length = bytes.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        // `1e3` is a number, `1e` is not; the letter belongs to nothing else here.
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let digits =
                bytes.iter().skip(length + 1 + sign).take_while(|byte| byte.is_ascii_digit()).count();
            if digits > 0 {
                length += 1 + sign + digits;
            }
        }
        let digits = &rest[..length];
        self.at += length;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return digits.parse().map(Number::Whole).map_err(|_| TOO_LARGE.into());
        }
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Number::Real(value)),
            _ => Err(format!("`{digits}` is no number")),
        }
    }

    fn unit(&mut self, number: Number) -> Result<Number, String> {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let name = &rest[..length];
        let factor = unit_factor(&name.to_ascii_lowercase(), self.units)
            .ok_or_else(|| format!("`{name}` is no unit of an expression here"))?;
        self.at += length;
        self.has_unit = true;
        apply(b'*', number, Number::Whole(factor))
    }
}

fn unit_factor(name: &str, units: Units) -> Option<i64> {
    match units {
        Units::Time => time_factor(name),
        Units::Size => size_factor(name),
        Units::Plain => None,
    }
}

fn time_factor(name: &str) -> Option<i64> {
    const SECOND: i64 = 1_000_000;
    match name {
        "us" => Some(1),
        "ms" => Some(1_000),
        "s" => Some(SECOND),
        "m" => Some(60 * SECOND),
        "h" => Some(3_600 * SECOND),
        "d" => Some(86_400 * SECOND),
        _ => None,
    }
}

fn size_factor(name: &str) -> Option<i64> {
    match name {
        "k" | "kb" => Some(1 << 10),
        "m" | "mb" => Some(1 << 20),
        "g" | "gb" => Some(1 << 30),
        "t" | "tb" => Some(1 << 40),
        "p" | "pb" => Some(1 << 50),
        "kib" => Some(1_000),
        "mib" => Some(1_000_000),
        "gib" => Some(1_000_000_000),
        "tib" => Some(1_000_000_000_000),
        "pib" => Some(1_000_000_000_000_000),
        _ => None,
    }
}

fn apply(operator: u8, left: Number, right: Number) -> Result<Number, String> {
    if let (Number::Whole(a), Number::Whole(b)) = (left, right) {
        let result = match operator {
            b'+' => a.checked_add(b),
            b'-' => a.checked_sub(b),
            b'*' => a.checked_mul(b),
            b'/' | b'%' if b == 0 => return Err("the expression divides by zero".into()),
            b'/' => a.checked_div(b),
            b'%' => a.checked_rem(b),
            _ if b < 0 => return real(apply_real(operator, a as f64, b as f64)?),
            _ => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        };
        return result.map(Number::Whole).ok_or_else(|| TOO_LARGE.into());
    }
    real(apply_real(operator, left.real(), right.real())?)
}

fn apply_real(operator: u8, a: f64, b: f64) -> Result<f64, String> {
    match operator {
        b'+' => Ok(a + b),
        b'-' => Ok(a - b),
        b'*' => Ok(a * b),
        b'/' if b.abs() < 1e-20 => Err("the expression divides by zero".into()),
        b'/' => Ok(a / b),
        b'%' => Err("`%` takes whole numbers".into()),
        _ => Ok(a.powf(b)),
    }
}

fn real(value: f64) -> Result<Number, String> {
    if value.is_finite() { Ok(Number::Real(value)) } else { Err(TOO_LARGE.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> i64 {
        evaluate(text, Units::Size).unwrap().number.whole().unwrap()
    }

    #[test]
    fn operators_bind_as_in_fio() {
        for (text, value) in [
            ("(4096*2)", 8192),
            ("(1+2*3)", 7),
            ("(1+2)k", 3072),
            ("(1+2k)", 2049),
            ("(2*4k)", 8192),
            ("(2^10)", 1024),
            ("(2^3^2)", 512),
            ("(7/2)", 3),
            ("(7%4*2)", 6),
            ("(-3+5)", 2),
            ("(0x10+1)", 17),
            ("(1.5*2)", 3),
            ("(1kib)", 1000),
            (" ( 1 + 1 ) ", 2),
        ] {
            assert_eq!(size(text), value, "{text}");
        }
    }

    #[test]
    fn times_are_microseconds() {
        let time = |text| evaluate(text, Units::Time).unwrap();
        assert_eq!(time("(500ms)").number, Number::Whole(500_000));
        assert_eq!(time("(2m+1s)").number, Number::Whole(121_000_000));
        assert!(!time("(3)").has_unit);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in [
            "(1",
            "(1/0)",
            "(1%0)",
            "()",
            "(1+)",
            "(9223372036854775807+1)",
            "(1q)",
            "(2^99)",
            "(1))",
            "(1e999)",
        ] {
            assert!(evaluate(text, Units::Size).is_err(), "{text}");
        }
        assert!(evaluate(&"(".repeat(10_000), Units::Size).is_err());
        assert!(evaluate(&"-".repeat(10_000), Units::Size).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-0-9()+*/^%.kmgKxe a-z]{0,40}") {
            let _ = evaluate(&text, Units::Size);
            let _ = evaluate(&text, Units::Time);
        }
    }
}
