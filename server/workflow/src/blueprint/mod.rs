//! The blueprint language, version 1 (DESIGN §7).
//!
//! Purpose: YAML text to [`Blueprint`], or problems with line, column and a way out.
//! Invariant: a [`Blueprint`] that exists is sound: every step, field and group it names exists, every expression
//! parses. Strings end here.
//! Never: I/O; YAML is hostile input and is bounded before it is read.

mod graph;
mod model;
mod names;
mod parse;
mod problem;
mod queries;
mod reader;
mod steps;
mod yaml;

#[cfg(test)]
mod tests;

pub use model::{
    Assignment, Blueprint, Case, ConditionStep, DocumentTemplate, EndStatus, EndStep, FieldDecl, ObjectRef, StepDef,
    StepField, StepKind, Trigger, UserStep,
};
pub use parse::{DOCUMENTS_MAX, FIELDS_MAX, NAME_CHARS_MAX, OPTIONS_MAX, SUMMARY_MAX, parse};
pub use problem::{PROBLEMS_MAX, Problem, ProblemCode, Problems};
pub use steps::{ASSIGNEES_MAX, CASES_MAX, HINT_CHARS_MAX, STEPS_MAX};
pub use yaml::{BYTES_MAX, DEPTH_MAX, NODES_MAX};
