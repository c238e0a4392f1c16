//! Where everything lies in a tenant's bucket (DESIGN §4), and the opaque ids that leave the server (DESIGN §8).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use ports::{Key, KeyError, encode_part};
use workflow::vocab::{InstanceId, ObjectNumber, TenantId, TenantKey, UserId, WorkflowId};

/// The table whose objects go by their bare number.
const MAIN_TABLE: &str = "tblTransactions";
/// Characters an opaque id may have; longer ones are not looked at.
const OPAQUE_CHARS_MAX: usize = 2_000;

/// Names an instance wherever it lies. Being able to name one gives no right.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceRef {
    /// Whose.
    pub tenant: TenantKey,
    /// Blueprint.
    pub workflow_id: WorkflowId,
    /// Run.
    pub instance_id: InstanceId,
}

/// Names one visit of a user step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskRef {
    /// Its run.
    pub instance: InstanceRef,
    /// Its visit.
    pub visit: u64,
}

impl InstanceRef {
    /// The id as it leaves the server.
    pub fn encode(&self) -> String {
        encode(&[
            "i",
            self.tenant.customer.as_str(),
            self.tenant.tenant.as_str(),
            self.workflow_id.as_str(),
            self.instance_id.as_str(),
        ])
    }

    /// Back from such an id.
    pub fn decode(id: &str) -> Option<Self> {
        let parts = decode(id)?;
        let [kind, customer, tenant, workflow, instance] = parts.as_slice() else { return None };
        (kind == "i").then(|| Self::of(customer, tenant, workflow, instance))
    }

    fn of(customer: &str, tenant: &str, workflow: &str, instance: &str) -> Self {
        Self {
            tenant: TenantKey::new(customer, tenant),
            workflow_id: WorkflowId::new(workflow),
            instance_id: InstanceId::new(instance),
        }
    }
}

impl TaskRef {
    /// The id as it leaves the server.
    pub fn encode(&self) -> String {
        let at = &self.instance;
        encode(&[
            "t",
            at.tenant.customer.as_str(),
            at.tenant.tenant.as_str(),
            at.workflow_id.as_str(),
            at.instance_id.as_str(),
            &self.visit.to_string(),
        ])
    }

    /// Back from such an id.
    pub fn decode(id: &str) -> Option<Self> {
        let parts = decode(id)?;
        let [kind, customer, tenant, workflow, instance, visit] = parts.as_slice() else { return None };
        if kind != "t" {
            return None;
        }
        Some(Self { instance: InstanceRef::of(customer, tenant, workflow, instance), visit: visit.parse().ok()? })
    }
}

fn encode(parts: &[&str]) -> String {
    let joined: Vec<String> = parts.iter().map(|part| encode_part(part)).collect();
    URL_SAFE_NO_PAD.encode(joined.join("/"))
}

fn decode(id: &str) -> Option<Vec<String>> {
    if id.len() > OPAQUE_CHARS_MAX {
        return None;
    }
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(id).ok()?).ok()?;
    text.split('/').map(decode_part).collect()
}

