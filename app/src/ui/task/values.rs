//! From what a person typed to what is sent, and back. Pure.
//!
//! Invariant: what reads the same counts as unchanged; an ambiguous amount is asked about, never guessed.
//! Never: the server's checks; those are made again there.

use std::collections::BTreeMap;

use contract::{
    FieldProblemKind, FormField,
    vocab::{AmountError, FieldName, FieldType, FieldValue, canonical_amount, format_amount_de, format_amount_en},
};

use crate::texts::Locale;

/// Characters of one line.
pub(crate) const LINE_CHARS_MAX: u32 = 500;
/// Characters of a multi-line field, a comment or a remark.
pub(crate) const TEXT_CHARS_MAX: u32 = 4_000;
/// Digits after the point that an amount shows at least.
const MONEY_DIGITS: usize = 2;

/// What was typed, per field that was touched.
pub(crate) type Typed = BTreeMap<FieldName, FieldValue>;

/// What an input shows before anything is typed: text for all kinds but lists.
pub(crate) fn initial(locale: Locale, field: &FormField) -> FieldValue {
    match (&field.value, field.kind) {
        (FieldValue::List(_), _) => field.value.clone(),
        (FieldValue::Null, FieldType::Choices) => FieldValue::List(Vec::new()),
        (FieldValue::Null, _) => FieldValue::Text(String::new()),
        (FieldValue::Bool(yes), _) => FieldValue::Text(yes.to_string()),
        (FieldValue::Text(text), FieldType::Money) => FieldValue::Text(number(locale, text, MONEY_DIGITS)),
        (FieldValue::Text(text), FieldType::Number) => FieldValue::Text(number(locale, text, 0)),
        (FieldValue::Text(text), FieldType::Choices) => FieldValue::List(vec![text.clone()]),
        (FieldValue::Text(text), _) => FieldValue::Text(text.clone()),
    }
}

/// A canonical decimal as it is typed in this language. The minus is the one on the keyboard.
fn number(locale: Locale, canonical: &str, digits: usize) -> String {
    let text = match locale {
        Locale::de => format_amount_de(canonical, digits),
        Locale::en => format_amount_en(canonical, digits),
    };
    text.replace('\u{2212}', "-")
}

/// Reads what was typed as the field's machine form.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(field: &FormField, typed: &FieldValue) -> Result<FieldValue, FieldProblemKind> {
    let value = match typed {
        FieldValue::Text(text) => read_text(field, text)?,
        FieldValue::List(_) | FieldValue::Bool(_) | FieldValue::Null => typed.clone(),
    };
    if field.required && value.is_blank() {
        return Err(FieldProblemKind::Required);
    }
    Ok(value)
}

