//! Bucket names: `{kunde}-{mandant}-{env}-mbcom-cloud` (spec 001 §5.1).
//!
//! Both parts are free text, so the mapping to a legal name is written down here and tested. It is not injective
//! (`a-b`+`c` and `a`+`b-c` meet): each bucket holds `workflow/tenant.json` with the exact pair, and a mismatch refuses
//! every access (DESIGN §4).

use std::fmt;

use workflow::vocab::TenantKey;

/// A legal bucket name: 3–63 of a-z, 0-9, `-`, `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketName(String);

/// Characters a bucket name may have.
pub const BUCKET_CHARS_MAX: usize = 63;

/// A pair that has no bucket name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BucketNameError {
    /// Nothing is left of a part.
    #[error("{part} `{text}` has no letter or digit that a bucket name could carry: give it another name")]
    Empty {
        /// `customerID`, `tenantID` or `env`.
        part: &'static str,
        /// Its text.
        text: String,
    },
    /// A character has no counterpart.
    #[error(
        "{part} `{text}` holds `{found}`, which a bucket name can't carry: use letters, digits, space, `-`, `_` or `.`"
    )]
    Character {
        /// `customerID`, `tenantID` or `env`.
        part: &'static str,
        /// Its text.
        text: String,
        /// The character.
        found: char,
    },
    /// Too long.
    #[error(
        "the bucket name `{name}` has {chars} characters, at most {BUCKET_CHARS_MAX} are possible: shorten customer or tenant"
    )]
    TooLong {
        /// The name.
        name: String,
        /// Its length.
        chars: usize,
    },
    /// Not a legal name.
    #[error("`{name}` is not a bucket name: 3 to 63 of a-z, 0-9 and `-`, first and last a letter or digit")]
    Illegal {
        /// The name.
        name: String,
    },
}

impl BucketName {
    /// The bucket of a tenant.
    ///
    /// Mapping of each part: lower case; `ä ö ü ß` → `ae oe ue ss`; space, `_` and `.` → `-`; runs of `-` collapse;
    /// leading and trailing `-` go. Anything else is refused.
    ///
    /// # Errors
    /// [`BucketNameError`] names the part and the way out.
    pub fn of_tenant(tenant: &TenantKey, env: &str) -> Result<Self, BucketNameError> {
        let customer = map_part("customerID", tenant.customer.as_str())?;
        let mandant = map_part("tenantID", tenant.tenant.as_str())?;
        let env = map_part("env", env)?;
        let name = format!("{customer}-{mandant}-{env}-mbcom-cloud");
        let chars = name.chars().count();
        if chars > BUCKET_CHARS_MAX {
            return Err(BucketNameError::TooLong { name, chars });
        }
        Ok(Self(name))
    }

    /// A bucket whose name is configured, e.g. the system bucket.
    ///
    /// # Errors
    /// [`BucketNameError::Illegal`].
    pub fn configured(name: &str) -> Result<Self, BucketNameError> {
        let bytes = name.as_bytes();
        let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        let legal = (3..=BUCKET_CHARS_MAX).contains(&bytes.len())
            && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
            && edge(bytes.first())
            && edge(bytes.last());
        if legal { Ok(Self(name.to_owned())) } else { Err(BucketNameError::Illegal { name: name.to_owned() }) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn map_part(part: &'static str, text: &str) -> Result<String, BucketNameError> {
    let mut out = String::with_capacity(text.len());
    for found in text.trim().chars() {
        match found {
            'a'..='z' | '0'..='9' => out.push(found),
            'A'..='Z' => out.push(found.to_ascii_lowercase()),
            'ä' | 'Ä' => out.push_str("ae"),
            'ö' | 'Ö' => out.push_str("oe"),
            'ü' | 'Ü' => out.push_str("ue"),
            'ß' | 'ẞ' => out.push_str("ss"),
            ' ' | '_' | '.' | '-' => {
                if !out.is_empty() && !out.ends_with('-') {
                    out.push('-');
                }
            }
            _ => return Err(BucketNameError::Character { part, text: text.to_owned(), found }),
        }
    }
    let kept = out.trim_end_matches('-');
    if kept.is_empty() {
        return Err(BucketNameError::Empty { part, text: text.to_owned() });
    }
    Ok(kept.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(customer: &str, tenant: &str) -> Result<String, BucketNameError> {
        BucketName::of_tenant(&TenantKey::new(customer, tenant), "prod").map(|b| b.to_string())
    }

    #[test]
    fn pairs_map_to_legal_names() {
        assert_eq!(name("muster", "m1").as_deref(), Ok("muster-m1-prod-mbcom-cloud"));
        assert!(name("Müller & Söhne", "m1").is_err());
        assert_eq!(name("Müller Söhne", "Nord_2").as_deref(), Ok("mueller-soehne-nord-2-prod-mbcom-cloud"));
        assert_eq!(name(" A  B ", "--x--").as_deref(), Ok("a-b-x-prod-mbcom-cloud"));
    }

    #[test]
    fn pairs_that_meet_are_known_to_meet() {
        assert_eq!(name("a-b", "c"), name("a", "b-c"));
    }

    #[test]
    fn what_cannot_be_mapped_says_why() {
        assert!(matches!(name("", "m1"), Err(BucketNameError::Empty { part: "customerID", .. })));
        assert!(matches!(name("..", "m1"), Err(BucketNameError::Empty { .. })));
        assert!(matches!(name("a/b", "m1"), Err(BucketNameError::Character { found: '/', .. })));
        assert!(matches!(name(&"x".repeat(200), "m1"), Err(BucketNameError::TooLong { .. })));
        assert!(BucketName::configured("Ab").is_err());
        assert!(BucketName::configured("connectworkflow-system").is_ok());
    }
}
