//! What the demo and the tests put in place of the outside world: the simulated ERP, an identity provider, demo data,
//! stores that count and fail, an S3 server, a whole world with simulated time.
//!
//! Invariant: real protocols at every edge, so that what talks to a simulator talks to the real thing unchanged.
//! Never: part of a production build.

pub mod demo;
pub mod erp;
pub mod idp;
pub mod s3;
pub mod store;
pub mod world;
