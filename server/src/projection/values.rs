//! Field values as people read them, in German notation.

use chrono::NaiveDate;
use vocab::{FieldType, FieldValue, format_amount_de};
use workflow::blueprint::FieldDecl;

/// A dash for what has no value: a sign, not a word, so it needs no message file.
const NOTHING: &str = "–";
/// A tick for yes.
const YES: &str = "✓";

/// The value as people read it. What does not fit its type is shown as the ERP says it, so that nothing is hidden.
pub(crate) fn shown_text(field: Option<&FieldDecl>, value: &FieldValue) -> String {
    let kind = field.map_or(FieldType::Text, |field| field.kind);
    match value {
        FieldValue::Null => NOTHING.to_owned(),
        FieldValue::Bool(true) => YES.to_owned(),
        FieldValue::Bool(false) => NOTHING.to_owned(),
        FieldValue::List(items) => items.join(", "),
        FieldValue::Text(text) => match kind {
            FieldType::Money => {
                let amount = format_amount_de(text, 2);
                match field.and_then(|field| field.currency.as_deref()) {
                    Some("EUR") => format!("{amount} €"),
                    Some(currency) => format!("{amount} {currency}"),
                    None => amount,
                }
            }
            FieldType::Number => format_amount_de(text, 0),
            FieldType::Date => NaiveDate::parse_from_str(text, "%Y-%m-%d")
                .map_or_else(|_| text.clone(), |d| d.format("%d.%m.%Y").to_string()),
            FieldType::Text
            | FieldType::Multiline
            | FieldType::Boolean
            | FieldType::Choice
            | FieldType::Choices
            | FieldType::Lookup => text.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: FieldType) -> FieldDecl {
        FieldDecl {
            name: "fldX".into(),
            label: "X".to_owned(),
            kind,
            currency: Some("EUR".to_owned()),
            options: Vec::new(),
        }
    }

    #[test]
    fn values_read_german() {
        let text = |t: &str| FieldValue::Text(t.to_owned());
        assert_eq!(shown_text(Some(&field(FieldType::Money)), &text("1190.5")), "1.190,50 €");
        assert_eq!(shown_text(Some(&field(FieldType::Date)), &text("2026-11-30")), "30.11.2026");
        assert_eq!(shown_text(Some(&field(FieldType::Date)), &text("morgen")), "morgen");
        assert_eq!(shown_text(Some(&field(FieldType::Number)), &text("1234.25")), "1.234,25");
        assert_eq!(shown_text(None, &FieldValue::Null), "–");
    }
}
