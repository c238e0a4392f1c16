//! Tables of expressions, one JSON object a line: what the command `expr` reads and writes.
//!
//! Purpose: the answer to one row, `{"id", "expr", "root"?, "vars"?, "num"?, "want"?, "template"?}`, as one line:
//! `{"id", "ok", "type", "text"?}` or `{"id", "err", "code", "name"?, "pos", "message"}`.
//! Invariant: numbers are read and written with all their digits: whole ones are int, long or bigint by size, others
//! decimals with their scale (with `"num":"double"` doubles). Every line has exactly one answer. The language is SpEL
//! as it stands, without the stricter rules that blueprints have for conditions.
//! Never: fails as a whole; a bad line is answered with `"err":"input"`.

use super::convert;
use super::decimal::Decimal;
use super::error::{ExprError, Fault};
use super::json::{self, Json};
use super::value::{ItemsKind, Value};
use super::{Env, Expression, Template};

/// The answer to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// One line of JSON, without its end.
    pub line: String,
    /// Whether the row could be read.
    pub readable: bool,
}

/// Answers one row.
pub fn answer(row: &str) -> Answer {
    match read(row) {
        Ok(row) => {
            let outcome = evaluate(&row);
            let members = match &outcome {
                Ok(value) => value_members(value),
                Err(error) => error_members(error, &row.source),
            };
            Answer { line: format!("{{\"id\":{},{members}}}", row.id), readable: true }
        }
        Err(message) => unreadable(&message),
    }
}

/// The answer to a line that can't be read.
pub fn unreadable(message: &str) -> Answer {
    let line = format!("{{\"id\":null,\"err\":\"input\",\"message\":{}}}", quoted(message));
    Answer { line, readable: false }
}

struct Row {
    /// As JSON.
    id: String,
    source: String,
    env: Env,
    template: bool,
    want_bool: bool,
}

fn read(text: &str) -> Result<Row, String> {
    let json = json::read(text)?;
    let Json::Object(_) = json else {
        return Err("a row is an object such as {\"id\":1,\"expr\":\"1 + 1\"}".to_owned());
    };
    let source = json.text("expr").ok_or("the row has no text `expr`")?.to_owned();
    let double = match json.get("num") {
        None | Some(Json::Null) => false,
        Some(Json::Text(num)) if num == "double" => true,
        Some(Json::Text(num)) if num == "decimal" => false,
        Some(_) => return Err("`num` is \"double\" or absent".to_owned()),
    };
    let mut env = Env::new();
    match json.get("vars") {
        None | Some(Json::Null) => {}
        Some(Json::Object(variables)) => {
            for (name, value) in variables {
                env = env.with(name.clone(), to_value(value, double)?);
            }
        }
        Some(_) => return Err("`vars` is an object".to_owned()),
    }
    if let Some(root) = json.get("root") {
        env = env.with_root(to_value(root, double)?);
    }
    let want_bool = match json.get("want") {
        None | Some(Json::Null) => false,
        Some(Json::Text(want)) if want == "bool" => true,
        Some(_) => return Err("`want` is \"bool\" or absent".to_owned()),
    };
    let template = match json.get("template") {
        None | Some(Json::Null) => false,
        Some(Json::Bool(template)) => *template,
        Some(_) => return Err("`template` is true, false or absent".to_owned()),
    };
    let id = json.get("id").map_or("null".to_owned(), json_text);
    Ok(Row { id, source, env, template, want_bool })
}

fn to_value(json: &Json, double: bool) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Text(text) => Value::Text(text.clone()),
        Json::List(items) => {
            Value::List(items.iter().map(|item| to_value(item, double)).collect::<Result<Vec<_>, _>>()?)
        }
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| Ok((key.clone(), to_value(value, double)?)));
            Value::Map(entries.collect::<Result<Vec<_>, String>>()?.into_iter().collect())
        }
        Json::Number(number) => number_value(number, double)?,
    })
}

