//! What the ERP's on-premise program does when a user presses "Freigabe starten": it sets the object's state, flags it
//! as being in external processing, and posts the trigger with a signed token (spec 001 §2.2, DESIGN §8).
//!
//! Invariant: the state is saved before the trigger leaves, as in the real ERP; a trigger that gets lost leaves the
//! object in `MT Freigabe gestartet` for the recovery to find.

use std::fmt;
use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;
use serde_json::{Value, json};

use super::model::{EXTERNAL_FIELD, STATE_FIELD, STATE_STARTED, SimValue, TRIGGER_GUID_FIELD};
use super::{ErpSim, SimError};

/// Seconds a token is good for.
const TOKEN_TTL_S: i64 = 300;
/// Seconds the app has to answer.
const ANSWER_TIMEOUT_S: u64 = 30;

/// How a tenant's ERP reaches the app.
#[derive(Clone)]
pub struct TriggerSettings {
    /// The app's `/api/workflow/trigger`.
    pub url: String,
    /// Token's `iss`.
    pub issuer: String,
    /// Token's `aud`.
    pub audience: String,
    /// HS256 key.
    pub secret: Vec<u8>,
}

impl fmt::Debug for TriggerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TriggerSettings")
            .field("url", &self.url)
            .field("issuer", &self.issuer)
            .field("audience", &self.audience)
            .finish_non_exhaustive()
    }
}

/// What the app said to a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerAnswer {
    /// HTTP status.
    pub status: u16,
    /// Its JSON; text that is none comes as a JSON string.
    pub body: Value,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    aud: &'a str,
    #[serde(rename = "customerID")]
    customer: &'a str,
    #[serde(rename = "tenantID")]
    tenant: &'a str,
    iat: i64,
    exp: i64,
    jti: String,
}

impl TriggerSettings {
    /// A token as the ERP's program makes it.
    ///
    /// # Errors
    /// [`SimError::Token`] where the key can't sign.
    pub fn token(&self, customer: &str, tenant: &str) -> Result<String, SimError> {
        let now = chrono::Utc::now().timestamp();
        let claims = Claims {
            iss: &self.issuer,
            aud: &self.audience,
            customer,
            tenant,
            iat: now,
            exp: now + TOKEN_TTL_S,
            jti: uuid::Uuid::now_v7().to_string(),
        };
        let failed = |error: jsonwebtoken::errors::Error| SimError::Token { reason: error.to_string() };
        let key = EncodingKey::from_secret(&self.secret).map_err(failed)?;
        encode(&Header::new(Algorithm::HS256), &claims, &key).map_err(failed)
    }
}

impl ErpSim {
    /// "Freigabe starten" for one object. `guid` overrides the trigger definition that the object names.
    ///
    /// # Errors
    /// [`SimError::NoTenant`], [`SimError::NoObject`], [`SimError::NoGuid`], [`SimError::Unreachable`] when the app
    /// doesn't answer, and what saving can fail with.
    pub async fn start_release(
        &self,
        customer: &str,
        tenant: &str,
        number: &str,
        guid: Option<&str>,
    ) -> Result<TriggerAnswer, SimError> {
        let tenant = self.tenant(customer, tenant)?;
        let no_object = || SimError::NoObject { number: number.to_owned() };
        let object = self.object(tenant, number)?.ok_or_else(no_object)?;
        let guid = match guid {
            Some(guid) => guid.to_owned(),
            None => match object.value(TRIGGER_GUID_FIELD) {
                SimValue::Text(guid) if !guid.is_empty() => guid,
                _ => return Err(SimError::NoGuid { number: number.to_owned() }),
            },
        };
        let fields = vec![
            (STATE_FIELD.to_owned(), SimValue::text(STATE_STARTED)),
            (EXTERNAL_FIELD.to_owned(), SimValue::Bool(true)),
        ];
        let key = number.to_owned();
        self.change(tenant, move |state| state.save(&key, fields).ok_or(SimError::NoObject { number: key })).await?;
        self.post_trigger(tenant, number, &guid).await
    }

    async fn post_trigger(&self, tenant: usize, number: &str, guid: &str) -> Result<TriggerAnswer, SimError> {
        let settings = self.settings(tenant)?;
        let token = settings.trigger.token(&settings.customer, &settings.tenant)?;
        let unreachable = |error: reqwest::Error| SimError::Unreachable {
            url: settings.trigger.url.clone(),
            reason: error.without_url().to_string(),
        };
        let response = self
            .http()
            .post(&settings.trigger.url)
            .timeout(Duration::from_secs(ANSWER_TIMEOUT_S))
            .bearer_auth(token)
            .json(&json!({
                "customerID": settings.customer,
                "tenantID": settings.tenant,
                "triggerGUID": guid,
                "objectNumber": number,
            }))
            .send()
            .await
            .map_err(unreachable)?;
        let status = response.status().as_u16();
        let text = response.text().await.map_err(unreachable)?;
        tracing::info!(customer = settings.customer, tenant = settings.tenant, number, status, "trigger sent");
        Ok(TriggerAnswer { status, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) })
    }
}
