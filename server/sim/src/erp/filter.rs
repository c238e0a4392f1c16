//! Filters of lists: objects with exactly one operator each.
//!
//! Invariant: a filter that isn't understood is an error, never "everything" or "nothing".

use serde_json::Value;

use super::model::{KEY_FIELD, Kind, SimObject, SimValue, kind_of};

/// Operators that one filter may hold, nested ones included.
const OPERATORS_MAX: usize = 100;

/// Whether the object passes.
pub(super) fn passes(filter: &Value, object: &SimObject) -> Result<bool, String> {
    let mut budget = OPERATORS_MAX;
    holds(filter, object, &mut budget)
}

fn holds(filter: &Value, object: &SimObject, budget: &mut usize) -> Result<bool, String> {
    *budget = budget.checked_sub(1).ok_or_else(|| format!("a filter may hold at most {OPERATORS_MAX} operators"))?;
    let map = filter.as_object().ok_or("a filter must be an object")?;
    let mut operators = map.iter().filter(|(_, operand)| !operand.is_null());
    let (Some((operator, operand)), None) = (operators.next(), operators.next()) else {
        return Err("a filter object must hold exactly one operator".into());
    };
    match operator.as_str() {
        "and" | "or" => {
            let parts = operand.as_array().ok_or("and/or take a list")?;
            let mut results = Vec::new();
            for part in parts {
                results.push(holds(part, object, budget)?);
            }
            Ok(if operator == "and" { results.iter().all(|yes| *yes) } else { results.iter().any(|yes| *yes) })
        }
        "not" => holds(operand, object, budget).map(|yes| !yes),
        "isNull" => value(operand, object).map(|value| value.is_none()),
        "isNotNull" => value(operand, object).map(|value| value.is_some()),
        "in" => {
            let left = value(&operand["left"], object)?;
            let list = operand["list"].as_array().ok_or("in takes a list")?;
            Ok(list.iter().any(|item| left.is_some() && left == literal(item)))
        }
        "eq" | "ne" | "gt" | "lt" | "ge" | "le" => {
            let pair = operand.as_array().map(Vec::as_slice).unwrap_or_default();
            let [left, right] = pair else { return Err(format!("{operator} takes two operands")) };
            Ok(compare(operator, value(left, object)?.as_ref(), value(right, object)?.as_ref()))
        }
        unknown => Err(format!("{unknown} is no operator")),
    }
}

#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum Comparable {
    Number(f64),
    Text(String),
}

fn compare(operator: &str, left: Option<&Comparable>, right: Option<&Comparable>) -> bool {
    match operator {
        "eq" => left == right,
        "ne" => left != right,
        // Nothing is neither more nor less than something.
        _ => match (left, right) {
            (Some(left), Some(right)) => match operator {
                "gt" => left > right,
                "lt" => left < right,
                "ge" => left >= right,
                _ => left <= right,
            },
            _ => false,
        },
    }
}

/// `{field: x}` or `{value: y}`.
fn value(operand: &Value, object: &SimObject) -> Result<Option<Comparable>, String> {
    match (operand.get("field").and_then(Value::as_str), operand.get("value")) {
        (Some(field), None | Some(Value::Null)) => {
            let field = if field == "kf1BelegNr" { KEY_FIELD } else { field };
            let kind = kind_of(field).ok_or_else(|| format!("there is no field {field}"))?;
            Ok(match object.value(field) {
                SimValue::Null => None,
                SimValue::Bool(yes) => Some(Comparable::Number(f64::from(u8::from(yes)))),
                SimValue::Text(text) if kind == Kind::Money => text.parse().ok().map(Comparable::Number),
                SimValue::Text(text) => Some(Comparable::Text(text)),
            })
        }
        (None, Some(value)) => Ok(literal(value)),
        _ => Err("an operand is either {field: …} or {value: …}".into()),
    }
}

fn literal(value: &Value) -> Option<Comparable> {
    match value {
        Value::Bool(yes) => Some(Comparable::Number(f64::from(u8::from(*yes)))),
        Value::Number(number) => number.as_f64().map(Comparable::Number),
        Value::String(text) => Some(Comparable::Text(text.clone())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operators_work_and_foreign_ones_are_errors() {
        let object = SimObject::new(
            "ER-1",
            [("fldGesamtBrutto", SimValue::text("1190.00")), ("fldDat", SimValue::text("2026-11-18"))],
        );
        let yes = [
            json!({"eq": [{"field": "fldSel30312"}, {"value": "none"}]}),
            json!({"gt": [{"field": "fldGesamtBrutto"}, {"value": 500}]}),
            json!({"ge": [{"field": "fldDat"}, {"value": "2026-11-01"}]}),
            json!({"in": {"left": {"field": "kf1BelegNr"}, "list": ["ER-0", "ER-1"]}}),
            json!({"isNull": {"field": "fldInfo"}}),
            json!({"not": {"eq": [{"field": "fldInExtBeaKz"}, {"value": true}]}}),
            json!({"and": [{"isNotNull": {"field": "fldDat"}}, {"or": [{"isNull": {"field": "fldInfo"}}]}]}),
        ];
        for filter in yes {
            assert_eq!(passes(&filter, &object), Ok(true), "{filter}");
        }
        let wrong = [
            json!({}),
            json!({"eq": [{"field": "fldDat"}]}),
            json!({"eq": [{"field": "fldNichtDa"}, {"value": 1}]}),
            json!({"like": []}),
            json!({"isNull": {"field": "fldDat"}, "isNotNull": {"field": "fldDat"}}),
        ];
        for filter in wrong {
            assert!(passes(&filter, &object).is_err(), "{filter}");
        }
    }
}
