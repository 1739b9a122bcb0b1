//! What the plan's own commands run.
//!
//! The words of a command that are paths of files, and the files that known runners read by themselves. What those files
//! call in turn is out of reach.

mod lex;
mod runners;

use std::collections::BTreeSet;

use globset::GlobMatcher;
use ralph_core::ItemBoundary;

use self::lex::{Command, UNKNOWN, Word};
use super::{globs, names, watch::Watch};

/// How many folders are taken for ones that a command may stand in.
const FOLDERS: usize = 16;

/// How much of a command is shown.
const SHOWN: usize = 60;

/// Something that a command runs or reads its orders from.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) what: Which,
    pub(super) watch: Watch,
    /// The command, for people.
    pub(super) command: String,
}

/// Which paths a guard is about.
#[derive(Clone, Debug)]
pub(super) enum Which {
    /// This one.
    Path {
        /// As it is written.
        written: String,
        /// As it is compared.
        folded: String,
    },
    /// Those that match.
    Glob(GlobMatcher),
}

impl Guard {
    /// Whether it is about `path` (folded), or about something below it that a link there would replace.
    pub(super) fn names(&self, path: &str) -> bool {
        match &self.what {
            Which::Path { folded, .. } => names::inside(folded, path),
            Which::Glob(glob) => glob.is_match(path) || glob.is_match(format!("{path}/_")),
        }
    }
}

/// What the commands of this item, its phase and `more` run.
pub(super) fn guards(item: &ItemBoundary, more: &[String]) -> Vec<Guard> {
    let phase = &item.phase;
    let lists = [&item.item.verify, &phase.verify, &phase.setup, &phase.env_check, &phase.auto_gate];
    let lines: BTreeSet<&String> = lists.into_iter().flatten().chain(more).collect();
    lines.into_iter().flat_map(|line| of_line(line)).collect()
}

/// What one shell line runs.
pub(super) fn of_line(line: &str) -> Vec<Guard> {
    let commands = lex::commands(line);
    let mut reader = Reader { folders: folders(&commands), command: shown(line), guards: Vec::new() };
    // What is only looked at is the work, unless something runs what comes of it: behind a pipe, or around it.
    let interprets = |command: &Command| lex::head(command).is_some_and(runners::interprets);
    let mut fed = vec![false; commands.len()];
    for (index, command) in commands.iter().enumerate() {
        fed[index] |= command.piped && commands[index..].iter().any(interprets);
        if interprets(command) {
            fed[index - command.inner.min(index)..index].fill(true);
        }
    }
    for (command, fed) in commands.iter().zip(fed) {
        if lex::looks(command) && !fed {
            reader.scripts_of(command);
        } else {
            reader.command(command);
        }
    }
    reader.guards
}

