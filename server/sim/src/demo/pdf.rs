//! A small PDF writer: pages with lines, boxes and text in the two Helveticas that every viewer brings along.
//!
//! Invariant: same input, same bytes. The catalogue stands last, so that a file cut off on its way is unreadable, as it
//! would be with most writers.
//! Never: embeds fonts or images, compresses.

use std::fmt::Write as _;

/// Points of an A4 page.
pub(super) const PAGE_WIDTH: f64 = 595.28;
/// Points of an A4 page.
pub(super) const PAGE_HEIGHT: f64 = 841.89;

/// Red, green, blue from 0 to 1.
pub(super) type Colour = (f64, f64, f64);
/// Nearly black.
pub(super) const INK: Colour = (0.12, 0.13, 0.16);
/// For what is read second.
pub(super) const GREY: Colour = (0.42, 0.45, 0.5);
/// For rules.
pub(super) const PALE: Colour = (0.82, 0.84, 0.87);

/// Font, size in points, colour.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) bold: bool,
    pub(super) size: f64,
    pub(super) colour: Colour,
}

impl Style {
    pub(super) const fn regular(size: f64) -> Self {
        Self { bold: false, size, colour: INK }
    }

    pub(super) const fn bold(size: f64) -> Self {
        Self { bold: true, size, colour: INK }
    }

    pub(super) const fn in_colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// Points the text takes.
    pub(super) fn width(self, text: &str) -> f64 {
        let units: u32 = win_ansi(text).into_iter().map(|byte| u32::from(advance(byte, self.bold))).sum();
        f64::from(units) / 1000.0 * self.size
    }
}

/// One page; the origin is at the lower left.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    content: String,
}

impl Page {
    /// Text starting at `x` with its base line at `y`.
    pub(super) fn text(&mut self, x: f64, y: f64, style: Style, text: &str) {
        let font = if style.bold { "F2" } else { "F1" };
        let (r, g, b) = style.colour;
        let _ = writeln!(
            self.content,
            "BT /{font} {size} Tf {r} {g} {b} rg {x:.2} {y:.2} Td ({escaped}) Tj ET",
            size = style.size,
            escaped = escaped(text),
        );
    }

    /// Text ending at `x`.
    pub(super) fn text_right(&mut self, x: f64, y: f64, style: Style, text: &str) {
        self.text(x - style.width(text), y, style, text);
    }

    /// Text with its middle at `x`.
    pub(super) fn text_centred(&mut self, x: f64, y: f64, style: Style, text: &str) {
        self.text(x - style.width(text) / 2.0, y, style, text);
    }

    /// A horizontal rule.
    pub(super) fn rule(&mut self, from: f64, to: f64, y: f64, thickness: f64, colour: Colour) {
        self.fill(from, y - thickness / 2.0, to - from, thickness, colour);
    }

    /// A filled box.
    pub(super) fn fill(&mut self, x: f64, y: f64, width: f64, height: f64, colour: Colour) {
        let (r, g, b) = colour;
        let _ = writeln!(self.content, "{r} {g} {b} rg {x:.2} {y:.2} {width:.2} {height:.2} re f");
    }

    /// An empty box.
    pub(super) fn frame(&mut self, x: f64, y: f64, width: f64, height: f64, thickness: f64, colour: Colour) {
        let (r, g, b) = colour;
        let _ = writeln!(self.content, "{r} {g} {b} RG {thickness} w {x:.2} {y:.2} {width:.2} {height:.2} re S");
    }

    /// Draws around a new origin, turned counter-clockwise.
    pub(super) fn turned(&mut self, x: f64, y: f64, degrees: f64, draw: impl FnOnce(&mut Self)) {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let _ = writeln!(self.content, "q {cos:.4} {sin:.4} {:.4} {cos:.4} {x:.2} {y:.2} cm", -sin);
        draw(self);
        self.content.push_str("Q\n");
    }
}

