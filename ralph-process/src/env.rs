//! Which variables of our own environment a child may see.
//!
//! An allow-list, since nobody can list all names that secrets have. Credentials, the variables by which git finds a
//! repository, and those by which an agent program recognises that it runs inside another one are not on it.

use std::ffi::{OsStr, OsString};

/// Names that every child may see. A `*` at the end stands for any rest.
pub const ALLOWED: &[&str] = &[
    // The person and the system.
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    // Where certificates are; the certificates of a company's proxy are no secret.
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    // Where toolchains are.
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "COREPACK_HOME",
    "DENO_DIR",
    "DEVELOPER_DIR",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "M2_HOME",
    "MAVEN_HOME",
    "NIX_PATH",
    "NVM_DIR",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "SDKROOT",
    "UV_CACHE_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Settings with which git, ssh and pagers fail at once instead of asking somebody who is not there.
pub const NO_PROMPTS: &[(&str, &str)] = &[
    ("GIT_ASKPASS", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// The variables of our environment that a child may see: those [`ALLOWED`], and those that `extra` names.
///
/// A name in `extra` may end in `*` as well. `XDG_RUNTIME_DIR` and the like come with `XDG_*`; a secret comes only if
/// somebody names it.
///
/// ```
/// let vars = ralph_process::env::inherited(&["MY_REGISTRY_TOKEN".to_owned()]);
/// assert!(vars.iter().any(|(name, _)| name == "PATH"));
/// ```
pub fn inherited(extra: &[String]) -> Vec<(OsString, OsString)> {
    select(std::env::vars_os(), extra)
}

/// The same for given variables.
pub fn select(vars: impl IntoIterator<Item = (OsString, OsString)>, extra: &[String]) -> Vec<(OsString, OsString)> {
    vars.into_iter()
        .filter(|(name, _)| {
            ALLOWED.iter().any(|pattern| matches(pattern, name))
                || extra.iter().any(|pattern| matches_extra(pattern, name))
        })
        .collect()
}

fn matches(pattern: &str, name: &OsStr) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == pattern,
    }
}

/// What a pattern of the operator's never brings along by accident: our own mark, the repository that we may have been
/// started in, and the agent that we may run under. Only the full name does.
const ONLY_BY_NAME: &[&str] = &[
    "AGENT",
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_*",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    "CODEX_CI",
    "CODEX_SANDBOX*",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "CODEX_TOOL_CALL_ID",
    "CODEX_VERSION",
    "GEMINI_CLI*",
    "GIT_*",
    "OPENCODE",
    "OPENCODE_PID",
    "RALPH_*",
];

fn matches_extra(pattern: &str, name: &OsStr) -> bool {
    matches(pattern, name) && (!pattern.ends_with('*') || !ONLY_BY_NAME.iter().any(|only| matches(only, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(vars: &[&str], extra: &[&str]) -> Vec<String> {
        let vars = vars.iter().map(|name| ((*name).into(), "value".into()));
        let extra: Vec<String> = extra.iter().map(|&name| name.to_owned()).collect();
        select(vars, &extra).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn basics_and_toolchains_pass_and_secrets_do_not() {
        let vars = ["PATH", "LC_ALL", "LC_", "XLC_ALL", "CARGO_HOME", "ANTHROPIC_API_KEY", "GIT_DIR"];
        assert_eq!(names(&vars, &[]), ["PATH", "LC_ALL", "LC_", "CARGO_HOME"]);
    }

    #[test]
    fn extra_names_pass() {
        let vars = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY"];
        assert_eq!(names(&vars, &["OPENAI_API_KEY"]), ["OPENAI_API_KEY"]);
        assert_eq!(names(&vars, &["ANTHROPIC_*"]), ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"]);
    }

    #[test]
    fn a_wide_pattern_does_not_bring_the_repository_or_the_outer_agent() {
        let vars = ["GIT_DIR", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "RALPH_PROCESS_MARK", "FOO"];
        assert_eq!(names(&vars, &["*"]), ["FOO"]);
        assert_eq!(names(&vars, &["CLAUDE_*"]), [""; 0]);
        assert_eq!(names(&vars, &["CLAUDE_CODE_ENTRYPOINT"]), ["CLAUDE_CODE_ENTRYPOINT"]);
        let vars = ["CODEX_THREAD_ID", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_HOME", "GEMINI_CLI", "GEMINI_API_KEY"];
        assert_eq!(names(&vars, &["CODEX_*", "GEMINI_*"]), ["CODEX_HOME", "GEMINI_API_KEY"]);
    }
}