/// The inverse of [`encode_part`].
pub(crate) fn decode_part(part: &str) -> Option<String> {
    if part == "%" {
        return Some(String::new());
    }
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let hex = std::str::from_utf8(bytes.get(at + 1..at + 3)?).ok()?;
            out.push(u8::from_str_radix(hex, 16).ok()?);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// The object's name in keys: supplier 10000 is not receipt 10000.
pub(crate) fn object_part(table: &str, number: &ObjectNumber) -> String {
    if table == MAIN_TABLE { encode_part(number.as_str()) } else { encode_part(&format!("{table}:{number}")) }
}

pub(crate) fn tenant_doc() -> Result<Key, KeyError> {
    Key::new("workflow/tenant.json")
}

pub(crate) fn catalog() -> Result<Key, KeyError> {
    Key::new("workflow/blueprints/catalog.json")
}

pub(crate) fn blueprint(workflow: &WorkflowId, version: u32) -> Result<Key, KeyError> {
    Key::new(format!("workflow/blueprints/{}/{version}.yaml", encode_part(workflow.as_str())))
}

pub(crate) fn lock(table: &str, number: &ObjectNumber) -> Result<Key, KeyError> {
    Key::new(format!("workflow/locks/{}.json", object_part(table, number)))
}

pub(crate) const ACTIVE_PREFIX: &str = "workflow/active/";

pub(crate) fn active(workflow: &WorkflowId, instance: &InstanceId) -> Result<Key, KeyError> {
    Key::new(format!("{ACTIVE_PREFIX}{}/{}", encode_part(workflow.as_str()), encode_part(instance.as_str())))
}

/// Workflow and instance of an active key.
pub(crate) fn active_parts(key: &Key) -> Option<(WorkflowId, InstanceId)> {
    let (workflow, instance) = key.as_str().strip_prefix(ACTIVE_PREFIX)?.split_once('/')?;
    Some((WorkflowId::new(decode_part(workflow)?), InstanceId::new(decode_part(instance)?)))
}

pub(crate) fn instance(tenant: &TenantId, workflow: &WorkflowId, instance: &InstanceId) -> Result<Key, KeyError> {
    Key::new(format!(
        "workflow/docs/{}/{}/{}.json",
        encode_part(tenant.as_str()),
        encode_part(workflow.as_str()),
        encode_part(instance.as_str())
    ))
}

/// The run of an instance document's key, in the tenant whose bucket it is from.
pub(crate) fn instance_parts(key: &Key, tenant: &TenantKey) -> Option<InstanceRef> {
    let (_, run) = key.as_str().strip_prefix("workflow/docs/")?.split_once('/')?;
    let (workflow, instance) = run.strip_suffix(".json")?.split_once('/')?;
    let (workflow_id, instance_id) = (WorkflowId::new(decode_part(workflow)?), InstanceId::new(decode_part(instance)?));
    Some(InstanceRef { tenant: tenant.clone(), workflow_id, instance_id })
}

pub(crate) fn done_prefix(at: DateTime<Utc>) -> String {
    format!("workflow/done/{}/", at.format("%Y-%m"))
}

pub(crate) fn done(at: DateTime<Utc>, instance: &InstanceId) -> Result<Key, KeyError> {
    Key::new(format!("{}{}.json", done_prefix(at), encode_part(instance.as_str())))
}

/// Where a damaged document's bytes are kept, named by their SHA-256.
pub(crate) fn damaged_instance(instance: &InstanceId, sha256: &str) -> Result<Key, KeyError> {
    Key::new(format!("workflow/damaged/{}/{sha256}.json", encode_part(instance.as_str())))
}

/// The same for every other document: its own key shows where it lay.
pub(crate) fn damaged_document(key: &Key, sha256: &str) -> Result<Key, KeyError> {
    Key::new(format!("workflow/damaged/{key}/{sha256}"))
}

pub(crate) fn journal(at: DateTime<Utc>, id: &str) -> Result<Key, KeyError> {
    Key::new(format!("workflow/triggers/{}/{}.json", at.format("%Y-%m-%d"), encode_part(id)))
}

/// What one person typed at one visit.
pub(crate) fn draft(instance: &InstanceId, visit: u64, user: &UserId) -> Result<Key, KeyError> {
    Key::new(format!("workflow/drafts/{}/{visit}/{}.json", encode_part(instance.as_str()), encode_part(user.as_str())))
}

/// The key of a receipt from the blueprint's template; variable parts are encoded.
pub(crate) fn receipt(template: &str, tenant: &TenantKey, number: &ObjectNumber) -> Result<Key, KeyError> {
    Key::new(
        template
            .replace("{objectNumber}", &encode_part(number.as_str()))
            .replace("{customerID}", &encode_part(tenant.customer.as_str()))
            .replace("{tenantID}", &encode_part(tenant.tenant.as_str())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_ids_come_back_whatever_the_names() {
        for (customer, tenant) in [("muster", "m1"), ("a/b", ".."), ("", "ü ß"), ("a~b", "%")] {
            let instance = InstanceRef::of(customer, tenant, "rechnungsfreigabe", "0190-x");
            assert_eq!(InstanceRef::decode(&instance.encode()), Some(instance.clone()));
            let task = TaskRef { instance, visit: 7 };
            assert_eq!(TaskRef::decode(&task.encode()), Some(task.clone()));
            assert_eq!(InstanceRef::decode(&task.encode()), None);
        }
        for bad in ["", "x", "aGFsbG8", &"A".repeat(3_000)] {
            assert_eq!(TaskRef::decode(bad), None);
        }
    }

    #[test]
    fn objects_of_different_tables_never_share_a_lock() {
        let number = ObjectNumber::new("10000");
        assert_ne!(object_part("tblTransactions", &number), object_part("tblAddresses", &number));
        let sly = ObjectNumber::new("tblAddresses:10000");
        assert_eq!(object_part("tblTransactions", &sly), "tblAddresses%3A10000");
    }
}
