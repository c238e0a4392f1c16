//! The GraphQL schema: the part of microtech's that the product uses, built from [`super::model::FIELDS`].
//!
//! Invariant: reading changes nothing; a row is written only by `rowModify { … rowSave }`. The silent failures of the
//! real ERP are kept: a locked record and a stale `modifyLSN` answer null, without an error.

use async_graphql::dynamic::{
    Enum, Field, FieldFuture, FieldValue, InputObject, InputValue, Object, ResolverContext, Scalar, Schema,
    SchemaError, TypeRef,
};
use async_graphql::{Error, Value};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde_json::{Map, Value as Json};

use super::ErpSim;
use super::filter::passes;
use super::model::{FIELDS, Form, Kind, LSN_FIELD, SimObject, answer};
use super::write::row_modify;

/// Depth of a document.
const DEPTH_MAX: usize = 16;
/// Selections of a document.
const COMPLEXITY_MAX: usize = 5_000;
/// Rows of one page, and the default.
const PAGE_ROWS_MAX: usize = 1_000;
const PAGE_ROWS_DEFAULT: usize = 100;

/// Whose data a request is about.
pub(super) struct Call {
    pub(super) sim: ErpSim,
    pub(super) tenant: usize,
}

/// A place in the tree that has no data of its own.
struct Place;

/// One page of rows.
struct Page {
    rows: Vec<SimObject>,
    more: bool,
}

/// Builds it.
pub(super) fn build() -> Result<Schema, SchemaError> {
    let place = |name: &str, target: &str| {
        Field::new(name, TypeRef::named(target), |_| FieldFuture::new(async { Ok(Some(FieldValue::owned_any(Place))) }))
    };
    let query = Object::new("Query").field(place("tblTransactions", "TransactionTable"));
    let mutation = Object::new("Mutation").field(place("tblTransactions", "TransactionTableMutation"));
    Schema::build("Query", Some("Mutation"), None)
        .limit_depth(DEPTH_MAX)
        .limit_complexity(COMPLEXITY_MAX)
        .register(query)
        .register(mutation)
        .register(Scalar::new("Any"))
        .register(Scalar::new("BigInt"))
        .register(Scalar::new("LocalDate"))
        .register(Enum::new("As").items(Form::NAMES))
        .register(slow_any_fields())
        .register(value_input("SetInput").field(input("allowAutoNrOnSave", TypeRef::BOOLEAN)))
        .register(key_input())
        .register(InputObject::new("ByBelegNr").field(input("kf1BelegNr", "KeyInput")))
        .register(InputObject::new("TransactionMatch").oneof().field(input("byBelegNr", "ByBelegNr")))
        .register(filter_operand())
        .register(filter_in())
        .register(filter_expr())
        .register(amounts())
        .register(table())
        .register(table_mutation())
        .register(row("Transaction"))
        .register(row("TransactionMutationRead"))
        .register(modify_row())
        .register(page_info())
        .register(edge())
        .register(connection())
        .finish()
}

fn input(name: &str, type_name: &str) -> InputValue {
    InputValue::new(name, TypeRef::named(type_name))
}

fn value_input(name: &str) -> InputObject {
    InputObject::new(name)
        .field(input("string", TypeRef::STRING))
        .field(input("text", TypeRef::STRING))
        .field(input("int", TypeRef::INT))
        .field(input("float", TypeRef::FLOAT))
        .field(input("boolean", TypeRef::BOOLEAN))
        .field(input("localdate", "LocalDate"))
}

fn key_input() -> InputObject {
    InputObject::new("KeyInput")
        .field(input("string", TypeRef::STRING))
        .field(input("text", TypeRef::STRING))
        .field(input("int", TypeRef::INT))
}

fn slow_any_fields() -> Enum {
    Enum::new("TransactionSlowAnyFields").item("kf1BelegNr").items(FIELDS.map(|(name, _)| name))
}

fn filter_operand() -> InputObject {
    InputObject::new("FilterOperand").field(input("field", "TransactionSlowAnyFields")).field(input("value", "Any"))
}

