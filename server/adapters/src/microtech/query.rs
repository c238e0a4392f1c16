//! Queries and mutations as text.
//!
//! Invariant: everything that isn't a checked GraphQL name enters as an escaped literal, so that no object number and
//! no typed value can leave its place. Literals rather than variables, because the variable types of the ERP's inputs
//! differ between installations and because the log keeps the mutation as it was sent.

use std::fmt::Write as _;

use ports::vocab::{FieldName, FieldType, FieldValue};
use ports::{ErpSet, ErpTarget};

use super::settings::{ErpSettings, KeyAccess};
use super::values::{as_argument, set_literal};
use ports::workflow::instance::ErpOutcome;

/// A field to set: its name, its type and the value wanted.
pub(super) type Wanted = (FieldName, FieldType, FieldValue);

/// A GraphQL string literal.
pub(super) fn string_literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `fldX`, or `fldX(as: FLOAT)` where the type has a machine format of its own.
fn selection(fields: &[(FieldName, FieldType)]) -> String {
    let mut out = String::new();
    for (name, field_type) in fields {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(name.as_str());
        if let Some(format) = as_argument(*field_type) {
            let _ = write!(out, "(as: {format})");
        }
    }
    out
}

/// Reads one row.
pub(super) fn read_query(target: &ErpTarget, access: &KeyAccess, fields: &[(FieldName, FieldType)]) -> String {
    format!(
        "query {{ {table} {{ rowRead(exactMatch: {{{index}: {{{argument}: {{string: {number}}}}}}}) {{ {fields} }} }} }}",
        table = target.table,
        index = access.index,
        argument = access.argument,
        number = string_literal(target.number.as_str()),
        fields = selection(fields),
    )
}

/// What an intent means in fields of this tenant.
pub(super) fn wanted(settings: &ErpSettings, set: &ErpSet) -> Vec<Wanted> {
    let states = |state: &str, external: bool| {
        vec![
            (settings.state_field.clone(), FieldType::Text, FieldValue::Text(state.to_owned())),
            (settings.external_flag_field.clone(), FieldType::Boolean, FieldValue::Bool(external)),
        ]
    };
    match set {
        ErpSet::Start => states(&settings.states.running, true),
        ErpSet::Fields(fields) => fields.clone(),
        ErpSet::End(ErpOutcome::Released) => states(&settings.states.released, false),
        ErpSet::End(ErpOutcome::Rejected) => states(&settings.states.rejected, false),
        ErpSet::End(ErpOutcome::None) => states(&settings.states.none, false),
    }
}

/// Writes one row and asks back what was saved. `Err` names the field whose value can't be written.
pub(super) fn write_mutation(
    target: &ErpTarget,
    settings: &ErpSettings,
    lsn: &str,
    wanted: &[Wanted],
) -> Result<String, String> {
    let access = settings.access(&target.table, &target.key);
    let mut sets = String::new();
    for (name, field_type, value) in wanted {
        let literal = set_literal(*field_type, value).map_err(|reason| format!("field {name}: {reason}"))?;
        let _ = write!(sets, "{name}(set: {literal}) ");
    }
    let mut back = vec![(target.key.clone(), FieldType::Text), (settings.lsn_field.clone(), FieldType::Text)];
    for (name, field_type, _) in wanted {
        if back.iter().all(|(known, _)| known != name) {
            back.push((name.clone(), *field_type));
        }
    }
    Ok(format!(
        "mutation {{ {table} {{ rowModify({argument}: {{string: {number}}}, modifyLSN: {lsn}) \
         {{ {key} {sets}rowSave {{ {back} }} }} }} }}",
        // First, so that the server reports an unknown field after it as just that (see the selection of reads).
        key = target.key,
        table = target.table,
        argument = access.argument,
        number = string_literal(target.number.as_str()),
        lsn = string_literal(lsn),
        back = selection(&back),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_quotes_stays_in_its_place() {
        assert_eq!(string_literal("a\"b\\c\n\u{1}ü"), "\"a\\\"b\\\\c\\n\\u0001ü\"");
    }

    #[test]
    fn one_mutation_sets_state_and_flag_and_asks_them_back() {
        let settings = ErpSettings::new("http://erp/graphql", super::super::Secret::new("t"));
        let target = ErpTarget {
            tenant: ports::vocab::TenantKey::new("c", "t"),
            table: "tblTransactions".into(),
            key: "fldBelegNr".into(),
            number: "ER-1".into(),
        };
        let text = write_mutation(&target, &settings, "17", &wanted(&settings, &ErpSet::Start));
        assert_eq!(
            text.as_deref(),
            Ok("mutation { tblTransactions { rowModify(kf1BelegNr: {string: \"ER-1\"}, modifyLSN: \"17\") \
                { fldBelegNr fldSel30312(set: {string: \"in Freigabe\"}) fldInExtBeaKz(set: {boolean: true}) \
                rowSave { fldBelegNr fldModifyLSN fldSel30312 fldInExtBeaKz(as: BOOLEAN) } } } }")
        );
    }
}
