//! `rowModify`: opening a row, setting fields, saving it.
//!
//! Invariant: one block is one transaction: all its sets and the save happen, or none. Nothing is written without
//! `rowSave`, and nothing after it.

use async_graphql::{Error, SelectionField};
use serde_json::{Map, Value as Json};

use super::SimError;
use super::model::{SimObject, SimValue, coerce};
use super::schema::{Call, number};

/// What a block does, in its order.
#[derive(Default)]
struct Block {
    sets: Vec<(String, SimValue)>,
    saves: bool,
}

/// Runs one block. None is the ERP's silent no: no such row, held by a user, or another `modifyLSN`.
pub(super) async fn row_modify(
    call: &Call,
    args: &Map<String, Json>,
    field: SelectionField<'_>,
) -> Result<Option<SimObject>, Error> {
    let number = number(args)?;
    let expected = match args.get("modifyLSN") {
        None | Some(Json::Null) => None,
        Some(lsn) => Some(row_version(lsn)?),
    };
    let block = block(field)?;
    let open = move |object: &SimObject| !object.locked && expected.is_none_or(|lsn| lsn == object.lsn);
    if !block.saves {
        let object = call.sim.object(call.tenant, &number).map_err(|error| Error::new(error.to_string()))?;
        return Ok(object.filter(open).map(|mut object| {
            object.fields.extend(block.sets);
            object
        }));
    }
    let saved = call.sim.change(call.tenant, move |state| {
        if state.objects.get(&number).is_some_and(open) {
            Ok(state.save(&number, block.sets))
        } else {
            Err(SimError::Unchanged)
        }
    });
    match saved.await {
        Ok(object) => Ok(object),
        Err(SimError::Unchanged) => Ok(None),
        Err(error) => Err(Error::new(error.to_string())),
    }
}

fn row_version(lsn: &Json) -> Result<u64, Error> {
    match lsn {
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.as_u64(),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
    .ok_or_else(|| Error::new("modifyLSN is no 64-bit integer"))
}

fn block(field: SelectionField<'_>) -> Result<Block, Error> {
    let mut block = Block::default();
    for part in field.selection_set() {
        if part.name() == "rowSave" {
            if block.saves {
                return Err(Error::new("one block saves once"));
            }
            block.saves = true;
            continue;
        }
        for (argument, value) in part.arguments().map_err(|error| Error::new(error.message))? {
            if argument != "set" {
                continue;
            }
            if block.saves {
                return Err(Error::new(format!("field {} is set after rowSave", part.name())));
            }
            let input = value.into_json().map_err(|error| Error::new(error.to_string()))?;
            block.sets.push((part.name().to_owned(), set_value(part.name(), &input)?));
        }
    }
    Ok(block)
}

/// One of the input's forms, or none of them: `{}` clears the field.
fn set_value(field: &str, input: &Json) -> Result<SimValue, Error> {
    let forms = ["string", "text", "int", "float", "boolean", "localdate"];
    let given: Vec<&Json> = forms.iter().filter_map(|form| input.get(*form)).filter(|value| !value.is_null()).collect();
    match given[..] {
        [] => Ok(SimValue::Null),
        [value] => coerce(field, value).map_err(Error::new),
        _ => Err(Error::new(format!("set of field {field} takes one form at most"))),
    }
}
