//! `ralph run` from end to end: each test is a small story about one repository.

mod plans;
pub(crate) mod support;
mod terminal;

mod agents;
mod answers;
mod answers_crash;
mod answers_terminal;
mod approval;
mod attempts;
mod canaries;
mod claims;
mod conflicts;
mod crashes;
mod crashes_plan;
mod hostile;
mod locks;
mod loops;
mod morning;
mod pauses;
mod people;
mod phases;
mod refusals;
mod remembered;
mod rows_budget;
mod rows_git;
mod rows_loop;
mod rows_proc;
mod rows_state;
mod sessions_may_not;
mod settled;
mod stops;
mod surroundings;
mod taken_back;
mod tampering;
mod verifiers;
mod walk;
