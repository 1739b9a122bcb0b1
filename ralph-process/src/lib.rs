//! Runs a command for Ralph: whole tree, deadline, bounded output.
