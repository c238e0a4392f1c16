//! The signing key: Ed25519, made once, kept in the data folder.
//!
//! Invariant: the file is written completely or not at all and readable by its owner only.

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use openidconnect::core::{CoreEdDsaPrivateSigningKey, CoreJsonWebKey};
use openidconnect::{CsrfToken, JsonWebKeyId, PrivateSigningKey};
use sha2::{Digest, Sha256};

use super::IdpError;

const FILE: &str = "idp-signing-key.pem";
const SEED_BYTES: u32 = 32;
/// What stands before the seed in a PKCS #8 document of an Ed25519 key (RFC 8410 §7).
const PKCS8_ED25519: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The key with its id.
pub(super) struct SigningKey(CoreEdDsaPrivateSigningKey);

impl SigningKey {
    /// Reads the key, or makes and keeps one.
    pub(super) fn load_or_create(data_dir: &Path) -> Result<Self, IdpError> {
        let path = data_dir.join(FILE);
        let fail = |reason: String| IdpError::Key { path: path.display().to_string(), reason };
        let pem = match std::fs::read_to_string(&path) {
            Ok(pem) => pem,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let pem = new_pem().map_err(fail)?;
                keep(data_dir, &path, &pem).map_err(|error| fail(error.to_string()))?;
                pem
            }
            Err(error) => return Err(fail(error.to_string())),
        };
        let unnamed = CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, None)
            .map_err(|error| fail(format!("{error}; delete the file and a new key is made")))?;
        let kid = key_id(&unnamed).map_err(|error| fail(error.to_string()))?;
        CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, Some(kid)).map(Self).map_err(fail)
    }

    pub(super) fn private(&self) -> &CoreEdDsaPrivateSigningKey {
        &self.0
    }

    pub(super) fn public(&self) -> CoreJsonWebKey {
        self.0.as_verification_key()
    }
}

/// The id follows from the public key, so another key never comes under the same id.
fn key_id(key: &CoreEdDsaPrivateSigningKey) -> Result<JsonWebKeyId, serde_json::Error> {
    let public = serde_json::to_vec(&key.as_verification_key())?;
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(public));
    Ok(JsonWebKeyId::new(digest.chars().take(16).collect()))
}

fn new_pem() -> Result<String, String> {
    let seed = URL_SAFE_NO_PAD
        .decode(CsrfToken::new_random_len(SEED_BYTES).secret())
        .map_err(|error| format!("no random seed: {error}"))?;
    let mut der = PKCS8_ED25519.to_vec();
    der.extend_from_slice(&seed);
    Ok(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der)))
}

fn keep(data_dir: &Path, path: &Path, pem: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(data_dir)?;
    let draft = path.with_extension("pem.new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(pem.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(draft, path)
}