fn filter_in() -> InputObject {
    InputObject::new("FilterIn")
        .field(InputValue::new("left", TypeRef::named_nn("FilterOperand")))
        .field(InputValue::new("list", TypeRef::named_nn_list_nn("Any")))
}

fn filter_expr() -> InputObject {
    let mut filter = InputObject::new("FilterExpr").oneof();
    for operator in ["eq", "ne", "gt", "lt", "ge", "le"] {
        filter = filter.field(InputValue::new(operator, TypeRef::named_nn_list("FilterOperand")));
    }
    filter
        .field(input("isNull", "FilterOperand"))
        .field(input("isNotNull", "FilterOperand"))
        .field(InputValue::new("and", TypeRef::named_nn_list("FilterExpr")))
        .field(InputValue::new("or", TypeRef::named_nn_list("FilterExpr")))
        .field(input("not", "FilterExpr"))
        .field(input("in", "FilterIn"))
}

/// The arguments as JSON; enum values become text.
fn arguments(ctx: &ResolverContext<'_>) -> Result<Map<String, Json>, Error> {
    ctx.args
        .as_index_map()
        .iter()
        .map(|(name, value)| Ok((name.to_string(), value.clone().into_json().map_err(|e| Error::new(e.to_string()))?)))
        .collect()
}

/// The object number that `kf1BelegNr` or `exactMatch` names.
pub(super) fn number(args: &Map<String, Json>) -> Result<String, Error> {
    let direct = args.get("kf1BelegNr").filter(|key| !key.is_null());
    let matched = args.get("exactMatch").map(|exact| &exact["byBelegNr"]["kf1BelegNr"]).filter(|key| !key.is_null());
    let ((Some(key), None) | (None, Some(key))) = (direct, matched) else {
        return Err(Error::new("name the row by exactly one of kf1BelegNr and exactMatch"));
    };
    let given: Vec<&Json> =
        ["string", "text", "int"].iter().filter_map(|form| key.get(*form)).filter(|value| !value.is_null()).collect();
    match given[..] {
        [Json::String(text)] => Ok(text.clone()),
        [Json::Number(number)] => Ok(number.to_string()),
        _ => Err(Error::new("a key takes exactly one of string, text and int")),
    }
}

fn call<'a>(ctx: &ResolverContext<'a>) -> Result<&'a Call, Error> {
    ctx.ctx.data::<Call>()
}

/// Rows that pass both filters, ordered by key, after the key given.
fn rows(call: &Call, args: &Map<String, Json>, after: Option<&str>, max: usize) -> Result<Page, Error> {
    let filters: Vec<&Json> =
        ["fastFilter", "slowFilter"].iter().filter_map(|name| args.get(*name)).filter(|f| !f.is_null()).collect();
    let found = call.sim.look(call.tenant, |state| {
        let mut found = Vec::new();
        for object in state.objects.values() {
            if after.is_some_and(|after| object.number.as_str() <= after) {
                continue;
            }
            let mut passed = true;
            for filter in &filters {
                passed = passed && passes(filter, object)?;
            }
            if passed {
                found.push(object.clone());
                if found.len() > max {
                    break;
                }
            }
        }
        Ok::<_, String>(found)
    });
    let mut rows = found.map_err(|error| Error::new(error.to_string()))?.map_err(Error::new)?;
    let more = rows.len() > max;
    rows.truncate(max);
    Ok(Page { rows, more })
}

