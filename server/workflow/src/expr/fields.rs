//! Field values as expressions see them.
//!
//! Purpose: gives the ERP's values the types that the blueprint declares.
//! Invariant: amounts and numbers enter as decimals, also where the ERP sends a whole number (DESIGN §7); an empty
//! amount, number or date is null, so that no order with it passes unnoticed.
//! Never: reads a localised text such as `1.234,50 EUR`.

use std::collections::BTreeMap;

use vocab::{FieldName, FieldType, FieldValue};

use super::decimal::Decimal;
use super::error::{ErrorKind, ExprError, Fault};
use super::value::Value;
use crate::blueprint::FieldDecl;

/// The value of a field of this type.
///
/// # Errors
/// [`ErrorKind::Conversion`] where the value doesn't fit the type, e.g. a number that is no canonical decimal text.
pub fn typed_value(field_type: FieldType, value: &FieldValue) -> Result<Value, ExprError> {
    convert(field_type, value).map_err(|fault| fault.at(&(0..0)))
}

/// The map `#object`: every declared field; one that `values` lacks is null.
///
/// # Errors
/// As [`typed_value`]; the message names the field.
pub fn object_value(fields: &[FieldDecl], values: &BTreeMap<FieldName, FieldValue>) -> Result<Value, ExprError> {
    let mut object = BTreeMap::new();
    for field in fields {
        let value = convert(field.kind, values.get(&field.name).unwrap_or(&FieldValue::Null))
            .map_err(|fault| Fault::new(fault.kind, format!("field {}: {}", field.name, fault.message)).at(&(0..0)))?;
        object.insert(field.name.as_str().to_owned(), value);
    }
    Ok(Value::Map(object.into()))
}

fn convert(field_type: FieldType, value: &FieldValue) -> Result<Value, Fault> {
    let misfit = |wanted: &str| {
        let message = format!("{} is no {wanted}; correct the value in the ERP or the field's type", shown(value));
        Err(Fault::new(ErrorKind::Conversion, message))
    };
    let blank = value.is_blank();
    match (field_type, value) {
        (_, FieldValue::Null) => Ok(Value::Null),
        (FieldType::Number | FieldType::Money | FieldType::Date | FieldType::Boolean, FieldValue::Text(_)) if blank => {
            Ok(Value::Null)
        }
        (FieldType::Number | FieldType::Money, FieldValue::Text(text)) => match decimal(text) {
            Some(decimal) => Ok(Value::Decimal(decimal)),
            None => misfit("number such as 1234.50"),
        },
        (FieldType::Number | FieldType::Money, _) => misfit("number such as 1234.50"),
        (FieldType::Boolean, FieldValue::Bool(value)) => Ok(Value::Bool(*value)),
        (FieldType::Boolean, _) => misfit("boolean"),
        (FieldType::Choices, FieldValue::List(items)) => {
            Ok(Value::List(items.iter().cloned().map(Value::Text).collect()))
        }
        (FieldType::Choices, FieldValue::Text(text)) => {
            Ok(Value::List(if blank { Vec::new() } else { vec![Value::Text(text.clone())] }))
        }
        (FieldType::Choices, FieldValue::Bool(_)) => misfit("list of choices"),
        (FieldType::Text | FieldType::Multiline | FieldType::Date | FieldType::Choice | FieldType::Lookup, _) => {
            match value {
                FieldValue::Text(text) => Ok(Value::Text(text.clone())),
                FieldValue::Bool(_) | FieldValue::List(_) => misfit("text"),
                FieldValue::Null => Ok(Value::Null),
            }
        }
    }
}

/// `-1234.50`: a sign, digits, a point. Nothing else, so that nothing localised is misread.
fn decimal(text: &str) -> Option<Decimal> {
    let body = text.strip_prefix('-').unwrap_or(text);
    let (integer, fraction) = body.split_once('.').unwrap_or((body, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if digits(integer) && digits(fraction) { text.parse().ok() } else { None }
}

fn shown(value: &FieldValue) -> String {
    match value {
        FieldValue::Null => "null".to_owned(),
        FieldValue::Bool(value) => format!("the boolean {value}"),
        FieldValue::Text(text) => format!("the text '{}'", text.chars().take(40).collect::<String>()),
        FieldValue::List(_) => "a list".to_owned(),
    }
}
