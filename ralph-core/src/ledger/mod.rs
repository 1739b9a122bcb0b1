//! The files of the control folder.
