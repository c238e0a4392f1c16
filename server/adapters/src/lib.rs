//! The real world behind the ports: the embedded store, S3, microtech's GraphQL, the system's clock.
//!
//! Purpose: one module per outside system; each passes the contract suite of the port that it implements.
//! Invariant: adapters know ports, never the engine or each other.
//! Never: a decision about workflows.

pub mod local;
pub mod microtech;
pub mod s3;
pub mod system;