fn table() -> Object {
    let row_read = Field::new("rowRead", TypeRef::named("Transaction"), |ctx| {
        FieldFuture::new(async move {
            let call = call(&ctx)?;
            let number = number(&arguments(&ctx)?)?;
            let object = call.sim.object(call.tenant, &number).map_err(|error| Error::new(error.to_string()))?;
            Ok(object.map(FieldValue::owned_any))
        })
    });
    let rows_read = Field::new("rowsRead", TypeRef::named_nn_list_nn("Transaction"), |ctx| {
        FieldFuture::new(async move {
            let page = rows(call(&ctx)?, &arguments(&ctx)?, None, PAGE_ROWS_MAX)?;
            Ok(Some(FieldValue::list(page.rows.into_iter().map(FieldValue::owned_any))))
        })
    });
    let con_read = Field::new("conRead", TypeRef::named_nn("TransactionConnection"), |ctx| {
        FieldFuture::new(async move {
            let args = arguments(&ctx)?;
            let first = match args.get("first").and_then(Json::as_i64) {
                None => PAGE_ROWS_DEFAULT,
                Some(first) => usize::try_from(first)
                    .ok()
                    .filter(|first| (1..=PAGE_ROWS_MAX).contains(first))
                    .ok_or_else(|| Error::new(format!("first is {first}; 1 to {PAGE_ROWS_MAX} rows make a page")))?,
            };
            let after = args.get("after").and_then(Json::as_str).map(key_of_cursor).transpose()?;
            Ok(Some(FieldValue::owned_any(rows(call(&ctx)?, &args, after.as_deref(), first)?)))
        })
    });
    Object::new("TransactionTable")
        .field(row_read.argument(input("kf1BelegNr", "KeyInput")).argument(input("exactMatch", "TransactionMatch")))
        .field(rows_read.argument(input("fastFilter", "FilterExpr")).argument(input("slowFilter", "FilterExpr")))
        .field(
            con_read
                .argument(input("first", TypeRef::INT))
                .argument(input("after", TypeRef::STRING))
                .argument(input("fastFilter", "FilterExpr"))
                .argument(input("slowFilter", "FilterExpr")),
        )
}

fn table_mutation() -> Object {
    let modify = Field::new("rowModify", TypeRef::named("TransactionMutationModify"), |ctx| {
        FieldFuture::new(async move {
            let args = arguments(&ctx)?;
            let object = row_modify(call(&ctx)?, &args, ctx.ctx.field()).await?;
            Ok(object.map(FieldValue::owned_any))
        })
    });
    Object::new("TransactionTableMutation").field(
        modify
            .argument(input("kf1BelegNr", "KeyInput"))
            .argument(input("exactMatch", "TransactionMatch"))
            .argument(input("modifyLSN", "BigInt")),
    )
}

/// One field of a row; `settable` fields take `set`, whose work [`row_modify`] has done before this is asked.
fn leaf(name: &'static str, settable: bool) -> Field {
    let field = Field::new(name, TypeRef::named("Any"), move |ctx| {
        FieldFuture::new(async move {
            let object = ctx.parent_value.try_downcast_ref::<SimObject>()?;
            let form = match ctx.args.get("as") {
                Some(form) if !form.is_null() => {
                    Form::named(form.enum_name()?).ok_or_else(|| Error::new("as names no form"))?
                }
                _ => Form::Plain,
            };
            let value = Value::from_json(answer(object, name, form)).map_err(|error| Error::new(error.to_string()))?;
            Ok(Some(FieldValue::value(value)))
        })
    });
    let field = field.argument(input("as", "As"));
    if settable { field.argument(input("set", "SetInput")) } else { field }
}

fn row(type_name: &str) -> Object {
    let mut object = Object::new(type_name);
    for (name, _) in FIELDS {
        object = object.field(leaf(name, false));
    }
    object.field(lsn()).field(Field::new("acoGPreis", TypeRef::named("Amounts"), |ctx| {
        FieldFuture::new(async move {
            Ok(Some(FieldValue::owned_any(ctx.parent_value.try_downcast_ref::<SimObject>()?.clone())))
        })
    }))
}

fn lsn() -> Field {
    Field::new(LSN_FIELD, TypeRef::named("BigInt"), |ctx| {
        FieldFuture::new(async move {
            let object = ctx.parent_value.try_downcast_ref::<SimObject>()?;
            Ok(Some(FieldValue::value(object.lsn.to_string())))
        })
    })
}

