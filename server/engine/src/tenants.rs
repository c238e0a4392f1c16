//! Which tenants there are and which bucket is really theirs (DESIGN §4, tenant isolation).

use std::collections::BTreeMap;

use ports::{BucketName, Condition, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;
use workflow::format::DOCUMENT_SCHEMA;
use workflow::vocab::{CustomerId, TenantId, TenantKey};

use crate::commit::{Written, conditional_write};
use crate::documents::{read_json, to_bytes};
use crate::{EngineError, keys};

/// `workflow/tenant.json`: the exact pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantDoc {
    schema: u32,
    #[serde(rename = "customerID")]
    customer_id: CustomerId,
    #[serde(rename = "tenantID")]
    tenant_id: TenantId,
    /// Tells whose creation won.
    mark: String,
}

/// The configured tenants; a bucket is handed out only after its owner was checked.
#[derive(Debug)]
pub(crate) struct Tenants {
    env: String,
    checked: BTreeMap<TenantKey, OnceCell<BucketName>>,
}

impl Tenants {
    pub(crate) fn new(env: &str, tenants: impl IntoIterator<Item = TenantKey>) -> Self {
        let checked = tenants.into_iter().map(|tenant| (tenant, OnceCell::new())).collect();
        Self { env: env.to_owned(), checked }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &TenantKey> {
        self.checked.keys()
    }

    pub(crate) fn knows(&self, tenant: &TenantKey) -> bool {
        self.checked.contains_key(tenant)
    }

    /// The tenant's bucket, created on first use and checked to be theirs.
    pub(crate) async fn bucket(
        &self,
        store: &dyn Store,
        tenant: &TenantKey,
        mark: &str,
    ) -> Result<BucketName, EngineError> {
        let Some(cell) = self.checked.get(tenant) else {
            return Err(EngineError::UnknownTenant { tenant: tenant.to_string() });
        };
        let bucket = cell.get_or_try_init(|| self.open(store, tenant, mark)).await?;
        Ok(bucket.clone())
    }

    async fn open(&self, store: &dyn Store, tenant: &TenantKey, mark: &str) -> Result<BucketName, EngineError> {
        let bucket = BucketName::of_tenant(tenant, &self.env)?;
        store.create_bucket(&bucket).await?;
        let key = keys::tenant_doc()?;
        if let Some((found, _)) = read_json::<TenantDoc>(store, &bucket, &key).await? {
            return owned(bucket, tenant, &found);
        }
        let doc = TenantDoc {
            schema: DOCUMENT_SCHEMA,
            customer_id: tenant.customer.clone(),
            tenant_id: tenant.tenant.clone(),
            mark: mark.to_owned(),
        };
        match conditional_write(store, &bucket, &key, to_bytes(&key, &doc)?, Condition::IfAbsent, mark).await? {
            Written::Won(_) => Ok(bucket),
            Written::Lost => match read_json::<TenantDoc>(store, &bucket, &key).await? {
                Some((found, _)) => owned(bucket, tenant, &found),
                None => Err(EngineError::TooBusy { key: key.to_string(), tries: 1 }),
            },
        }
    }
}

fn owned(bucket: BucketName, tenant: &TenantKey, found: &TenantDoc) -> Result<BucketName, EngineError> {
    if found.customer_id == tenant.customer && found.tenant_id == tenant.tenant {
        return Ok(bucket);
    }
    let owner = TenantKey { customer: found.customer_id.clone(), tenant: found.tenant_id.clone() };
    Err(EngineError::ForeignBucket { bucket: bucket.to_string(), tenant: tenant.to_string(), owner: owner.to_string() })
}
