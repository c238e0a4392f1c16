//! microtech büro+ over its GraphQL interface (DESIGN §6).
//!
//! Purpose: the only code that speaks to the ERP; implements [`ErpRead`] and [`ErpWrite`] for all tenants.
//! Invariant: a write counts only when `rowSave` returns the key and every value that was wanted; a silent null never
//! passes for success. A field is dropped from a query only when the ERP says that it doesn't exist.
//! Never: retries a write, follows a redirect, shows a token.

mod answer;
mod http;
mod query;
mod settings;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use ports::vocab::{FieldName, FieldType, TenantKey};
use ports::workflow::event::ErpEvidence;
use ports::workflow::instance::ErpOutcome;
use ports::{ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpState, ErpTarget, ErpWrite, ErpWritten};
use serde_json::Value;

use self::answer::{Complaint, complaint};
use self::http::{Answer, Clients, Endpoint};
use self::query::Wanted;
use self::settings::is_graphql_name;
pub use self::settings::{
    ErpSettings, KeyAccess, Secret, SettingsError, StateValues, TIMEOUT_S_DEFAULT, TIMEOUT_S_MAX,
};

/// How often a query is repeated without the fields that the ERP doesn't know.
const CORRECTIONS_MAX: usize = 3;
/// Fields one query may ask for.
const FIELDS_MAX: usize = 200;

/// All tenants' ERPs.
pub struct Microtech {
    endpoints: BTreeMap<TenantKey, Endpoint>,
}

impl Microtech {
    /// Checks the settings and makes the clients; connects to nothing, so that the server starts while an ERP is down.
    ///
    /// # Errors
    /// [`SettingsError`] names the tenant and the setting.
    pub fn new(settings: BTreeMap<TenantKey, ErpSettings>) -> Result<Self, SettingsError> {
        let clients = Clients::new()?;
        let endpoints = settings
            .into_iter()
            .map(|(tenant, settings)| Ok((tenant.clone(), Endpoint::new(tenant, settings, &clients)?)))
            .collect::<Result<_, SettingsError>>()?;
        Ok(Self { endpoints })
    }

    /// Asks the tenant's ERP for nothing but a sign of life with the configured token (readiness, "Verbindung testen").
    ///
    /// # Errors
    /// As a read would fail.
    pub async fn ping(&self, tenant: &TenantKey) -> Result<(), ErpError> {
        let answer = self.endpoint(tenant)?.send("query { __typename }", None).await?;
        match complaint(&answer.body, &BTreeSet::new()) {
            Complaint::Nothing => Ok(()),
            Complaint::Locked(reason) | Complaint::Other(reason) => Err(refused(reason, answer.evidence)),
            Complaint::UnknownFields(_) => Err(refused("it knows no __typename", answer.evidence)),
        }
    }

    fn endpoint(&self, tenant: &TenantKey) -> Result<&Endpoint, ErpError> {
        self.endpoints.get(tenant).ok_or_else(|| ErpError::NotConfigured { tenant: tenant.to_string() })
    }
}

#[async_trait]
impl ErpRead for Microtech {
    async fn read(&self, target: &ErpTarget, fields: &ErpFields) -> Result<ErpObject, ErpError> {
        let endpoint = self.endpoint(&target.tenant)?;
        check_names(target, fields.iter().map(|(name, _)| name))?;
        let mut selection = Selection::new(&endpoint.settings, target, fields);
        if selection.fields.len() > FIELDS_MAX {
            let reason = format!("{} fields were asked for, at most {FIELDS_MAX} may be", selection.fields.len());
            return Err(refused(reason, ErpEvidence::default()));
        }
        let access = endpoint.settings.access(&target.table, &target.key);
        for correction in 0..=CORRECTIONS_MAX {
            let document = query::read_query(target, &access, &selection.fields);
            let answer = endpoint.send(&document, None).await?;
            match complaint(&answer.body, &selection.names()) {
                Complaint::Nothing => return selection.object(target, &endpoint.settings, &answer),
                Complaint::Locked(reason) => return Err(endpoint.unavailable(reason)),
                Complaint::Other(reason) => return Err(refused(reason, answer.evidence)),
                Complaint::UnknownFields(names) => {
                    tracing::warn!(tenant = %target.tenant, ?names, correction, "the ERP doesn't know these fields");
                    selection.drop(&names)?;
                }
            }
        }
        Err(ErpError::UnknownFields { fields: selection.missing })
    }
}