fn modify_row() -> Object {
    let mut object = Object::new("TransactionMutationModify");
    for (name, kind) in FIELDS {
        object = object.field(leaf(name, !matches!(kind, Kind::Key | Kind::Stamp)));
    }
    object.field(lsn()).field(Field::new("rowSave", TypeRef::named("TransactionMutationRead"), |ctx| {
        FieldFuture::new(async move {
            Ok(Some(FieldValue::owned_any(ctx.parent_value.try_downcast_ref::<SimObject>()?.clone())))
        })
    }))
}

fn amounts() -> Object {
    let amount = |name: &str, of: fn(f64, f64) -> f64| {
        Field::new(name, TypeRef::named(TypeRef::FLOAT), move |ctx| {
            FieldFuture::new(async move {
                let object = ctx.parent_value.try_downcast_ref::<SimObject>()?;
                let read = |field: &str| answer(object, field, Form::Float).as_f64();
                let both = read("fldGesamtNetto").zip(read("fldGesamtBrutto"));
                Ok(both.map(|(net, gross)| FieldValue::value(of(net, gross))))
            })
        })
    };
    Object::new("Amounts")
        .field(amount("totalNetAmount", |net, _| net))
        .field(amount("totalGrossAmount", |_, gross| gross))
        .field(amount("totalTaxAmount", |net, gross| ((gross - net) * 100.0).round() / 100.0))
}

fn page_info() -> Object {
    let page = |name: &str, type_ref: TypeRef, of: fn(&Page) -> Value| {
        Field::new(name, type_ref, move |ctx| {
            FieldFuture::new(
                async move { Ok(Some(FieldValue::value(of(ctx.parent_value.try_downcast_ref::<Page>()?)))) },
            )
        })
    };
    Object::new("PageInfo")
        .field(page("hasNextPage", TypeRef::named_nn(TypeRef::BOOLEAN), |page| Value::from(page.more)))
        .field(page("edgeCount", TypeRef::named_nn(TypeRef::INT), |page| Value::from(page.rows.len())))
        .field(page("startCursor", TypeRef::named(TypeRef::STRING), |page| cursor_of(page.rows.first())))
        .field(page("endCursor", TypeRef::named(TypeRef::STRING), |page| cursor_of(page.rows.last())))
}

fn edge() -> Object {
    Object::new("TransactionEdge")
        .field(Field::new("cursor", TypeRef::named_nn(TypeRef::STRING), |ctx| {
            FieldFuture::new(async move {
                let object = ctx.parent_value.try_downcast_ref::<SimObject>()?;
                Ok(Some(FieldValue::value(cursor_of(Some(object)))))
            })
        }))
        .field(Field::new("node", TypeRef::named_nn("Transaction"), |ctx| {
            FieldFuture::new(async move {
                Ok(Some(FieldValue::owned_any(ctx.parent_value.try_downcast_ref::<SimObject>()?.clone())))
            })
        }))
}

fn connection() -> Object {
    Object::new("TransactionConnection")
        .field(Field::new("edges", TypeRef::named_nn_list_nn("TransactionEdge"), |ctx| {
            FieldFuture::new(async move {
                let page = ctx.parent_value.try_downcast_ref::<Page>()?;
                Ok(Some(FieldValue::list(page.rows.iter().cloned().map(FieldValue::owned_any))))
            })
        }))
        .field(Field::new("pageInfo", TypeRef::named_nn("PageInfo"), |ctx| {
            FieldFuture::new(async move {
                let page = ctx.parent_value.try_downcast_ref::<Page>()?;
                Ok(Some(FieldValue::owned_any(Page { rows: page.rows.clone(), more: page.more })))
            })
        }))
}

/// A cursor names the row, not its place, so that rows leaving the filter between two pages hide none.
fn cursor_of(row: Option<&SimObject>) -> Value {
    row.map_or(Value::Null, |row| Value::from(BASE64.encode(&row.number)))
}

fn key_of_cursor(cursor: &str) -> Result<String, Error> {
    let bytes = BASE64.decode(cursor).map_err(|_| Error::new("after is no cursor of ours"))?;
    String::from_utf8(bytes).map_err(|_| Error::new("after is no cursor of ours"))
}
