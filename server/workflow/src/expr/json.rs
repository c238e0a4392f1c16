//! JSON whose numbers keep their digits.
//!
//! Purpose: reads one line of a table of expressions. `serde_json` would need `arbitrary_precision`, which changes
//! how its numbers behave in every crate of the build, and whose numbers must not meet flattened or untagged types.
//! Invariant: a number is kept as written; nesting is bounded.
//! Never: accepts what JSON does not have.

/// Deepest nesting of lists and objects.
const DEPTH_MAX: usize = 200;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// In its order, with repeated keys.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A member of an object; of repeated keys the last one.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(entries) => entries.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A member that is a text.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.get(key)? {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads a whole text.
pub(super) fn read(text: &str) -> Result<Json, String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() { Err(reader.wrong("the end")) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, wanted: &str) -> String {
        let found = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        let found = found.map_or("the end".to_owned(), |c| format!("`{}`", c.escape_debug()));
        format!("not JSON: {wanted} was expected at byte {}, not {found}", self.at + 1)
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Json, String> {
        self.space();
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::list),
            Some(b'"') => self.string().map(Json::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
                    if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.wrong("a value"))
            }
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Json, String>) -> Result<Json, String> {
        if self.depth == DEPTH_MAX {
            return Err(format!("the JSON is nested deeper than {DEPTH_MAX}"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut entries = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !self.take(b':') {
                return Err(self.wrong("`:`"));
            }
            entries.push((key, self.value()?));
            if self.take(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.take(b',') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    fn list(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return Err(self.wrong("`,` or `]`"));
            }
        }
    }

    /// The end is found here, the escapes are `serde_json`'s business.
    fn string(&mut self) -> Result<String, String> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("a text"));
        }
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.wrong("`\"`")),
                Some(b'\\') => self.at += 2,
                Some(b'"') => break,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let quoted = self.text.get(start..self.at).ok_or("not JSON: a text is cut")?;
        serde_json::from_str(quoted).map_err(|error| format!("not JSON: the text at byte {}: {error}", start + 1))
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let integer = self.digits()?;
        if leading_zero && integer > 1 {
            return Err(self.wrong("a number without leading zeros"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Json::Number(self.text.get(start..self.at).unwrap_or_default().to_owned()))
    }

    fn digits(&mut self) -> Result<usize, String> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.wrong("a digit")) } else { Ok(self.at - start) }
    }
}