#[async_trait]
impl ErpWrite for Microtech {
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError> {
        let target = &mutation.target;
        let endpoint = self.endpoint(&target.tenant)?;
        let wanted = query::wanted(&endpoint.settings, &mutation.set);
        check_names(target, wanted.iter().map(|(name, _, _)| name))?;
        if wanted.is_empty() || wanted.len() > FIELDS_MAX {
            let reason = format!("{} fields were to be written, 1 to {FIELDS_MAX} may be", wanted.len());
            return Err(refused(reason, ErpEvidence::default()));
        }
        if mutation.lsn.trim().is_empty() {
            return Err(refused("no modifyLSN was given to fence the write", ErpEvidence::default()));
        }
        let document = query::write_mutation(target, &endpoint.settings, &mutation.lsn, &wanted)
            .map_err(|reason| refused(reason, ErpEvidence::default()))?;
        let answer = endpoint.send(&document, Some(&mutation.idempotency_key)).await?;
        let selected = wanted.iter().map(|(name, _, _)| name.as_str()).chain([target.key.as_str()]).collect();
        let number = target.number.to_string();
        match complaint(&answer.body, &selected) {
            Complaint::Nothing => {}
            Complaint::Locked(reason) => return Err(not_confirmed(number, reason, answer.evidence)),
            Complaint::Other(reason) => return Err(refused(reason, answer.evidence)),
            Complaint::UnknownFields(names) => {
                return Err(ErpError::UnknownFields { fields: names.into_iter().map(FieldName::new).collect() });
            }
        }
        match confirm(target, &wanted, &answer.body) {
            Ok(()) => Ok(ErpWritten { evidence: answer.evidence }),
            Err(reason) => Err(not_confirmed(number, reason, answer.evidence)),
        }
    }
}

fn refused(reason: impl Into<String>, evidence: ErpEvidence) -> ErpError {
    ErpError::Refused { reason: reason.into(), evidence: Box::new(evidence) }
}

fn not_confirmed(number: String, reason: impl Into<String>, evidence: ErpEvidence) -> ErpError {
    ErpError::NotConfirmed { number, reason: reason.into(), evidence: Box::new(evidence) }
}

/// Nothing but GraphQL names may enter a query as names. A field that isn't one can't exist in the ERP.
fn check_names<'a>(target: &'a ErpTarget, fields: impl Iterator<Item = &'a FieldName>) -> Result<(), ErpError> {
    if !is_graphql_name(&target.table) {
        return Err(refused(format!("{:?} is no table name", target.table), ErpEvidence::default()));
    }
    let bad: Vec<FieldName> =
        fields.chain([&target.key]).filter(|name| !is_graphql_name(name.as_str())).cloned().collect();
    if bad.is_empty() { Ok(()) } else { Err(ErpError::UnknownFields { fields: bad }) }
}

/// Whether what `rowSave` returned is what was wanted; `Err` says what isn't.
fn confirm(target: &ErpTarget, wanted: &[Wanted], body: &Value) -> Result<(), String> {
    let modify = &body["data"][&target.table]["rowModify"];
    if modify.is_null() {
        return Err("rowModify answered null: the record is locked or has another modifyLSN".into());
    }
    let saved = &modify["rowSave"];
    let key = values::text(&saved[target.key.as_str()]).unwrap_or_default();
    if saved.is_null() || key.trim().is_empty() {
        return Err("rowSave answered empty: nothing was saved".into());
    }
    if key.trim() != target.number.as_str().trim() {
        return Err(format!("rowSave answered for {key:?}"));
    }
    for (name, field_type, value) in wanted {
        let back = saved.get(name.as_str()).ok_or_else(|| format!("rowSave says nothing about {name}"))?;
        let got = values::decode(*field_type, back).map_err(|reason| format!("{name}: {reason}"))?;
        if !values::same(*field_type, value, &got) {
            return Err(format!("{name} is {got:?} after the write instead of {value:?}"));
        }
    }
    Ok(())
}

/// The fields of one read: what was asked for, and what every read needs.
struct Selection {
    fields: Vec<(FieldName, FieldType)>,
    required: BTreeSet<FieldName>,
    asked: Vec<(FieldName, FieldType)>,
    missing: Vec<FieldName>,
}