fn read_text(field: &FormField, text: &str) -> Result<FieldValue, FieldProblemKind> {
    let blank = text.trim().is_empty();
    match field.kind {
        FieldType::Text | FieldType::Multiline | FieldType::Lookup => {
            // An empty input over an empty value changes nothing.
            Ok(if text.is_empty() && field.value == FieldValue::Null {
                FieldValue::Null
            } else {
                FieldValue::Text(text.to_owned())
            })
        }
        _ if blank => Ok(FieldValue::Null),
        FieldType::Number | FieldType::Money => {
            canonical_amount(text).map(FieldValue::Text).map_err(|error| match error {
                AmountError::Empty => FieldProblemKind::Required,
                AmountError::NotANumber => FieldProblemKind::NotANumber,
                AmountError::Ambiguous => FieldProblemKind::Ambiguous,
                AmountError::TooLong => FieldProblemKind::TooLong,
            })
        }
        FieldType::Date => {
            if is_date(text) {
                Ok(FieldValue::Text(text.to_owned()))
            } else {
                Err(FieldProblemKind::NotADate)
            }
        }
        FieldType::Boolean => Ok(FieldValue::Bool(text == "true")),
        FieldType::Choice => {
            let known = field.options.iter().any(|option| option == text) || field.value.as_text() == Some(text);
            if known { Ok(FieldValue::Text(text.to_owned())) } else { Err(FieldProblemKind::NotAnOption) }
        }
        FieldType::Choices => Ok(FieldValue::List(vec![text.to_owned()])),
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &str, len: usize| part.len() == len && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts.as_slice(), [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}

/// Whether two machine forms are the same value of this kind.
pub(crate) fn same(kind: FieldType, a: &FieldValue, b: &FieldValue) -> bool {
    let blank = |value: &FieldValue| value.is_blank();
    match (kind, a, b) {
        (FieldType::Number | FieldType::Money, FieldValue::Text(a), FieldValue::Text(b)) => plain(a) == plain(b),
        _ => a == b || (blank(a) && blank(b)),
    }
}

/// A decimal without trailing zeros.
fn plain(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

/// Whether a field was changed: what was typed reads differently, or can't be read.
pub(crate) fn is_changed(locale: Locale, field: &FormField, typed: &FieldValue) -> bool {
    if *typed == initial(locale, field) {
        return false;
    }
    read_text_or_list(field, typed).map_or(true, |value| !same(field.kind, &value, &field.value))
}

fn read_text_or_list(field: &FormField, typed: &FieldValue) -> Result<FieldValue, FieldProblemKind> {
    match typed {
        FieldValue::Text(text) => read_text(field, text),
        FieldValue::List(_) | FieldValue::Bool(_) | FieldValue::Null => Ok(typed.clone()),
    }
}

/// What to send as changes, and what is wrong. An untouched field is never a problem but for a missing required value.
pub(crate) fn changes(
    locale: Locale,
    fields: &[FormField],
    typed: &Typed,
) -> (Typed, BTreeMap<FieldName, FieldProblemKind>) {
    let mut changes = Typed::new();
    let mut problems = BTreeMap::new();
    for field in fields.iter().filter(|field| field.editable) {
        let Some(typed) = typed.get(&field.name).filter(|typed| is_changed(locale, field, typed)) else {
            if field.required && field.value.is_blank() {
                problems.insert(field.name.clone(), FieldProblemKind::Required);
            }
            continue;
        };
        match read(field, typed) {
            Ok(value) => {
                changes.insert(field.name.clone(), value);
            }
            Err(problem) => {
                problems.insert(field.name.clone(), problem);
            }
        }
    }
    (changes, problems)
}

/// The two things that `1.234` can mean, as typed in this language: thousands first.
pub(crate) fn readings(locale: Locale, typed: &str) -> Option<[String; 2]> {
    if canonical_amount(typed) != Err(AmountError::Ambiguous) {
        return None;
    }
    let digits = typed.replace(['.', ',', ' '], "");
    let (integer, fraction) = typed.trim().split_once(['.', ','])?;
    Some([number(locale, &digits, MONEY_DIGITS), number(locale, &format!("{integer}.{fraction}0"), 0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(kind: FieldType, value: FieldValue) -> FormField {
        FormField {
            name: "fldX".into(),
            label: "X".to_owned(),
            kind,
            value,
            text: String::new(),
            editable: true,
            required: true,
            options: vec!["1000".to_owned(), "2000".to_owned()],
            prominent: false,
            currency: None,
        }
    }

    fn text(text: &str) -> FieldValue {
        FieldValue::Text(text.to_owned())
    }

    fn check(field: &FormField, typed: &str) -> Result<Option<FieldValue>, FieldProblemKind> {
        let typed = Typed::from([(field.name.clone(), text(typed))]);
        let (changes, problems) = changes(Locale::de, std::slice::from_ref(field), &typed);
        match problems.into_values().next() {
            Some(problem) => Err(problem),
            None => Ok(changes.into_values().next()),
        }
    }

    #[test]
    fn what_reads_the_same_is_no_change() {
        let money = field(FieldType::Money, text("1190.5"));
        assert_eq!(initial(Locale::de, &money), text("1.190,50"));
        assert_eq!(initial(Locale::en, &money), text("1,190.50"));
        for same in ["1.190,50", "1190,5", "1190.50"] {
            assert_eq!(check(&money, same), Ok(None), "{same}");
        }
        assert_eq!(check(&money, "1.190,51"), Ok(Some(text("1190.51"))));
        assert_eq!(check(&money, "1.190"), Err(FieldProblemKind::Ambiguous));
        assert_eq!(check(&money, "viel"), Err(FieldProblemKind::NotANumber));
        assert_eq!(check(&money, " "), Err(FieldProblemKind::Required));
    }

    #[test]
    fn choices_and_dates_are_checked() {
        let choice = field(FieldType::Choice, text("3000"));
        assert_eq!(check(&choice, "2000"), Ok(Some(text("2000"))));
        assert_eq!(check(&choice, "9"), Err(FieldProblemKind::NotAnOption));
        assert_eq!(check(&choice, "3000"), Ok(None));
        let date = field(FieldType::Date, FieldValue::Null);
        assert_eq!(check(&date, "2026-11-30"), Ok(Some(text("2026-11-30"))));
        assert_eq!(check(&date, "30.11.2026"), Err(FieldProblemKind::NotADate));
    }

    #[test]
    fn an_untouched_empty_required_field_is_a_problem() {
        let empty = field(FieldType::Text, FieldValue::Null);
        let (_, problems) = changes(Locale::de, &[empty], &Typed::new());
        assert_eq!(problems.into_values().collect::<Vec<_>>(), [FieldProblemKind::Required]);
    }

    #[test]
    fn both_readings_of_an_ambiguous_amount_are_unambiguous() {
        for locale in [Locale::de, Locale::en] {
            for typed in ["1.234", "12,345"] {
                let readings = readings(locale, typed);
                let canonical = readings.map(|readings| readings.map(|reading| canonical_amount(&reading)));
                let digits = typed.replace(['.', ','], "");
                let decimal = format!("{}0", typed.replace(',', "."));
                assert_eq!(canonical, Some([Ok(format!("{digits}.00")), Ok(decimal)]), "{typed}");
            }
        }
        assert_eq!(readings(Locale::de, "1.234,5"), None);
    }
}
