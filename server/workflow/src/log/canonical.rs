//! Canonical JSON after RFC 8785: one text per value, so that a hash means the value and not its layout.
//!
//! Invariant: keys in the order of their UTF-16 code units, no white space, the RFC's string escapes, whole numbers that
//! a JSON reader holds exactly.
//! Never: binary floating point; the log has none, and a number whose text depends on the reader is refused.

use serde_json::Value;

/// The largest whole number that every JSON reader holds exactly (RFC 8785 §3.2.2.3, I-JSON): 2^53 − 1.
pub const JSON_INTEGER_MAX: u64 = (1 << 53) - 1;

/// A value has no canonical text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalError {
    /// A fraction, or a whole number that some readers would round.
    #[error("the number {number} has no canonical form; write it as text")]
    Number {
        /// As serde_json prints it.
        number: String,
    },
}

/// The canonical text of a value (RFC 8785).
///
/// # Errors
/// [`CanonicalError::Number`] for fractions and for whole numbers beyond ±[`JSON_INTEGER_MAX`].
pub fn canonical_json(value: &Value) -> Result<String, CanonicalError> {
    let mut out = String::new();
    write_value(value, &mut out)?;
    Ok(out)
}

fn write_value(value: &Value, out: &mut String) -> Result<(), CanonicalError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => {
            let exact = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            if exact.is_none_or(|magnitude| magnitude > JSON_INTEGER_MAX) {
                return Err(CanonicalError::Number { number: number.to_string() });
            }
            out.push_str(&number.to_string());
        }
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(item, out)?;
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let mut sorted: Vec<(&String, &Value)> = entries.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, (key, item)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(item, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// RFC 8785 §3.2.2.2: the five short escapes, `\u00xx` in lower case for the other control characters, quote and
/// backslash escaped, everything else as it is.
fn write_string(text: &str, out: &mut String) {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{0}'..='\u{1f}' => {
                let code = c as usize;
                out.push_str("\\u00");
                out.push(HEX[code >> 4]);
                out.push(HEX[code & 0xf]);
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