fn number_value(number: &str, double: bool) -> Result<Value, String> {
    let too_long = || format!("the number {}… has too many digits", number.get(..20).unwrap_or(number));
    if !number.contains(['.', 'e', 'E']) {
        if let Ok(int) = number.parse() {
            return Ok(Value::Int(int));
        }
        if let Ok(long) = number.parse() {
            return Ok(Value::Long(long));
        }
        let decimal: Decimal = number.parse().map_err(|_| too_long())?;
        return Ok(Value::BigInt(decimal.unscaled().clone()));
    }
    if double {
        return number.parse().map(Value::Double).map_err(|_| too_long());
    }
    number.parse().map(Value::Decimal).map_err(|_| too_long())
}

fn evaluate(row: &Row) -> Result<Value, ExprError> {
    let value = if row.template {
        Template::parse(&row.source)?.eval(&row.env)?
    } else {
        Expression::parse_like_spring(&row.source)?.eval(&row.env)?
    };
    if !row.want_bool {
        return Ok(value);
    }
    let wanted = convert::wanted_bool(&value).map_err(|fault: Fault| fault.at(&(0..0)))?;
    Ok(wanted.map_or(Value::Null, Value::Bool))
}

fn value_members(value: &Value) -> String {
    let ok = value_json(value);
    let name = type_name(value);
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Text(_) | Value::Map(_) => {
            format!("\"ok\":{ok},\"type\":\"{name}\"")
        }
        _ => format!("\"ok\":{ok},\"type\":\"{name}\",\"text\":{}", quoted(&value.to_string())),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Long(_) => "long",
        Value::BigInt(_) => "bigint",
        Value::Float(_) => "float",
        Value::Double(_) => "double",
        Value::Decimal(_) => "decimal",
        Value::Char(_) => "char",
        Value::Text(_) => "string",
        Value::List(_) => "list",
        Value::Items(ItemsKind::Array, _) => "array",
        Value::Items(ItemsKind::Set, _) => "set",
        Value::Items(ItemsKind::Collection, _) => "collection",
        Value::Items(ItemsKind::Stream, _) => "stream",
        Value::Map(_) => "map",
        Value::Entry(_) => "entry",
    }
}

fn value_json(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Long(_) | Value::BigInt(_) | Value::Decimal(_) => {
            value.to_string()
        }
        Value::Float(number) if number.is_finite() => value.to_string(),
        Value::Double(number) if number.is_finite() => value.to_string(),
        Value::Float(_) | Value::Double(_) | Value::Char(_) | Value::Text(_) => quoted(&value.to_string()),
        Value::List(items) | Value::Items(_, items) => {
            format!("[{}]", items.iter().map(value_json).collect::<Vec<_>>().join(","))
        }
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}:{}", quoted(&key.to_string()), value_json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        Value::Entry(entry) => format!("{{{}:{}}}", quoted(&entry.0.to_string()), value_json(&entry.1)),
    }
}

fn error_members(error: &ExprError, source: &str) -> String {
    let place: usize = source.chars().take(error.span.start).map(char::len_utf16).sum();
    let name = message_name(error.code);
    let name = if name.is_empty() { String::new() } else { format!(",\"name\":\"{name}\"") };
    // Where the original lets an exception of Java through, it knows no place.
    let placeless = error.code.ends_with("Exception") && error.code != "ParseException";
    let place = if placeless { String::new() } else { format!(",\"pos\":{place}") };
    format!(
        "\"err\":\"{}\",\"code\":\"{}\"{name}{place},\"message\":{}",
        error.kind.name(),
        error.code,
        quoted(&error.to_string())
    )
}

