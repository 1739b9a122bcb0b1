//! What known runners read by themselves.

use crate::policy::watch::Watch::{self, BuildScript, Hooks, Ini, Json, Toml, Whole};

/// Programs that run what they read.
const INTERPRETERS: &[&str] = &[
    "eval", "source", ".", "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python2", "python3", "node", "deno",
    "bun", "ruby", "perl", "php", "xargs", "parallel", "tsx", "ts-node", "pwsh", "psql", "lua", "Rscript",
];

/// Whether a program runs what it is fed.
pub(super) fn interprets(program: &str) -> bool {
    INTERPRETERS.contains(&program)
}

type Files = &'static [(&'static str, Watch)];

/// What a package manager takes from a package.json, besides the versions.
const SCRIPTS: Watch = Json(&[
    "scripts",
    "config",
    "pnpm",
    "jest",
    "mocha",
    "ava",
    "tap",
    "vitest",
    "wireit",
    "packageManager",
    "husky",
    "simple-git-hooks",
    "type",
]);
const PYTEST: Watch = Toml(&["tool.pytest"]);

/// Which files each runner reads: in the folder where it is called or above, or anywhere (`**/`).
const RUNNERS: &[(&[&str], Files)] = &[
    (
        &["make", "gmake", "bmake"],
        &[("Makefile", Whole), ("GNUmakefile", Whole), ("BSDmakefile", Whole), ("**/*.mk", Whole)],
    ),
    (&["just"], &[("justfile", Whole), (".justfile", Whole), ("**/*.just", Whole)]),
    (&["task"], &[("Taskfile.y*ml", Whole), ("Taskfile.dist.y*ml", Whole)]),
    (&["npm", "npx"], &[("package.json", SCRIPTS), (".npmrc", Whole)]),
    (
        &["pnpm", "pnpx"],
        &[("package.json", SCRIPTS), (".npmrc", Whole), (".pnpmfile.cjs", Whole), ("pnpm-workspace.yaml", Whole)],
    ),
    (
        &["yarn"],
        &[
            ("package.json", SCRIPTS),
            (".yarnrc", Whole),
            (".yarnrc.yml", Whole),
            (".yarn/releases/**", Whole),
            (".yarn/plugins/**", Whole),
        ],
    ),
    (&["bun", "bunx"], &[("package.json", SCRIPTS), ("bunfig.toml", Whole)]),
    (&["deno"], &[("deno.json", Json(&["tasks", "test"])), ("deno.jsonc", Whole)]),
    (&["turbo"], &[("**/package.json", SCRIPTS), ("**/turbo.json", Whole)]),
    (&["nx", "lerna", "wsrun"], &[("**/package.json", SCRIPTS), ("nx.json", Whole), ("**/project.json", Whole)]),
    (&["jest"], &[("jest.config.*", Whole), ("package.json", SCRIPTS)]),
    (&["vitest"], &[("vitest.config.*", Whole), ("vitest.workspace.*", Whole), ("vite.config.*", Whole)]),
    (&["mocha"], &[(".mocharc*", Whole), ("package.json", SCRIPTS)]),
    (&["ava"], &[("ava.config.*", Whole), ("package.json", SCRIPTS)]),
    (&["playwright"], &[("playwright.config.*", Whole)]),
    (&["cypress"], &[("cypress.config.*", Whole)]),
    (
        &["pytest", "py.test"],
        &[
            ("pytest.ini", Whole),
            (".pytest.ini", Whole),
            ("conftest.py", Whole),
            ("**/conftest.py", Hooks),
            ("pyproject.toml", PYTEST),
            ("setup.cfg", Ini(&["tool:pytest"])),
            ("tox.ini", Ini(&["pytest"])),
        ],
    ),
    (
        &["tox"],
        &[
            ("tox.ini", Whole),
            ("tox.toml", Whole),
            ("pyproject.toml", Toml(&["tool.tox"])),
            ("setup.cfg", Ini(&["tox"])),
        ],
    ),
    (&["nox"], &[("noxfile.py", Whole)]),
    (&["hatch"], &[("hatch.toml", Whole), ("pyproject.toml", Toml(&["tool.hatch.envs"]))]),
    (&["poe", "poethepoet"], &[("pyproject.toml", Toml(&["tool.poe"])), ("poe_tasks.toml", Whole)]),
    (&["pdm"], &[("pyproject.toml", Toml(&["tool.pdm.scripts"]))]),
    (&["invoke", "inv"], &[("tasks.py", Whole)]),
    (
        &["cargo", "cross"],
        &[
            (".cargo/config.toml", Whole),
            (".cargo/config", Whole),
            ("rust-toolchain", Whole),
            ("rust-toolchain.toml", Whole),
            ("**/build.rs", BuildScript),
            (".config/nextest.toml", Whole),
            // Where a build script lies, and which tests there are to run.
            (
                "**/Cargo.toml",
                Toml(&[
                    "package.build",
                    "package.autotests",
                    "lib.test",
                    "lib.doctest",
                    "lib.harness",
                    "test",
                    "workspace.exclude",
                    "workspace.default-members",
                ]),
            ),
        ],
    ),
    (
        &["gradle", "gradlew", "gradlew.bat"],
        &[
            ("gradlew", Whole),
            ("gradlew.bat", Whole),
            ("gradle/wrapper/**", Whole),
            ("gradle.properties", Whole),
            ("**/*.gradle", Whole),
            ("**/*.gradle.kts", Whole),
            ("**/buildSrc/**", Whole),
        ],
    ),
    (&["mvn", "mvnw", "mvnw.cmd", "mvnd"], &[("mvnw", Whole), ("mvnw.cmd", Whole), (".mvn/**", Whole)]),
    (&["rake"], &[("Rakefile", Whole), ("Rakefile.rb", Whole), ("**/*.rake", Whole)]),
    (&["rspec"], &[(".rspec", Whole)]),
    (&["composer"], &[("composer.json", Json(&["scripts", "config"]))]),
    (&["phpunit", "pest"], &[("phpunit.xml", Whole), ("phpunit.xml.dist", Whole), ("phpunit.dist.xml", Whole)]),
    (&["pre-commit", "prek"], &[(".pre-commit-config.y*ml", Whole)]),
    (&["lefthook"], &[("lefthook.y*ml", Whole)]),
    (&["mise"], &[("mise.toml", Whole), (".mise.toml", Whole)]),
    (
        &["docker", "podman", "docker-compose"],
        &[("Dockerfile", Whole), ("Containerfile", Whole), ("docker-compose*.y*ml", Whole), ("compose*.y*ml", Whole)],
    ),
    (&["bazel", "bazelisk"], &[(".bazelrc", Whole), ("tools/bazel", Whole)]),
    (&["mix"], &[("mix.exs", Whole)]),
    (&["sbt"], &[("build.sbt", Whole), ("project/*.sbt", Whole)]),
    (&["ant"], &[("build.xml", Whole)]),
    (
        &["dotnet"],
        &[("**/Directory.Build.props", Whole), ("**/Directory.Build.targets", Whole), ("**/*.runsettings", Whole)],
    ),
];

