//! What the files of the starting commit ask for: filters, line ends, submodules.

use std::collections::BTreeSet;

use ralph_core::{Cx, Revision, VcsError};

use crate::{GitVcs, Preflight};

/// Attributes files are small; what is not is not read.
const MOST_ATTRIBUTES: usize = 4 << 20;

impl GitVcs {
    /// Adds to `report` what concerns the files of `head`.
    pub(crate) async fn look_at_files(&self, report: &mut Preflight, head: &Revision, cx: &Cx) -> Result<(), VcsError> {
        let call = self.git.call("ls-tree").args(["-r", "-z", "--full-tree", head.as_str()]);
        let list = call.ok(cx).await?;
        let mut submodules = 0;
        let mut wanted = String::new();
        for record in list.split(|byte| *byte == 0) {
            let text = String::from_utf8_lossy(record);
            let Some((meta, path)) = text.split_once('\t') else { continue };
            let mut words = meta.split(' ');
            match (words.next(), words.next(), words.next()) {
                (Some("160000"), ..) => submodules += 1,
                (_, Some("blob"), Some(id)) if is_attributes(path) => {
                    wanted.push_str(id);
                    wanted.push('\n');
                }
                _ => {}
            }
        }
        if submodules > 0 {
            report.notes.push(format!(
                "{submodules} submodule(s): their folders are empty in the workspaces, and work that changes one fails. \
                 What needs their files cannot be built or verified here"
            ));
        }
        if !wanted.is_empty() {
            let call = self.git.call("cat-file").arg("--batch").stdin(wanted).most(MOST_ATTRIBUTES);
            let output = call.run(cx).await?;
            for name in filters(&String::from_utf8_lossy(&output.stdout)) {
                self.look_at_filter(report, &name);
            }
        }
        Ok(())
    }

    fn look_at_filter(&self, report: &mut Preflight, name: &str) {
        let setting = |what: &str| self.settings.text(&format!("filter.{name}.{what}"));
        let command = setting("process").or_else(|| setting("clean")).or_else(|| setting("smudge"));
        let Some(command) = command else {
            if name == "lfs" {
                report.refusals.push(
                    "files of this repository are kept by git-lfs, which is not set up here: work would be committed as \
                     whole files; install git-lfs and run `git lfs install`"
                        .to_owned(),
                );
            } else {
                report.notes.push(format!(
                    "files ask for the filter `{name}`, which is not set up here; they are taken as they are"
                ));
            }
            return;
        };
        let program = command.split_whitespace().next().unwrap_or_default();
        if which::which_in_global(program, Some(&self.search_path)).map_or(true, |mut found| found.next().is_none()) {
            report.refusals.push(format!(
                "files ask for the filter `{name}`, whose program `{program}` is not on the PATH; install it"
            ));
        } else if name == "lfs" && self.settings.text("lfs.repositoryformatversion").is_none() {
            // Otherwise git-lfs writes it into the repository's settings at its first use, in the middle of the run.
            report.refusals.push(
                "git-lfs has not been used in this repository yet; run `git config lfs.repositoryformatversion 0` (it \
                 would be written at first use)"
                    .to_owned(),
            );
        }
    }
}

fn is_attributes(path: &str) -> bool {
    path == ".gitattributes" || path.ends_with("/.gitattributes")
}

/// The names after `filter=` in attributes files.
fn filters(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let words = lines.flat_map(str::split_whitespace);
    words.filter_map(|word| word.strip_prefix("filter=")).map(str::to_owned).collect()
}
