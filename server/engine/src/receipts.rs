//! Receipts: where they lie, whether they can be shown, which bytes a decision was based on.

use std::ops::Range;

use ports::{BucketName, Key, ObjectInfo, Stored};
use workflow::event::ReceiptProof;
use workflow::{Blueprint, Instance};

use crate::limits::RECEIPT_BYTES_MAX;
use crate::repair::sha256;
use crate::{EngineError, InstanceRef, Orchestrator, keys};

/// Bytes of a receipt's head that are looked at: a PDF may have junk before `%PDF-`, but not more than this.
const SNIFF_BYTES: u64 = 1_024;

/// One receipt of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Name from the blueprint.
    pub name: String,
    /// What lies there.
    pub state: ReceiptState,
}

/// What lies at a receipt's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiptState {
    /// Starts like a PDF.
    Pdf {
        /// Bytes.
        size: u64,
    },
    /// Something else.
    NotPdf {
        /// `html`, `png`, `jpeg`, `xml`, `empty`, `unknown`.
        seems: &'static str,
        /// Bytes.
        size: u64,
    },
    /// Nothing.
    Missing,
    /// The store could not be asked.
    Unavailable,
}

impl Orchestrator {
    fn receipt_key(instance: &Instance, template: &str) -> Result<Key, EngineError> {
        Ok(keys::receipt(template, &instance.start.tenant_key(), &instance.start.object_number)?)
    }

    /// The receipts of a run, each looked at.
    pub(crate) async fn receipts(
        &self,
        instance: &Instance,
        blueprint: &Blueprint,
    ) -> Result<Vec<Receipt>, EngineError> {
        let bucket = self.bucket(&instance.start.tenant_key()).await?;
        let mut out = Vec::with_capacity(blueprint.documents.len());
        for document in &blueprint.documents {
            let key = Self::receipt_key(instance, &document.key)?;
            out.push(Receipt { name: document.name.clone(), state: self.look_at(&bucket, &key).await });
        }
        Ok(out)
    }

    async fn look_at(&self, bucket: &BucketName, key: &Key) -> ReceiptState {
        match self.store().get_range(bucket, key, 0..SNIFF_BYTES).await {
            Ok(Some(stored)) => sniff(&stored),
            Ok(None) => ReceiptState::Missing,
            Err(ports::StoreError::BadRange { size }) => ReceiptState::NotPdf { seems: "empty", size },
            Err(error) => {
                tracing::warn!(%key, %error, "receipt can't be read");
                ReceiptState::Unavailable
            }
        }
    }

    /// SHA-256 and version of each receipt, for the log of a decision. Hashes are remembered by content tag.
    pub(crate) async fn receipt_proofs(
        &self,
        instance: &Instance,
        blueprint: &Blueprint,
    ) -> Result<Vec<ReceiptProof>, EngineError> {
        let bucket = self.bucket(&instance.start.tenant_key()).await?;
        let mut out = Vec::with_capacity(blueprint.documents.len());
        for document in &blueprint.documents {
            let key = Self::receipt_key(instance, &document.key)?;
            let proof =
                |version, sha256| ReceiptProof { name: document.name.clone(), key: key.to_string(), version, sha256 };
            out.push(match self.store().head(&bucket, &key).await? {
                None => proof(None, None),
                Some(info) => {
                    let hash = self.receipt_hash(&bucket, &key, &info).await?;
                    proof(info.version, hash)
                }
            });
        }
        Ok(out)
    }

    async fn receipt_hash(
        &self,
        bucket: &BucketName,
        key: &Key,
        info: &ObjectInfo,
    ) -> Result<Option<String>, EngineError> {
        let remembered = format!("{bucket}/{key}#{}", info.etag.0);
        if let Some(hash) = self.known_hash(&remembered) {
            return Ok(Some(hash));
        }
        if info.size > RECEIPT_BYTES_MAX {
            return Ok(None);
        }
        let Some(stored) = self.store().get(bucket, key).await? else { return Ok(None) };
        let hash = sha256(&stored.bytes);
        if stored.info.etag == info.etag {
            self.remember_hash(remembered, hash.clone());
        }
        Ok(Some(hash))
    }

    /// The size of the n-th receipt (from 0); none where there is no such receipt or nothing lies there.
    ///
    /// # Errors
    /// [`EngineError`] of the store.
    pub async fn receipt_info(
        &self,
        at: &InstanceRef,
        instance: &Instance,
        blueprint: &Blueprint,
        n: usize,
    ) -> Result<Option<ObjectInfo>, EngineError> {
        let Some(document) = blueprint.documents.get(n) else { return Ok(None) };
        let bucket = self.bucket(&at.tenant).await?;
        Ok(self.store().head(&bucket, &Self::receipt_key(instance, &document.key)?).await?)
    }

    /// Bytes of the n-th receipt.
    ///
    /// # Errors
    /// [`EngineError`] of the store.
    pub async fn receipt_bytes(
        &self,
        at: &InstanceRef,
        instance: &Instance,
        blueprint: &Blueprint,
        n: usize,
        range: Range<u64>,
    ) -> Result<Option<Stored>, EngineError> {
        let Some(document) = blueprint.documents.get(n) else { return Ok(None) };
        let bucket = self.bucket(&at.tenant).await?;
        let key = Self::receipt_key(instance, &document.key)?;
        Ok(self.store().get_range(&bucket, &key, range).await?)
    }

    /// Puts a receipt at its place, as the ERP's export does.
    ///
    /// # Errors
    /// [`EngineError`] of the store.
    pub async fn put_receipt(
        &self,
        tenant: &workflow::vocab::TenantKey,
        key: &Key,
        bytes: bytes::Bytes,
    ) -> Result<(), EngineError> {
        let bucket = self.bucket(tenant).await?;
        match self.store().put(&bucket, key, bytes, ports::Condition::None).await {
            Ok(_) => Ok(()),
            Err(error) => Err(EngineError::WriteRefused { key: key.to_string(), reason: error.to_string() }),
        }
    }
}

fn sniff(stored: &Stored) -> ReceiptState {
    let size = stored.info.size;
    let head: &[u8] = &stored.bytes;
    if head.windows(5).any(|window| window == b"%PDF-") {
        return ReceiptState::Pdf { size };
    }
    let text = String::from_utf8_lossy(head).trim_start_matches('\u{feff}').trim_start().to_lowercase();
    let seems = if head.is_empty() {
        "empty"
    } else if head.starts_with(b"\x89PNG") {
        "png"
    } else if head.starts_with(b"\xff\xd8\xff") {
        "jpeg"
    } else if text.starts_with("<!doctype html") || text.starts_with("<html") {
        "html"
    } else if text.starts_with("<?xml") {
        "xml"
    } else {
        "unknown"
    };
    ReceiptState::NotPdf { seems, size }
}
