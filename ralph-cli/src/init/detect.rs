//! Which check a repository already has.

use std::{fs, path::Path};

use serde_json::Value as Json;
use toml::Table;

use super::recipes;

/// A check, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) command: String,
    /// What makes a fresh checkout usable.
    pub(crate) setup: Option<String>,
    /// The file that says so.
    pub(crate) from: String,
}

impl Check {
    fn new(command: impl Into<String>, from: &str) -> Self {
        Self { command: command.into(), setup: None, from: from.to_owned() }
    }

    fn after(mut self, setup: Option<&str>) -> Self {
        self.setup = setup.map(str::to_owned);
        self
    }
}

/// The check of the repository at `root`. What people wrote for running it (a justfile, a Makefile) comes before what
/// its language usually does.
pub(crate) fn find_check(root: &Path) -> Option<Check> {
    let finders: [fn(&Path) -> Option<Check>; 9] =
        [justfile, makefile, package_json, cargo, go, python, ruby, composer, by_file];
    let mut check = finders.iter().find_map(|find| find(root))?;
    if check.setup.is_none() {
        // A Makefile's `test` needs the dependencies as well.
        check.setup = package_json_setup(root).map(str::to_owned);
    }
    Some(check)
}

fn read(root: &Path, name: &str) -> Option<String> {
    fs::read_to_string(root.join(name)).ok()
}

/// The first of the files that is there, with its text.
fn first<'a>(root: &Path, names: &[&'a str]) -> Option<(&'a str, String)> {
    names.iter().find_map(|name| Some((*name, read(root, name)?)))
}

fn has(root: &Path, name: &str) -> bool {
    root.join(name).exists()
}

fn any_of<'a>(names: &[&str], wanted: &[&'a str]) -> Option<&'a str> {
    wanted.iter().copied().find(|wanted| names.contains(wanted))
}

fn justfile(root: &Path) -> Option<Check> {
    let (name, text) = first(root, &["justfile", "Justfile", ".justfile"])?;
    let recipe = any_of(&recipes::of_justfile(&text), &["test", "check"])?;
    Some(Check::new(format!("just {recipe}"), name))
}

fn makefile(root: &Path) -> Option<Check> {
    let (name, text) = first(root, &["GNUmakefile", "makefile", "Makefile"])?;
    let target = any_of(&recipes::of_makefile(&text), &["test", "check"])?;
    Some(Check::new(format!("make {target}"), name))
}

fn package_json(root: &Path) -> Option<Check> {
    let package: Json = serde_json::from_str(&read(root, "package.json")?).ok()?;
    let script = package.pointer("/scripts/test")?.as_str()?;
    // What `npm init` writes.
    if script.trim().is_empty() || script.contains("no test specified") {
        return None;
    }
    let command = match manager(root, &package) {
        "bun" => "bun run test",
        "pnpm" => "pnpm test",
        "yarn" => "yarn test",
        _ => "npm test",
    };
    Some(Check::new(command, "package.json").after(package_json_setup(root)))
}

/// The package manager: the one that is named, else the one whose lock file is there.
fn manager(root: &Path, package: &Json) -> &'static str {
    let named = package.get("packageManager").and_then(Json::as_str).and_then(|named| named.split('@').next());
    let known = ["npm", "pnpm", "yarn", "bun"];
    if let Some(named) = named.and_then(|named| known.into_iter().find(|known| *known == named)) {
        return named;
    }
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
    locks.into_iter().find(|(lock, _)| has(root, lock)).map_or("npm", |(_, manager)| manager)
}

/// What installs exactly what the lock file says.
fn package_json_setup(root: &Path) -> Option<&'static str> {
    let package: Json = serde_json::from_str(&read(root, "package.json")?).ok()?;
    match manager(root, &package) {
        "pnpm" if has(root, "pnpm-lock.yaml") => Some("pnpm install --frozen-lockfile"),
        "yarn" if read(root, "yarn.lock")?.contains("# yarn lockfile v1") => Some("yarn install --frozen-lockfile"),
        "yarn" => Some("yarn install --immutable"),
        "bun" => Some("bun install --frozen-lockfile"),
        "npm" if has(root, "package-lock.json") || has(root, "npm-shrinkwrap.json") => Some("npm ci"),
        _ => None,
    }
}

