//! The store from its settings, tried before anything else uses it.
//!
//! Invariant: [`open`] returns only a store that has just proved its guarantees (DESIGN §4) in the system bucket.
//! Never: a store that is used without that test.

use std::sync::Arc;
use std::time::Duration;

use adapters::local::LocalStore;
use adapters::s3::{S3Checksum, S3Credentials, S3Settings, S3Store, S3Timeouts};
use adapters::system::{RandomIds, SystemClock};
use ports::{BucketName, Clock, IdSource, Store, self_test};

use crate::config::{Checksum, Secret, StoreKind, StoreSettings};
use crate::serve::{StartError, part};

/// Opens the store, creates the system bucket where it is absent, and tries what every write depends on.
pub(crate) async fn open(settings: &StoreSettings, clock: Arc<dyn Clock>) -> Result<Arc<dyn Store>, StartError> {
    let store: Arc<dyn Store> = match settings.kind {
        StoreKind::Local => Arc::new(LocalStore::open(&settings.path, clock).map_err(|e| part("store")(&e))?),
        StoreKind::S3 => Arc::new(S3Store::connect(s3_settings(settings)).map_err(|e| part("store")(&e))?),
    };
    let system = BucketName::configured(&settings.system_bucket).map_err(|e| part("system bucket")(&e))?;
    store.create_bucket(&system).await.map_err(|e| part("system bucket")(&e))?;
    let nonce = RandomIds.random_id();
    self_test(store.as_ref(), &system, &nonce).await.map_err(|e| part("store")(&e))?;
    tracing::info!(kind = ?settings.kind, bucket = %system, "the store keeps its guarantees");
    Ok(store)
}

/// Tries the configured store and closes it again; for `serve --check`.
///
/// # Errors
/// [`StartError::Part`] says what can't be opened or which guarantee is broken.
pub async fn check(settings: &StoreSettings) -> Result<(), StartError> {
    open(settings, Arc::new(SystemClock)).await.map(|_store| ())
}

fn s3_settings(settings: &StoreSettings) -> S3Settings {
    let (connect, attempt, operation) = settings.s3_timeouts_s();
    let text = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
    S3Settings {
        endpoint: settings.endpoint.as_ref().map(ToString::to_string),
        region: settings.s3_region().to_owned(),
        path_style: settings.s3_path_style(),
        checksum: match settings.checksum {
            Some(Checksum::WhenRequired) => S3Checksum::WhenRequired,
            Some(Checksum::WhenSupported) | None => S3Checksum::WhenSupported,
        },
        credentials: match (text(&settings.access_key_id), text(&settings.secret_access_key)) {
            (Some(access_key_id), Some(secret_access_key)) => {
                S3Credentials::Static { access_key_id, secret_access_key, session_token: text(&settings.session_token) }
            }
            (_, _) => S3Credentials::Chain,
        },
        timeouts: S3Timeouts {
            connect: Duration::from_secs(connect),
            attempt: Duration::from_secs(attempt),
            operation: Duration::from_secs(operation),
        },
    }
}
