//! Finding the repository and reading what has to be known about it. Changes nothing.

use std::{
    ffi::OsString,
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::Mutex,
};

use ralph_core::{Cx, VcsError};
use tokio::sync::OnceCell;

use crate::{
    GitOptions, GitVcs,
    environment::Environment,
    git::{Git, line},
    git_vcs::Memory,
    judge::Ledger,
    keep_list::KeepList,
    settings::Settings,
    site::resolved,
};

/// The oldest git with everything that is used here (`core.fsync`, prepared ref transactions), as tested.
const OLDEST: (u32, u32) = (2, 39);

impl GitVcs {
    /// Finds the repository around `options.repository` and reads its settings. Changes nothing; whether a run may
    /// begin is what [`GitVcs::preflight`] says.
    ///
    /// # Errors
    /// [`VcsError::Refused`] where there is no git, an old one, no repository, or a setting that cannot be used.
    pub async fn open(options: GitOptions) -> Result<Self, VcsError> {
        let cx = Cx::new();
        let environment = Environment::new(options.environment.as_deref());
        let operator = Git::of_operator(find_git(&options, &environment)?, &environment);
        let version = version(&operator, &cx).await?;
        let folder = std::fs::canonicalize(&options.repository)
            .map_err(|error| VcsError::Refused(format!("{}: {error}", options.repository.display())))?;
        let found = Found::at(&operator, &folder, &cx).await?;
        let settings = Settings::read(&operator, &folder, &cx).await?;
        let identity = settings.identity(options.author.as_deref(), &environment)?;
        let sites = resolved(&absolute(&options.sites)?);
        let ignore_case = ignores_case(&sites);
        let mut passed_on = settings.passed_on(&operator, &folder, &environment, &cx).await?;
        passed_on.push(("core.ignorecase".to_owned(), ignore_case.to_string().into()));
        let mut forbidden = vec![sites.as_path(), found.common_dir.as_path()];
        forbidden.extend(found.root.as_deref());
        let path = environment.search_path(&forbidden);
        let git = operator.of_engine(&found.common_dir, &path, &environment, &identity.variables(), &passed_on);
        std::iter::once(&options.ledger).chain(&options.control).try_for_each(|path| check_ledger(path))?;
        Ok(Self {
            name: format!("branch {}", options.branch),
            operator,
            git,
            version,
            sha256: found.sha256,
            reftable: settings.text("extensions.refstorage").as_deref() == Some("reftable"),
            root: found.root,
            git_dir: found.git_dir,
            common_dir: found.common_dir,
            settings,
            passed_on,
            identity,
            search_path: path,
            sites,
            keep_list: KeepList::new(&options.keep)?,
            ledger: Ledger::new(&options.ledger, ignore_case).with(options.control.iter().map(String::as_str)),
            branch_ref: format!("refs/heads/{}", options.branch),
            marker_ref: format!("refs/ralph/branch/{}", options.branch),
            agent_git: OnceCell::new(),
            lanes: Mutex::default(),
            memory: Mutex::new(Memory::default()),
            options,
        })
    }
}

pub(crate) fn find_git(options: &GitOptions, environment: &Environment) -> Result<PathBuf, VcsError> {
    let program = options.git.clone().unwrap_or_else(|| "git".into());
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let found = which::which_in(&program, environment.get("PATH"), folder).map_err(|_| {
        VcsError::Refused(format!(
            "git was not found (`{}`); install git {}.{} or newer",
            program.display(),
            OLDEST.0,
            OLDEST.1
        ))
    })?;
    // The `PATH` may have relative parts, and what is at such a place may change.
    absolute(&found)
}

fn absolute(path: &Path) -> Result<PathBuf, VcsError> {
    std::path::absolute(path).map_err(|error| VcsError::Refused(format!("{}: {error}", path.display())))
}

pub(crate) async fn version(git: &Git, cx: &Cx) -> Result<String, VcsError> {
    let said = line(&git.call("version").ok(cx).await?);
    let version = said.split_whitespace().nth(2).unwrap_or_default().to_owned();
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < OLDEST {
        return Err(VcsError::Refused(format!("git {version} is too old; install {}.{} or newer", OLDEST.0, OLDEST.1)));
    }
    Ok(version)
}

/// Where a repository's parts are.
pub(crate) struct Found {
    pub(crate) root: Option<PathBuf>,
    pub(crate) git_dir: PathBuf,
    common_dir: PathBuf,
    sha256: bool,
}

impl Found {
    pub(crate) async fn at(git: &Git, folder: &Path, cx: &Cx) -> Result<Self, VcsError> {
        let parse = async |what: &str| {
            let call = git.call("rev-parse").args(["--path-format=absolute", what]);
            let output = call.folder(folder).run(cx).await?;
            if !output.success() {
                return Err(VcsError::Refused(format!(
                    "{} is not in a git repository that can be used: {}",
                    folder.display(),
                    output.said()
                )));
            }
            let mut bytes = output.stdout;
            bytes.truncate(bytes.strip_suffix(b"\n").map_or(bytes.len(), <[u8]>::len));
            Ok(OsString::from_vec(bytes))
        };
        let bare = parse("--is-bare-repository").await? == "true";
        let inside = parse("--is-inside-work-tree").await? == "true";
        if !bare && !inside {
            return Err(VcsError::Refused(format!(
                "{} is inside a repository's own folder; start from the checkout",
                folder.display()
            )));
        }
        let root = if inside { Some(parse("--show-toplevel").await?.into()) } else { None };
        Ok(Self {
            root,
            git_dir: parse("--git-dir").await?.into(),
            common_dir: parse("--git-common-dir").await?.into(),
            sha256: parse("--show-object-format").await? == "sha256",
        })
    }
}

pub(crate) fn check_ledger(ledger: &str) -> Result<(), VcsError> {
    let fine = |part: &str| !part.is_empty() && part != "." && part != ".." && part != ".git";
    if ledger.trim_matches('/').split('/').all(fine) && !ledger.starts_with('/') {
        return Ok(());
    }
    Err(VcsError::Refused(format!("the control folder `{ledger}` is not below the repository's root")))
}

/// Whether the disk below `path` takes `a` for `A`: a name on the way is looked up in the other case. Never copied from
/// the operator's settings, for their checkout may be on another disk.
fn ignores_case(path: &Path) -> bool {
    let swapped = |name: &str| -> String {
        name.chars().map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }).collect()
    };
    for folder in path.ancestors() {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        let Ok(real) = std::fs::metadata(folder) else { continue };
        let other = swapped(name);
        if other != name {
            return std::fs::metadata(folder.with_file_name(other))
                .is_ok_and(|other| (other.dev(), other.ino()) == (real.dev(), real.ino()));
        }
    }
    false
}
