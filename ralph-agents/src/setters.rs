//! What is said of every agent that is a program, in the same words.

/// The setters of a backend with these fields.
macro_rules! setters {
    ($($field:ident),+) => { $($crate::setters::setter!($field);)+ };
}

macro_rules! setter {
    (program) => {
        /// The same with another program, a name on the `PATH` or a path.
        #[must_use]
        pub fn program(mut self, program: impl Into<std::path::PathBuf>) -> Self {
            self.program = program.into();
            self
        }
    };
    (model) => {
        /// The same with this model, by the agent's own name for it.
        #[must_use]
        pub fn model(mut self, model: impl Into<String>) -> Self {
            self.model = Some(model.into());
            self
        }
    };
    (permissions) => {
        /// The same with these permissions.
        #[must_use]
        pub fn permissions(mut self, permissions: $crate::Permissions) -> Self {
            self.permissions = permissions;
            self
        }
    };
    (args) => {
        /// The same with more arguments.
        #[must_use]
        pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
            self.args.extend(args.into_iter().map(Into::into));
            self
        }
    };
}

pub(crate) use {setter, setters};
