//! `ralph run` from end to end: each test is a small story about one repository.

mod support;

mod attempts;
mod claims;
mod refusals;
mod verifiers;
mod walk;