/// Puts the pages into one file.
pub(super) fn document(title: &str, pages: &[Page]) -> Vec<u8> {
    // Numbers: per page the page and its content, then fonts, page tree, information, catalogue.
    let fonts = pages.len() * 2 + 1;
    let (tree, info, catalogue) = (fonts + 2, fonts + 3, fonts + 4);
    let mut out = Objects { bytes: b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n".to_vec(), offsets: Vec::new() };
    for (i, page) in pages.iter().enumerate() {
        out.add(&format!(
            "<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {PAGE_WIDTH} {PAGE_HEIGHT}] /Contents {content} 0 R \
             /Resources << /Font << /F1 {fonts} 0 R /F2 {bold} 0 R >> >> >>",
            content = i * 2 + 2,
            bold = fonts + 1,
        ));
        out.add(&format!("<< /Length {} >>\nstream\n{}endstream", page.content.len(), page.content));
    }
    for name in ["Helvetica", "Helvetica-Bold"] {
        out.add(&format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"));
    }
    let kids: Vec<String> = (0..pages.len()).map(|i| format!("{} 0 R", i * 2 + 1)).collect();
    out.add(&format!("<< /Type /Pages /Count {} /Kids [{}] >>", pages.len(), kids.join(" ")));
    out.add(&format!("<< /Title ({}) /Creator (ConnectWorkflow demo) >>", escaped(title)));
    out.add(&format!("<< /Type /Catalog /Pages {tree} 0 R /Lang (de-DE) >>"));
    out.finish(catalogue, info)
}

struct Objects {
    bytes: Vec<u8>,
    offsets: Vec<usize>,
}

impl Objects {
    fn add(&mut self, body: &str) {
        self.offsets.push(self.bytes.len());
        let number = self.offsets.len();
        self.bytes.extend_from_slice(format!("{number} 0 obj\n{body}\nendobj\n").as_bytes());
    }

    fn finish(mut self, catalogue: usize, info: usize) -> Vec<u8> {
        let start = self.bytes.len();
        let size = self.offsets.len() + 1;
        let mut table = format!("xref\n0 {size}\n0000000000 65535 f \n");
        for offset in &self.offsets {
            let _ = writeln!(table, "{offset:010} 00000 n ");
        }
        let _ = write!(
            table,
            "trailer\n<< /Size {size} /Root {catalogue} 0 R /Info {info} 0 R >>\nstartxref\n{start}\n%%EOF\n"
        );
        self.bytes.extend_from_slice(table.as_bytes());
        self.bytes
    }
}

/// The text as the inside of a PDF string, in ASCII.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in win_ansi(text) {
        match byte {
            b'(' | b')' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            0x20..=0x7E => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out
}

/// Windows-1252; what it lacks becomes a question mark.
fn win_ansi(text: &str) -> Vec<u8> {
    text.chars()
        .map(|c| match c {
            ' '..='~' => c as u8,
            '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).unwrap_or(b'?'),
            '€' => 0x80,
            '„' => 0x84,
            '…' => 0x85,
            '’' => 0x92,
            '“' => 0x93,
            '”' => 0x94,
            '•' => 0x95,
            '–' => 0x96,
            '—' => 0x97,
            _ => b'?',
        })
        .collect()
}

/// Thousandths of the font size that a character advances; ASCII from the space on.
const REGULAR: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
];
/// The same in bold.
const BOLD: [u16; 95] = [
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667, 611, 778, 722, 278, 556, 722, 611, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611,
    556, 333, 611, 611, 278, 278, 556, 278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389,
    280, 389, 584,
];

fn advance(byte: u8, bold: bool) -> u16 {
    let ascii = |byte: u8| {
        let table = if bold { &BOLD } else { &REGULAR };
        table.get(usize::from(byte.wrapping_sub(b' '))).copied().unwrap_or(556)
    };
    match byte {
        b' '..=b'~' => ascii(byte),
        0xC4 => ascii(b'A'),
        0xD6 => ascii(b'O'),
        0xDC => ascii(b'U'),
        0xE4 => ascii(b'a'),
        0xE9 => ascii(b'e'),
        0xF6 => ascii(b'o'),
        0xFC => ascii(b'u'),
        0xDF => 611,
        0xB7 | 0xA0 => 278,
        0xB2 | 0xB3 => 333,
        0xB0 => 400,
        0xD7 => 584,
        0x85 | 0x97 => 1000,
        0x84 | 0x93 | 0x94 if bold => 500,
        0x84 | 0x93 | 0x94 => 333,
        0x95 => 350,
        _ => 556,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_escaped_and_measured() {
        assert_eq!(escaped("a(b)\\ä€–漢"), "a\\(b\\)\\\\\\344\\200\\226?");
        assert!((Style::regular(10.0).width("Hä") - 12.78).abs() < 0.001);
        assert!((Style::bold(10.0).width("1.190,00 €") - 47.26).abs() < 0.01);
    }

    #[test]
    fn offsets_point_at_objects() {
        let mut page = Page::default();
        page.text(50.0, 50.0, Style::regular(10.0), "Grüße");
        let bytes = document("Titel", &[page.clone(), page]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let start: usize =
            text.rsplit("startxref\n").next().unwrap_or("").lines().next().unwrap_or("").parse().unwrap_or(0);
        assert_eq!(&bytes[start..start + 4], b"xref");
        let entries = std::str::from_utf8(&bytes[start..]).unwrap_or("");
        for (i, line) in entries.lines().filter(|line| line.ends_with(" n ")).enumerate() {
            let offset: usize = line[..10].parse().unwrap_or(0);
            let head = format!("{} 0 obj", i + 1);
            assert_eq!(&bytes[offset..offset + head.len()], head.as_bytes());
        }
    }
}
