//! One module for each command: what people read, and the exit codes.

mod calibrate;
mod check;
mod clean;
mod demo;
mod diff;
mod doctor;
mod hook;
mod hook_stop;
mod init;
mod looking;
mod onward;
mod support;