fn shown(line: &str) -> String {
    let shown = names::show_text(line.trim());
    match shown.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

/// Options whose value is a folder to stand in.
const FOLDER_OPTIONS: &[&str] = &[
    "-C",
    "--prefix",
    "--cwd",
    "--dir",
    "--directory",
    "--project",
    "--project-dir",
    "--working-directory",
    "--chdir",
    "--rootdir",
    "--root",
    "-p",
    "--manifest-path",
];

/// The folders that a line goes to; the root is always one.
fn folders(commands: &[Command]) -> Vec<String> {
    let mut folders = vec![String::new()];
    for command in commands {
        let moves = matches!(lex::head(command), Some("cd" | "pushd"));
        let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
        for (index, word) in words.iter().enumerate() {
            let attached =
                word.split_once('=').filter(|(name, _)| FOLDER_OPTIONS.contains(name)).map(|(_, value)| value);
            let after = index > 0 && (moves || FOLDER_OPTIONS.contains(&words[index - 1]));
            let Some(folder) = attached.or(after.then_some(*word)) else { continue };
            // `$PWD/web` and `$(dirname $0)/web` are most likely below the root.
            let folder = folder.rsplit(UNKNOWN).next().unwrap_or(folder).trim_start_matches(['/', UNKNOWN]);
            let folder = folder.strip_suffix("Cargo.toml").unwrap_or(folder);
            for from in folders.clone() {
                if let Some(path) = names::join(&from, folder)
                    && folders.len() < FOLDERS
                    && !folders.contains(&path)
                {
                    folders.push(path);
                }
            }
        }
    }
    folders
}

struct Reader {
    folders: Vec<String>,
    command: String,
    guards: Vec<Guard>,
}

impl Reader {
    fn command(&mut self, command: &Command) {
        let words = &command.words;
        for (index, word) in words.iter().enumerate() {
            for piece in pieces(&word.text) {
                self.word(&Word { text: piece.to_owned(), glob: word.glob });
            }
            let rest: Vec<&str> = words[index + 1..].iter().map(|word| word.text.as_str()).collect();
            let name = word.text.rsplit(['/', UNKNOWN]).next().unwrap_or(&word.text);
            for (glob, watch) in runners::files(name, &rest) {
                self.runner(&glob, watch);
            }
        }
    }

    /// Files that a program which looks takes its orders from: `grep -f patterns`, `sed -nf script`.
    fn scripts_of(&mut self, command: &Command) {
        const TAKE_ORDERS: &[&str] = &["grep", "egrep", "fgrep", "rg", "sed", "awk", "jq", "yq"];
        if !lex::head(command).is_some_and(|head| TAKE_ORDERS.contains(&head)) {
            return;
        }
        for (index, word) in command.words.iter().enumerate() {
            let text = word.text.as_str();
            let value = match text.strip_prefix("--") {
                Some("file" | "from-file") => Some(""),
                Some(long) => long.strip_prefix("file=").or_else(|| long.strip_prefix("from-file=")),
                None => text.strip_prefix('-').and_then(|short| short.split_once('f')).map(|(_, value)| value),
            };
            match value {
                Some("") => command.words.get(index + 1).into_iter().for_each(|next| self.word(next)),
                Some(value) => self.word(&Word { text: value.to_owned(), glob: word.glob }),
                None => {}
            }
        }
    }

    /// A word that may be a path.
    fn word(&mut self, word: &Word) {
        if word.glob || word.text.contains(UNKNOWN) {
            if let Some(glob) = as_glob(word) {
                self.globs(&glob, Watch::Whole);
            }
            return;
        }
        for folder in self.folders.clone() {
            if let Some(path) = names::join(&folder, &word.text).filter(|path| !path.is_empty()) {
                self.path(path, Watch::Whole);
            }
        }
    }

    /// A file of a runner: in the folder where it is called, or in one above.
    fn runner(&mut self, file: &str, watch: Watch) {
        let is_glob = file.contains(['*', '{']);
        if is_glob {
            self.globs(file, watch);
            return;
        }
        let mut all = BTreeSet::new();
        for folder in &self.folders {
            all.extend(names::folders(&format!("{folder}/_")).chain([""]).map(str::to_owned));
        }
        for folder in all {
            if let Some(path) = names::join(&folder, file) {
                self.path(path, watch);
            }
        }
    }

    fn globs(&mut self, glob: &str, watch: Watch) {
        for folder in self.folders.clone() {
            let glob = match glob.starts_with("**/") || folder.is_empty() {
                true => glob.to_owned(),
                false => format!("{}/{glob}", globset::escape(&folder)),
            };
            if let Ok(matcher) = globs::matcher(&glob) {
                self.guard(Which::Glob(matcher), watch);
            }
        }
    }

    fn path(&mut self, written: String, watch: Watch) {
        let folded = names::fold(written.as_bytes());
        self.guard(Which::Path { written, folded }, watch);
    }

    fn guard(&mut self, what: Which, watch: Watch) {
        self.guards.push(Guard { what, watch, command: self.command.clone() });
    }
}

/// The parts of a word that may be a path: behind `=`, `@` or a short option, before `::`.
fn pieces(word: &str) -> Vec<&str> {
    let mut pieces = vec![word];
    pieces.extend(word.split_once('=').map(|(_, value)| value));
    pieces.extend(word.split_once("::").map(|(path, _)| path));
    pieces.extend(word.strip_prefix('@'));
    if word.starts_with('-') && !word.starts_with("--") {
        pieces.extend(word.char_indices().nth(2).map(|(at, _)| &word[at..]));
    }
    // `python3 tests/check.py,x` and `a:b` are lists.
    pieces.extend(word.split([':', ',']).filter(|part| part.len() < word.len() && part.contains(['/', '.'])));
    pieces.retain(|piece| !piece.is_empty() && !piece.starts_with('-'));
    pieces
}

/// A word with unknown parts, as a glob. `None` where nothing in it is known.
fn as_glob(word: &Word) -> Option<String> {
    let text = word.text.strip_prefix("./").unwrap_or(&word.text);
    let known = text.contains(|c: char| c.is_alphanumeric());
    if !known || text.split('/').any(|part| part == "..") || text.starts_with('/') {
        return None;
    }
    let (unrooted, text) = match text.strip_prefix(UNKNOWN) {
        Some(rest) if rest.starts_with('/') => (true, &rest[1..]),
        _ => (false, text),
    };
    let parts: Vec<String> =
        text.split(UNKNOWN).map(|part| if word.glob { part.to_owned() } else { globset::escape(part) }).collect();
    let glob = parts.join("*");
    // `*.rs` and the like name whatever there is: the work itself.
    let last = glob.rsplit('/').next().unwrap_or(&glob);
    let broad = last.starts_with("**") || (glob == last && last.starts_with('*'));
    (!broad).then(|| if unrooted { format!("**/{glob}") } else { glob })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a command makes a path protected.
    fn guarded(line: &str, path: &str) -> bool {
        let path = names::fold(path.as_bytes());
        of_line(line).iter().any(|guard| guard.names(&path))
    }

    #[test]
    fn scripts_and_programs() {
        for (line, path) in [
            ("bash x.sh", "x.sh"),
            ("./check.sh --fast", "check.sh"),
            ("CI=1 python3 tests/check.py", "tests/check.py"),
            ("npm ci && node scripts/v.js", "scripts/v.js"),
            ("node scripts/v", "scripts/v.js"),
            ("node scripts", "scripts/index.js"),
            ("python3 -m tools.check", "tools/check.py"),
            ("python3 -m tools.check", "tools/check/__main__.py"),
            ("python tools", "tools/__main__.py"),
            ("sh -c 'cd web; ./check.sh'", "web/check.sh"),
            ("(cd web && ./check.sh)", "web/check.sh"),
            ("cd a && cd b && sh c.sh", "a/b/c.sh"),
            ("sh < check.sh", "check.sh"),
            ("cat check.sh | sh", "check.sh"),
            ("echo './check.sh x' | bash", "check.sh"),
            (". ./env.sh", "env.sh"),
            ("timeout 60 ./check.sh", "check.sh"),
            ("test \"$(sh greet.sh)\" = hi", "greet.sh"),
            ("$PWD/scripts/check.sh", "scripts/check.sh"),
            ("\"$(git rev-parse --show-toplevel)/scripts/check.sh\"", "scripts/check.sh"),
            ("for f in checks/*.sh; do sh $f; done", "checks/a.sh"),
            ("sh checks/{a,b}.sh", "checks/b.sh"),
            ("pytest tests/test_a.py::test_b", "tests/test_a.py"),
            ("pytest -c ci/pytest.ini", "ci/pytest.ini"),
            ("jest --config=ci/jest.js", "ci/jest.js"),
            ("grep -f patterns.txt src/a", "patterns.txt"),
            ("sed -nf rules.sed src/a", "rules.sed"),
            ("jq --from-file=x.jq a.json", "x.jq"),
            ("./test src/x", "test"),
            ("scripts/grep src/x", "scripts/grep"),
            ("bash -c \"$(cat check.sh)\"", "check.sh"),
            ("eval \"$(cat a/check.sh)\"", "a/check.sh"),
            ("bash <(cat check.sh)", "check.sh"),
            ("git bisect run ./check.sh", "check.sh"),
            ("diff expected.txt out.txt", "expected.txt"),
            ("bash ./scripts//check.sh", "scripts"),
            ("bash x.sh", "X.SH"),
            ("go run ./tools/check", "tools/check/main.go"),
            ("cargo xtask verify", "xtask/src/main.rs"),
        ] {
            assert!(guarded(line, path), "{line} must protect {path}");
        }
    }

    #[test]
    fn what_is_only_looked_at_is_the_work() {
        for (line, path) in [
            ("test -f README.md", "README.md"),
            ("grep -q hello docs/a.md", "docs/a.md"),
            ("bash x.sh", "y.sh"),
            ("test \"$(cat out.txt)\" = x; python3 x.py", "out.txt"),
            ("git diff --exit-code Cargo.lock", "Cargo.lock"),
            ("cargo test", "src/lib.rs"),
            ("pytest tests", "tests/test_a.py"),
            ("./check.sh > out.txt", "out.txt"),
            ("for f in *.sh; do sh -n $f; done", "a.sh"),
            ("bash /opt/check.sh", "opt/check.sh"),
            ("bash ../check.sh", "check.sh"),
        ] {
            assert!(!guarded(line, path), "{line} must not protect {path}");
        }
    }

    #[test]
    fn runners() {
        for (line, path) in [
            ("make check", "Makefile"),
            ("make check", "GNUmakefile"),
            ("make -C web check", "web/makefile"),
            ("make", "rules/x.mk"),
            ("just check", ".justfile"),
            ("npm test", "package.json"),
            ("cd web && npm run build", "web/package.json"),
            ("cd web && npm run build", "package.json"),
            ("npm --prefix web test", "web/package.json"),
            ("pnpm verify:privacy && pnpm build", "package.json"),
            ("pnpm -r test", "packages/a/package.json"),
            ("npm test", ".npmrc"),
            ("uv run pytest -q", "conftest.py"),
            ("python -m pytest", "pytest.ini"),
            ("pytest", "pyproject.toml"),
            ("pytest", "setup.cfg"),
            ("tox -e py", "tox.ini"),
            ("nox", "noxfile.py"),
            ("cargo test", "build.rs"),
            ("cargo test", "crates/a/build.rs"),
            ("cargo test", "rust-toolchain.toml"),
            ("cargo nextest run", ".config/nextest.toml"),
            ("./gradlew check", "gradlew"),
            ("./gradlew check", "gradle/wrapper/gradle-wrapper.jar"),
            ("./gradlew check", "app/build.gradle.kts"),
            ("./mvnw verify", "mvnw"),
            ("mvn verify", ".mvn/maven.config"),
            ("bundle exec rake", "Rakefile"),
            ("composer run check", "composer.json"),
            ("pre-commit run -a", ".pre-commit-config.yaml"),
            ("docker compose run test", "docker-compose.yml"),
        ] {
            assert!(guarded(line, path), "{line} must protect {path}");
        }
        assert!(!guarded("make check", "package.json"));
        assert!(!guarded("go test ./...", "go.mod"));
        assert!(!guarded("npm test", "packages/a/package.json"));
    }
}
