//! `connectworkflow expr`: answers a table of expressions, to compare the language with the original.
//!
//! Purpose: JSON lines in, JSON lines out; the rows are [`workflow::expr::rows`]' business.
//! Invariant: one answer a line, in order; a bad line is answered and the run goes on. The exit code is 1 where a line
//! was bad.
//! Never: reads a line longer than [`LINE_BYTES_MAX`] into memory.

use std::io::{self, BufRead, BufWriter, Read as _, Write};

use workflow::expr::rows::{answer, unreadable};

/// Longest line, in bytes.
const LINE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Answers every line of the input. Whether all of them could be read.
///
/// # Errors
/// Only where reading or writing itself fails.
pub(crate) fn run(mut input: impl BufRead, output: impl Write) -> io::Result<bool> {
    let mut output = BufWriter::new(output);
    let mut all_readable = true;
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let read = input.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if read == 0 {
            output.flush()?;
            return Ok(all_readable);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() == LINE_BYTES_MAX {
            skip_line(&mut input)?;
            line.clear();
            all_readable = false;
            let message = format!("the line is longer than {LINE_BYTES_MAX} bytes");
            writeln!(output, "{}", unreadable(&message).line)?;
            continue;
        }
        let answer = match std::str::from_utf8(&line) {
            Ok(row) => answer(row),
            Err(error) => unreadable(&format!("the line is not UTF-8 behind byte {}", error.valid_up_to())),
        };
        all_readable &= answer.readable;
        writeln!(output, "{}", answer.line)?;
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (length, end) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(length);
        if end {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]

    use super::run;

    #[test]
    fn a_bad_line_is_answered_and_the_run_goes_on() {
        let input =
            b"{\"id\":1,\"expr\":\"#a * 2\",\"vars\":{\"a\":10.50}}\nno json\n\xff\n{\"id\":\"x\",\"expr\":\"1 +\"}";
        let mut output = Vec::new();
        let all_readable = run(&input[..], &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert!(!all_readable);
        assert_eq!(lines.len(), 4, "{output}");
        assert_eq!(lines[0], r#"{"id":1,"ok":21.00,"type":"decimal","text":"21.00"}"#);
        assert!(lines[1].starts_with(r#"{"id":null,"err":"input","message":"#), "{output}");
        assert!(lines[2].starts_with(r#"{"id":null,"err":"input","message":"#), "{output}");
        assert!(lines[3].starts_with(r#"{"id":"x","err":"syntax","code":"EL1042E""#), "{output}");
    }
}
