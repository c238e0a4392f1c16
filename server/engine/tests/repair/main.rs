//! Damaged documents: noticed, set aside, restored, logged (DESIGN §4 "Versioning and repair").
#![expect(clippy::unwrap_used, reason = "a test that can't go on must fail where it stands")]

mod documents;
mod instances;
mod rollback;
mod store;
mod world;