impl Selection {
    fn new(settings: &ErpSettings, target: &ErpTarget, asked: &ErpFields) -> Self {
        let required = [
            (target.key.clone(), FieldType::Text),
            (settings.lsn_field.clone(), FieldType::Text),
            (settings.state_field.clone(), FieldType::Text),
            (settings.external_flag_field.clone(), FieldType::Boolean),
        ];
        let mut fields: Vec<(FieldName, FieldType)> = Vec::new();
        let note = (settings.note_field.clone(), FieldType::Text);
        // Known fields first: async-graphql takes an argument of an unknown first field for one of the field around it
        // and says so, which would look like a second error. The blueprint's type wins, because one field can be
        // selected in one form only.
        for (name, own_type) in required.iter().chain([&note]).chain(asked) {
            if fields.iter().all(|(known, _)| known != name) {
                let asked_type = asked.iter().find(|(asked, _)| asked == name).map(|(_, asked_type)| *asked_type);
                fields.push((name.clone(), asked_type.unwrap_or(*own_type)));
            }
        }
        let required = required.into_iter().map(|(name, _)| name).collect();
        Self { fields, required, asked: asked.clone(), missing: Vec::new() }
    }

    fn names(&self) -> BTreeSet<&str> {
        self.fields.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Leaves the fields out from now on. A field that no read can do without is an error instead.
    fn drop(&mut self, names: &BTreeSet<String>) -> Result<(), ErpError> {
        let needed: Vec<FieldName> =
            self.required.iter().filter(|name| names.contains(name.as_str())).cloned().collect();
        if !needed.is_empty() {
            return Err(ErpError::UnknownFields { fields: needed });
        }
        self.fields.retain(|(name, _)| !names.contains(name.as_str()));
        for name in names {
            self.miss(&FieldName::new(name.as_str()));
        }
        Ok(())
    }

    fn miss(&mut self, name: &FieldName) {
        let asked = self.asked.iter().any(|(asked, _)| asked == name);
        if asked && !self.missing.contains(name) {
            self.missing.push(name.clone());
        }
    }

    fn object(mut self, target: &ErpTarget, settings: &ErpSettings, answer: &Answer) -> Result<ErpObject, ErpError> {
        let row = &answer.body["data"][&target.table]["rowRead"];
        let no_object = || ErpError::NoObject { number: target.number.to_string(), table: target.table.clone() };
        if row.is_null() {
            return Err(no_object());
        }
        let absent: Vec<FieldName> =
            self.required.iter().filter(|name| row.get(name.as_str()).is_none()).cloned().collect();
        if !absent.is_empty() {
            return Err(ErpError::UnknownFields { fields: absent });
        }
        let text = |name: &FieldName| {
            values::text(&row[name.as_str()])
                .map_err(|reason| refused(format!("field {name}: {reason}"), answer.evidence.clone()))
        };
        // Some ERPs find rows by a number that differs in case; that row is another object to us.
        if text(&target.key)?.trim() != target.number.as_str().trim() {
            return Err(no_object());
        }
        let mut object_values = BTreeMap::new();
        for (name, field_type) in self.asked.clone() {
            match row.get(name.as_str()) {
                // A server that leaves an unknown field out instead of complaining.
                None => self.miss(&name),
                Some(raw) => {
                    let value = values::decode(field_type, raw)
                        .map_err(|reason| refused(format!("field {name}: {reason}"), answer.evidence.clone()))?;
                    object_values.insert(name, value);
                }
            }
        }
        let external = match &row[settings.external_flag_field.as_str()] {
            Value::Null => false,
            flag => values::boolean(flag).ok_or_else(|| {
                let reason = format!("field {}: {flag} is neither yes nor no", settings.external_flag_field);
                refused(reason, answer.evidence.clone())
            })?,
        };
        let note = match row.get(settings.note_field.as_str()) {
            None => None,
            Some(_) => Some(text(&settings.note_field)?).filter(|note| !note.trim().is_empty()),
        };
        let lsn = text(&settings.lsn_field)?;
        if lsn.trim().is_empty() {
            return Err(refused(format!("field {} is empty", settings.lsn_field), answer.evidence.clone()));
        }
        Ok(ErpObject {
            values: object_values,
            lsn,
            state: state(&settings.states, text(&settings.state_field)?),
            external,
            note,
            missing: self.missing,
        })
    }
}

fn state(states: &StateValues, text: String) -> ErpState {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == states.none {
        ErpState::None
    } else if trimmed == states.requested {
        ErpState::Requested
    } else if trimmed == states.started {
        ErpState::Started
    } else if trimmed == states.running {
        ErpState::Running
    } else if trimmed == states.released {
        ErpState::Ended(ErpOutcome::Released)
    } else if trimmed == states.rejected {
        ErpState::Ended(ErpOutcome::Rejected)
    } else {
        ErpState::Other(text)
    }
}

#[cfg(test)]
mod tests;