fn cargo(root: &Path) -> Option<Check> {
    let manifest: Table = read(root, "Cargo.toml")?.parse().ok()?;
    let command = if manifest.contains_key("workspace") { "cargo test --workspace" } else { "cargo test" };
    Some(Check::new(command, "Cargo.toml"))
}

fn go(root: &Path) -> Option<Check> {
    has(root, "go.mod").then(|| Check::new("go test ./...", "go.mod"))
}

fn python(root: &Path) -> Option<Check> {
    let manifest: Option<Table> = read(root, "pyproject.toml").and_then(|text| text.parse().ok());
    let mentions_pytest = manifest.as_ref().is_some_and(|manifest| {
        let configured = manifest.get("tool").and_then(|tool| tool.get("pytest")).is_some();
        configured || names_pytest(&toml::Value::Table(manifest.clone()))
    });
    let from = if mentions_pytest {
        "pyproject.toml"
    } else {
        ["pytest.ini", "conftest.py", "tests/conftest.py"].into_iter().find(|name| has(root, name))?
    };
    let check = |command: &str, setup| Some(Check::new(command, from).after(setup));
    if has(root, "uv.lock") {
        return check("uv run pytest", Some("uv sync --frozen"));
    }
    if has(root, "poetry.lock") {
        return check("poetry run pytest", Some("poetry install --no-interaction"));
    }
    check("python3 -m pytest", None)
}

/// Whether a requirement such as `pytest>=8` stands anywhere in a manifest.
fn names_pytest(value: &toml::Value) -> bool {
    let is_pytest = |text: &str| {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').unwrap_or(text.len());
        text[..end].eq_ignore_ascii_case("pytest")
    };
    match value {
        toml::Value::String(text) => is_pytest(text),
        toml::Value::Array(list) => list.iter().any(names_pytest),
        toml::Value::Table(table) => table.iter().any(|(key, value)| is_pytest(key) || names_pytest(value)),
        _ => false,
    }
}

fn ruby(root: &Path) -> Option<Check> {
    let setup = has(root, "Gemfile").then_some("bundle install");
    let bundled = |command: &str| if setup.is_some() { format!("bundle exec {command}") } else { command.to_owned() };
    if has(root, ".rspec") {
        return Some(Check::new(bundled("rspec"), ".rspec").after(setup));
    }
    let (name, text) = first(root, &["Rakefile", "rakefile", "Rakefile.rb"])?;
    let tests = text.contains("TestTask") || text.contains(":test") || text.contains("load_tasks");
    Some(Check::new(bundled(if tests { "rake test" } else { "rake" }), name).after(setup))
}

fn composer(root: &Path) -> Option<Check> {
    let setup = Some("composer install --no-interaction");
    let manifest: Json = serde_json::from_str(&read(root, "composer.json")?).ok()?;
    if manifest.pointer("/scripts/test").is_some() {
        return Some(Check::new("composer test", "composer.json").after(setup));
    }
    let name = ["phpunit.xml", "phpunit.xml.dist"].into_iter().find(|name| has(root, name))?;
    Some(Check::new("vendor/bin/phpunit", name).after(setup))
}