/// What Spring calls the message with this code.
fn message_name(code: &str) -> &'static str {
    match code {
        "EL1001E" => "TYPE_CONVERSION_ERROR",
        "EL1002E" => "CONSTRUCTOR_NOT_FOUND",
        "EL1004E" => "METHOD_NOT_FOUND",
        "EL1005E" => "TYPE_NOT_FOUND",
        "EL1006E" => "FUNCTION_NOT_DEFINED",
        "EL1007E" => "PROPERTY_OR_FIELD_NOT_READABLE_ON_NULL",
        "EL1008E" => "PROPERTY_OR_FIELD_NOT_READABLE",
        "EL1011E" => "METHOD_CALL_ON_NULL_OBJECT_NOT_ALLOWED",
        "EL1012E" => "CANNOT_INDEX_INTO_NULL_VALUE",
        "EL1013E" => "NOT_COMPARABLE",
        "EL1015E" => "INVALID_TYPE_FOR_SELECTION",
        "EL1016E" => "RESULT_OF_SELECTION_CRITERIA_IS_NOT_BOOLEAN",
        "EL1017E" => "BETWEEN_RIGHT_OPERAND_MUST_BE_TWO_ELEMENT_LIST",
        "EL1018E" => "INVALID_PATTERN",
        "EL1019E" => "PROJECTION_NOT_SUPPORTED_ON_TYPE",
        "EL1022E" => "FUNCTION_REFERENCE_CANNOT_BE_INVOKED",
        "EL1025E" => "COLLECTION_INDEX_OUT_OF_BOUNDS",
        "EL1026E" => "STRING_INDEX_OUT_OF_BOUNDS",
        "EL1027E" => "INDEXING_NOT_SUPPORTED_FOR_TYPE",
        "EL1029E" => "EXCEPTION_DURING_METHOD_INVOCATION",
        "EL1030E" => "OPERATOR_NOT_SUPPORTED_BETWEEN_TYPES",
        "EL1035E" => "NOT_AN_INTEGER",
        "EL1036E" => "NOT_A_LONG",
        "EL1037E" => "INVALID_FIRST_OPERAND_FOR_MATCHES_OPERATOR",
        "EL1038E" => "INVALID_SECOND_OPERAND_FOR_MATCHES_OPERATOR",
        "EL1040E" => "NOT_A_REAL",
        "EL1041E" => "MORE_INPUT",
        "EL1042E" => "RIGHT_OPERAND_PROBLEM",
        "EL1043E" => "NOT_EXPECTED_TOKEN",
        "EL1044E" => "OOD",
        "EL1045E" => "NON_TERMINATING_DOUBLE_QUOTED_STRING",
        "EL1046E" => "NON_TERMINATING_QUOTED_STRING",
        "EL1049E" => "UNEXPECTED_DATA_AFTER_DOT",
        "EL1050E" => "MISSING_CONSTRUCTOR_ARGS",
        "EL1051E" => "RUN_OUT_OF_ARGUMENTS",
        "EL1057E" => "NO_BEAN_RESOLVER_REGISTERED",
        "EL1059E" => "INVALID_BEAN_REFERENCE",
        "EL1065E" => "UNEXPECTED_ESCAPE_CHAR",
        "EL1066E" => "OPERAND_NOT_INCREMENTABLE",
        "EL1067E" => "OPERAND_NOT_DECREMENTABLE",
        "EL1068E" => "NOT_ASSIGNABLE",
        "EL1069E" => "MISSING_CHARACTER",
        "EL1070E" => "LEFT_OPERAND_PROBLEM",
        "EL1071E" => "MISSING_SELECTION_EXPRESSION",
        "EL1073E" => "FLAWED_PATTERN",
        "EL1076E" => "MAX_REPEATED_TEXT_SIZE_EXCEEDED",
        "EL1077E" => "MAX_REGEX_LENGTH_EXCEEDED",
        "EL1078E" => "MAX_CONCATENATED_STRING_LENGTH_EXCEEDED",
        "EL1079E" => "MAX_EXPRESSION_LENGTH_EXCEEDED",
        "EL1081E" => "NEGATIVE_REPEATED_TEXT_COUNT",
        "EL1082E" => "UNSUPPORTED_CHARACTER",
        _ => "",
    }
}

fn json_text(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.clone(),
        Json::Text(text) => quoted(text),
        Json::List(items) => format!("[{}]", items.iter().map(json_text).collect::<Vec<_>>().join(",")),
        Json::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}:{}", quoted(key), json_text(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
