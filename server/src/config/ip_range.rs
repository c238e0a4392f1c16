//! An address range in CIDR notation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `10.0.0.0/8`, `2001:db8::/32`, or a single address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct IpRange {
    network: IpAddr,
    prefix: u8,
}

/// A text that is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpRangeError {
    /// Not an address.
    #[error("`{text}` is not an address or range: write 10.0.0.5, 10.0.0.0/8 or 2001:db8::/32")]
    NotAnAddress {
        /// The text.
        text: String,
    },
    /// The prefix is longer than the address.
    #[error("`{text}`: the number after the slash must be 0 to {max}")]
    Prefix {
        /// The text.
        text: String,
        /// Bits of the address.
        max: u8,
    },
    /// Bits are set that the prefix cuts off: a typing error in one of the two.
    #[error("`{text}`: the address goes beyond its prefix; write `{meant}` if that range is meant")]
    HostBits {
        /// The text.
        text: String,
        /// The range with those bits cleared.
        meant: String,
    },
}

impl IpRange {
    /// Whether an address lies inside. An IPv4 address that comes mapped into IPv6 counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                masked(network.to_bits().into(), self.prefix, 32) == masked(address.to_bits().into(), self.prefix, 32)
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                masked(network.to_bits(), self.prefix, 128) == masked(address.to_bits(), self.prefix, 128)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

/// The first `prefix` bits of an address of `width` bits.
fn masked(bits: u128, prefix: u8, width: u8) -> u128 {
    let cut = u32::from(width.saturating_sub(prefix));
    bits.checked_shr(cut).unwrap_or(0).checked_shl(cut).unwrap_or(0)
}

impl FromStr for IpRange {
    type Err = IpRangeError;

    fn from_str(text: &str) -> Result<Self, IpRangeError> {
        let no_address = || IpRangeError::NotAnAddress { text: text.to_owned() };
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let network: IpAddr = address.trim().parse().map_err(|_error| no_address())?;
        let max = if network.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            None => max,
            Some(digits) => digits
                .trim()
                .parse::<u8>()
                .ok()
                .filter(|prefix| *prefix <= max)
                .ok_or_else(|| IpRangeError::Prefix { text: text.to_owned(), max })?,
        };
        let meant = match network {
            IpAddr::V4(address) => {
                let bits = masked(address.to_bits().into(), prefix, max);
                IpAddr::V4(u32::try_from(bits).map_err(|_error| no_address())?.into())
            }
            IpAddr::V6(address) => IpAddr::V6(masked(address.to_bits(), prefix, max).into()),
        };
        if meant != network {
            return Err(IpRangeError::HostBits { text: text.to_owned(), meant: format!("{meant}/{prefix}") });
        }
        Ok(Self { network, prefix })
    }
}

impl TryFrom<String> for IpRange {
    type Error = IpRangeError;

    fn try_from(text: String) -> Result<Self, IpRangeError> {
        text.parse()
    }
}

impl From<IpRange> for String {
    fn from(range: IpRange) -> Self {
        range.to_string()
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.prefix)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't parse its own data must fail loudly")]
mod tests {
    use super::*;

    fn inside(range: &str, address: &str) -> bool {
        range.parse::<IpRange>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn ranges_hold_what_they_should() {
        assert!(inside("10.0.0.0/8", "10.255.1.2"));
        assert!(!inside("10.0.0.0/8", "11.0.0.1"));
        assert!(inside("10.0.0.5", "10.0.0.5"));
        assert!(!inside("10.0.0.5", "10.0.0.6"));
        assert!(inside("0.0.0.0/0", "203.0.113.9"));
        assert!(inside("::/0", "2001:db8::1"));
        assert!(!inside("::/0", "203.0.113.9"), "IPv4 is not meant by an IPv6 range");
        assert!(inside("10.0.0.0/8", "::ffff:10.1.2.3"), "mapped addresses are IPv4");
        assert!(inside("2001:db8::/32", "2001:db8:1::1"));
        assert!(!inside("2001:db8::/32", "2001:db9::1"));
        assert!(inside("192.168.4.0/23", "192.168.5.255"));
        assert!(!inside("192.168.4.0/23", "192.168.6.0"));
    }

    #[test]
    fn bad_ranges_say_why() {
        for (text, says) in [
            ("10.0.0", "not an address"),
            ("10.0.0.0/33", "0 to 32"),
            ("10.0.0.0/-1", "0 to 32"),
            ("::1/129", "0 to 128"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("", "not an address"),
            ("example.com", "not an address"),
        ] {
            let error = text.parse::<IpRange>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