/// Options with which a package manager runs scripts of other packages too.
const WORKSPACES: &[&str] = &[
    "-r",
    "--recursive",
    "-w",
    "--workspace",
    "--workspaces",
    "-ws",
    "--filter",
    "-F",
    "workspace",
    "workspaces",
    "foreach",
];

/// The files that `program` reads by itself when it is given `rest`: a path or a glob, and what counts in it.
pub(super) fn files(program: &str, rest: &[&str]) -> Vec<(String, Watch)> {
    // `python3.12`, `Make`: on some systems case does not count.
    let program = program.to_lowercase();
    let rows = RUNNERS.iter().filter(|(names, _)| names.contains(&program.as_str()));
    let mut files: Vec<_> =
        rows.flat_map(|(_, files)| *files).map(|(file, watch)| ((*file).to_owned(), *watch)).collect();
    let all_packages = rest.iter().any(|word| WORKSPACES.contains(word) || word.starts_with("--filter="));
    if matches!(program.as_str(), "npm" | "pnpm" | "yarn" | "bun") && all_packages {
        files.push(("**/package.json".to_owned(), SCRIPTS));
    }
    let whole = |path: String| (path, Whole);
    let plain = rest.iter().filter(|word| !word.starts_with('-') && !word.contains(super::UNKNOWN)).copied();
    if program.starts_with("python") || program == "pypy3" {
        let module = rest.iter().position(|word| *word == "-m").and_then(|at| rest.get(at + 1));
        if let Some(module) = module {
            let path = module.replace('.', "/");
            files.extend(["{}.py", "{}/__main__.py", "{}/__init__.py"].map(|form| whole(form.replace("{}", &path))));
        }
        files.extend(plain.map(|word| whole(format!("{}/__main__.py", word.trim_end_matches('/')))));
    } else if matches!(program.as_str(), "node" | "bun" | "deno" | "tsx" | "ts-node" | "nodejs") {
        for word in plain.map(|word| word.trim_end_matches('/')) {
            files.extend(["js", "cjs", "mjs", "ts"].map(|end| whole(format!("{word}.{end}"))));
            files.extend(["js", "cjs", "mjs", "ts"].map(|end| whole(format!("{word}/index.{end}"))));
        }
    } else if program == "go" && rest.first() == Some(&"run") {
        let folders = rest[1..].iter().map(|word| word.trim_start_matches("./").trim_end_matches('/'));
        let folders = folders.filter(|folder| !folder.is_empty() && !folder.starts_with(['-', '.']));
        files.extend(folders.map(|folder| whole(format!("{}/*.go", globset::escape(folder)))));
    } else if program == "cargo" && rest.contains(&"xtask") {
        files.push(whole("xtask/**".to_owned()));
    }
    files
}
