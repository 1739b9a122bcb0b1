//! The throw-away repository in which the demo plays.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use ralph_core::ledger::Ledger;
use ralph_process::{Command, capture};
use tempfile::TempDir;

use super::script::{FILES, MASTER_PLAN, PRDS};
use crate::{
    error::CliError,
    plan::MASTER_PLAN as PLAN_NAME,
    project::{self, LEDGER, Project},
    runs::RunInfo,
    settings::Settings,
};

/// Workspaces beside the repository: nothing is written anywhere else.
const SETTINGS: &str = "# Settings of the demo. Its agent is a script inside of `ralph demo`, so that none is set here.\n\
                        [run]\nworkspaces = \"../workspaces\"\n";

/// A folder with the repository, its workspaces and an empty home.
#[derive(Debug)]
pub(super) struct Stage {
    folder: TempDir,
    pub(super) project: Project,
    pub(super) settings: Settings,
    pub(super) plan: PathBuf,
    pub(super) info: RunInfo,
}

impl Stage {
    /// Makes it, with a first commit.
    pub(super) async fn new() -> Result<Self, CliError> {
        let fail = |error: io::Error| CliError::failed("the demo's repository cannot be made", &error);
        let folder = tempfile::Builder::new().prefix("ralph-demo-").tempdir().map_err(fail)?;
        let root = fs::canonicalize(folder.path()).map_err(fail)?;
        let shop = root.join("corner-shop");
        fs::create_dir_all(root.join("home")).map_err(fail)?;
        fs::create_dir_all(&shop).map_err(fail)?;
        for (name, text) in FILES {
            fs::write(shop.join(name), text).map_err(fail)?;
        }
        let ledger = Ledger::at(shop.join(LEDGER));
        ledger.create().map_err(fail)?;
        let plan = ledger.root().join(PLAN_NAME);
        fs::write(&plan, MASTER_PLAN).map_err(fail)?;
        for (name, text) in PRDS {
            fs::write(ledger.root().join(name), text).map_err(fail)?;
        }
        fs::write(ledger.settings(), SETTINGS).map_err(fail)?;
        // Not the user's own settings: the demo is the same everywhere.
        let settings: Settings =
            toml::from_str(SETTINGS).map_err(|error| CliError::failed("the demo's settings do not load", &error))?;
        let project = Project { root: shop, ledger, environment: Some(environment(&root)) };
        let branch = project::branch(&settings.run.branch, &plan, "");
        let info = RunInfo { plan: project.relative(&plan), branch };
        let stage = Self { folder, project, settings, plan, info };
        stage.git(&["init", "--quiet", "--initial-branch=main"]).await?;
        stage.git(&["config", "user.name", "Ralph's demo"]).await?;
        stage.git(&["config", "user.email", "demo@localhost"]).await?;
        stage.git(&["add", "--all"]).await?;
        stage.git(&["commit", "--quiet", "--message=Open the shop"]).await?;
        Ok(stage)
    }

    /// What people call the project.
    pub(super) fn name(&self) -> String {
        self.project.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Leaves it where it is; the repository.
    pub(super) fn keep(self) -> PathBuf {
        let _ = self.folder.keep();
        self.project.root
    }

    async fn git(&self, args: &[&str]) -> Result<(), CliError> {
        let command =
            Command::new("git", &self.project.root).args(args).envs(self.project.environment.iter().flatten().cloned());
        let done = capture(&command, Duration::from_secs(60), 1 << 20)
            .await
            .map_err(|error| CliError::failed("git is needed and could not be run", &error))?;
        if done.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        Err(CliError::fault(format!("`{command}` failed in {}: {}", shown(&self.project.root), said.trim())))
    }
}

/// What git sees of the surroundings: no settings but the repository's own.
fn environment(root: &Path) -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    vec![
        ("PATH".into(), path),
        ("HOME".into(), root.join("home").into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
    ]
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