/// Build tools of which the file alone says how to test.
fn by_file(root: &Path) -> Option<Check> {
    let gradle = if has(root, "gradlew") { "./gradlew test" } else { "gradle test" };
    let maven = if has(root, "mvnw") { "./mvnw --batch-mode test" } else { "mvn --batch-mode test" };
    let table = [
        ("mix.exs", "mix test", Some("mix deps.get")),
        ("build.gradle", gradle, None),
        ("build.gradle.kts", gradle, None),
        ("pom.xml", maven, None),
        ("Package.swift", "swift test", None),
        ("stack.yaml", "stack test", None),
        ("pubspec.yaml", "dart test", Some("dart pub get")),
        ("gleam.toml", "gleam test", None),
        ("build.zig", "zig build test", None),
        ("dune-project", "dune test", None),
        ("build.sbt", "sbt test", None),
        ("tox.ini", "tox", None),
        ("noxfile.py", "nox", None),
    ];
    let (name, command, setup) = table.into_iter().find(|(name, _, _)| has(root, name))?;
    Some(Check::new(command, name).after(setup))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `command` or `command <- setup`, and the file.
    fn found(files: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        match find_check(folder.path()) {
            None => "nothing".to_owned(),
            Some(Check { command, setup: None, from }) => format!("{command} ({from})"),
            Some(Check { command, setup: Some(setup), from }) => format!("{command} <- {setup} ({from})"),
        }
    }

    #[test]
    fn checks_by_what_the_repository_says() {
        let npm = ("package.json", r#"{"scripts": {"test": "vitest run"}}"#);
        let pnpm = ("package.json", r#"{"scripts": {"test": "x"}, "packageManager": "pnpm@9.1.0"}"#);
        let none = ("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#);
        for (files, expected) in [
            ([].as_slice(), "nothing"),
            (&[("README.md", "cargo test")], "nothing"),
            (&[("justfile", "test:\n  x\n"), ("Makefile", "test:\n")], "just test (justfile)"),
            (&[("justfile", "build:\n  x\n"), ("Makefile", "check:\n")], "make check (Makefile)"),
            (&[("Makefile", "test:\n"), npm, ("package-lock.json", "")], "make test <- npm ci (Makefile)"),
            (&[("Makefile", "all:\n"), ("Cargo.toml", "[package]\n")], "cargo test (Cargo.toml)"),
            (&[npm], "npm test (package.json)"),
            (&[npm, ("package-lock.json", "{}")], "npm test <- npm ci (package.json)"),
            (&[npm, ("pnpm-lock.yaml", "")], "pnpm test <- pnpm install --frozen-lockfile (package.json)"),
            (
                &[npm, ("yarn.lock", "# yarn lockfile v1\n")],
                "yarn test <- yarn install --frozen-lockfile (package.json)",
            ),
            (&[npm, ("yarn.lock", "__metadata:\n")], "yarn test <- yarn install --immutable (package.json)"),
            (&[npm, ("bun.lock", "")], "bun run test <- bun install --frozen-lockfile (package.json)"),
            (&[pnpm, ("package-lock.json", "")], "pnpm test (package.json)"),
            (&[none, ("go.mod", "module x")], "go test ./... (go.mod)"),
            (&[("package.json", "{")], "nothing"),
            (&[("Cargo.toml", "[workspace]\nmembers = []\n")], "cargo test --workspace (Cargo.toml)"),
            (&[("Cargo.toml", "[")], "nothing"),
            (&[("pyproject.toml", "[project]\nname = \"x\"\n")], "nothing"),
            (&[("pyproject.toml", "[tool.pytest.ini_options]\n")], "python3 -m pytest (pyproject.toml)"),
            (
                &[("pyproject.toml", "[dependency-groups]\ndev = [\"pytest>=8\"]\n"), ("uv.lock", "")],
                "uv run pytest <- uv sync --frozen (pyproject.toml)",
            ),
            (
                &[("pyproject.toml", "[tool.poetry.group.dev.dependencies]\npytest = \"^8\"\n"), ("poetry.lock", "")],
                "poetry run pytest <- poetry install --no-interaction (pyproject.toml)",
            ),
            (&[("pytest.ini", "")], "python3 -m pytest (pytest.ini)"),
            (&[("Gemfile", ""), (".rspec", "")], "bundle exec rspec <- bundle install (.rspec)"),
            (&[("Rakefile", "Rake::TestTask.new")], "rake test (Rakefile)"),
            (
                &[("composer.json", r#"{"scripts": {"test": "phpunit"}}"#)],
                "composer test <- composer install --no-interaction (composer.json)",
            ),
            (&[("mix.exs", "")], "mix test <- mix deps.get (mix.exs)"),
            (&[("build.gradle.kts", ""), ("gradlew", "")], "./gradlew test (build.gradle.kts)"),
            (&[("pom.xml", "")], "mvn --batch-mode test (pom.xml)"),
            (&[("tox.ini", "")], "tox (tox.ini)"),
        ] {
            assert_eq!(found(files), expected, "{files:?}");
        }
    }
}
