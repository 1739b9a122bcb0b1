//! `ralph run` from end to end: each test is a small story about one repository.

mod support;

mod attempts;
mod claims;
mod crashes;
mod hostile;
mod locks;
mod morning;
mod people;
mod refusals;
mod rows_git;
mod rows_loop;
mod rows_proc;
mod rows_state;
mod stops;
mod surroundings;
mod verifiers;
mod walk;
