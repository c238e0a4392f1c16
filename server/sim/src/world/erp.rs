//! An ERP in memory: objects with an LSN each, behind the engine's two ports.
//!
//! Invariant: a write whose LSN is not the object's changes nothing and is not confirmed; every change is remembered with
//! who made it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use ports::vocab::{FieldName, FieldValue};
use ports::workflow::event::ErpEvidence;
use ports::workflow::instance::{ErpOutcome, ObjectValues};
use ports::{ErpError, ErpFields, ErpMutation, ErpObject, ErpRead, ErpSet, ErpState, ErpTarget, ErpWrite, ErpWritten};

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Fields.
    pub values: ObjectValues,
    /// Workflow state.
    pub state: ErpState,
    /// External-processing flag.
    pub external: bool,
    /// First note.
    pub note: Option<String>,
    /// Log sequence number.
    pub lsn: u64,
}

/// Who changed an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedBy {
    /// A user of the ERP.
    User,
    /// The engine, with this idempotency key.
    Engine(String),
}

/// One change of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which object.
    pub number: String,
    /// Who.
    pub by: ChangedBy,
    /// What, for people.
    pub what: String,
    /// The state after it.
    pub state: ErpState,
    /// The LSN after it.
    pub lsn: u64,
}

/// The ERP.
#[derive(Debug, Default)]
pub struct ErpTable {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    rows: BTreeMap<String, Row>,
    lsn: u64,
    changes: Vec<Change>,
    honours_keys: bool,
}

impl Inner {
    fn change(&mut self, number: &str, by: ChangedBy, what: &str, set: impl FnOnce(&mut Row)) -> bool {
        let Some(row) = self.rows.get_mut(number) else { return false };
        self.lsn += 1;
        set(row);
        row.lsn = self.lsn;
        let (state, lsn) = (row.state.clone(), row.lsn);
        self.changes.push(Change { number: number.to_owned(), by, what: what.to_owned(), state, lsn });
        true
    }
}

impl ErpTable {
    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        work(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a repeated idempotency key is answered as the first time; else only the LSN protects.
    pub fn honour_keys(&self, honours: bool) {
        self.with(|inner| inner.honours_keys = honours);
    }

    /// A new object that asks for nothing.
    pub fn add(&self, number: &str, values: &[(&str, &str)]) {
        let values = values.iter().map(|(name, value)| (FieldName::new(*name), FieldValue::Text((*value).to_owned())));
        let values: ObjectValues = values.collect();
        self.with(|inner| {
            inner.lsn += 1;
            let row = Row { values, state: ErpState::None, external: false, note: None, lsn: inner.lsn };
            inner.rows.insert(number.to_owned(), row);
        });
    }

    /// A user asks for a start: `MT Freigabe gestartet`.
    pub fn request(&self, number: &str) {
        self.with(|inner| inner.change(number, ChangedBy::User, "request", |row| row.state = ErpState::Started));
    }

    /// A user changes a field.
    pub fn edit(&self, number: &str, field: &str, value: &str) {
        let what = format!("{field} = {value}");
        let value = FieldValue::Text(value.to_owned());
        self.with(|inner| {
            inner.change(number, ChangedBy::User, &what, |row| {
                row.values.insert(FieldName::new(field), value);
            })
        });
    }

    /// An object as it is.
    pub fn row(&self, number: &str) -> Option<Row> {
        self.with(|inner| inner.rows.get(number).cloned())
    }

    /// All objects' numbers.
    pub fn numbers(&self) -> Vec<String> {
        self.with(|inner| inner.rows.keys().cloned().collect())
    }

    /// All changes so far.
    pub fn changes(&self) -> Vec<Change> {
        self.with(|inner| inner.changes.clone())
    }
}

fn no_object(target: &ErpTarget) -> ErpError {
    ErpError::NoObject { number: target.number.to_string(), table: target.table.clone() }
}

#[async_trait]
impl ErpRead for ErpTable {
    async fn read(&self, target: &ErpTarget, fields: &ErpFields) -> Result<ErpObject, ErpError> {
        let row = self.row(target.number.as_str()).ok_or_else(|| no_object(target))?;
        let known = |name: &FieldName| *name == target.key || row.values.contains_key(name);
        let missing = fields.iter().map(|(name, _)| name).filter(|name| !known(name)).cloned().collect();
        let mut values: ObjectValues = fields
            .iter()
            .filter_map(|(name, _)| row.values.get(name).map(|value| (name.clone(), value.clone())))
            .collect();
        values.insert(target.key.clone(), FieldValue::Text(target.number.to_string()));
        Ok(ErpObject {
            values,
            lsn: row.lsn.to_string(),
            state: row.state,
            external: row.external,
            note: row.note,
            missing,
        })
    }
}

#[async_trait]
impl ErpWrite for ErpTable {
    async fn write(&self, mutation: &ErpMutation) -> Result<ErpWritten, ErpError> {
        let number = mutation.target.number.as_str();
        let key = &mutation.idempotency_key;
        let evidence = |answer: &str| ErpEvidence {
            mutation: format!("{:?}", mutation.set),
            answer: answer.to_owned(),
            ..ErpEvidence::default()
        };
        self.with(|inner| {
            let row = inner.rows.get(number).ok_or_else(|| no_object(&mutation.target))?;
            let by = ChangedBy::Engine(key.clone());
            if inner.honours_keys && inner.changes.iter().any(|change| change.by == by) {
                return Ok(ErpWritten { evidence: evidence("done before") });
            }
            if row.lsn.to_string() != mutation.lsn {
                let reason = format!("LSN {} is not {}", mutation.lsn, row.lsn);
                let evidence = Box::new(evidence("null"));
                return Err(ErpError::NotConfirmed { number: number.to_owned(), reason, evidence });
            }
            let what = format!("{:?}", mutation.set);
            inner.change(number, by, &what, |row| apply(row, &mutation.set));
            Ok(ErpWritten { evidence: evidence("ok") })
        })
    }
}

fn apply(row: &mut Row, set: &ErpSet) {
    match set {
        ErpSet::Start => (row.state, row.external) = (ErpState::Running, true),
        ErpSet::Fields(fields) => {
            row.values.extend(fields.iter().map(|(name, _, value)| (name.clone(), value.clone())));
        }
        ErpSet::End(ErpOutcome::None) => (row.state, row.external) = (ErpState::None, false),
        ErpSet::End(outcome) => (row.state, row.external) = (ErpState::Ended(*outcome), false),
    }
}
