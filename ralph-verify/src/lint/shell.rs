//! Shell lines whose exit status says nothing. Reads words and operators, not the whole grammar: what it does not
//! understand, it takes for something that can fail.

use super::{Lint, LintKind};

/// What joins two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    /// `;` or a new line.
    Then,
    /// `&`: whatever it comes to, nobody waits.
    Background,
    And,
    Or,
    Pipe,
}

/// Commands whose status is not about what they read.
const FILTERS: &[&str] =
    &["tee", "cat", "head", "tail", "sort", "uniq", "wc", "sed", "tr", "cut", "less", "more", "ts", "column", "nl"];

/// Flags with which a runner passes if there is no test.
const LENIENT: &[&str] = &["--passWithNoTests", "--pass-with-no-tests", "--if-present", "--no-run", "--collect-only"];

/// What is doubtful about a verify command.
///
/// ```
/// use ralph_verify::lint::lint_command;
/// let found = lint_command("npm test | tee test.log");
/// assert!(found[0].text.contains("`tee`"), "{found:?}");
/// ```
pub fn lint_command(command: &str) -> Vec<Lint> {
    let mut found = Vec::new();
    let Some(parts) = split(command) else { return found };
    let shown = command.trim();
    let strict = parts.iter().any(|(words, _)| words.first().is_some_and(|it| it == "set") && has_flag(words, 'e'));
    if !can_fail(&parts, strict) {
        let advice = "use a command whose exit status tells good work from bad";
        found.push(Lint::new(LintKind::CannotFail, format!("`{shown}` cannot fail: {advice}")));
        return found;
    }
    let pipefail = parts.iter().any(|(words, _)| words.iter().any(|word| word == "pipefail"));
    if !pipefail && let Some((hidden, by)) = hidden_by_pipe(&parts) {
        found.push(Lint::new(
            LintKind::HidesExit,
            format!(
                "`{shown}`: the exit status is that of `{by}`, and that of `{hidden}` is lost; write into a file \
                 instead, or use `bash -o pipefail -c '…'`"
            ),
        ));
    }
    let lenient = parts.iter().flat_map(|(words, _)| words).find(|word| LENIENT.contains(&word.as_str()));
    if let Some(flag) = lenient {
        let text = format!("`{shown}`: with `{flag}` it passes even where no test runs");
        found.push(Lint::new(LintKind::PassesOnNothing, text));
    }
    found
}

/// Whether any outcome of the commands makes the whole line fail.
fn can_fail(parts: &[(Vec<String>, Joint)], strict: bool) -> bool {
    let mut any = false;
    // Whether what stands since the last `;` can fail; `joint` is what stands before the next command.
    let (mut list, mut joint) = (false, Joint::Then);
    for (words, next) in parts {
        // The last command of a pipe counts for all of it.
        if *next == Joint::Pipe {
            continue;
        }
        let this = !always_succeeds(words);
        list = match joint {
            Joint::And => list || this,
            Joint::Or => list && this,
            // A new list forgets the one before.
            Joint::Pipe | Joint::Then | Joint::Background => this,
        };
        if *next == Joint::Background {
            list = false;
        }
        joint = *next;
        if matches!(joint, Joint::Then | Joint::Background) {
            any |= list;
        }
    }
    if strict { any || list } else { list }
}

/// The command whose status a pipe loses at the end of the line, and what stands there instead.
fn hidden_by_pipe(parts: &[(Vec<String>, Joint)]) -> Option<(String, String)> {
    parts.windows(2).find_map(|pair| {
        let [(first, Joint::Pipe), (second, next)] = pair else { return None };
        let (hidden, by) = (program(first)?, program(second)?);
        let hides = FILTERS.contains(&by) && *next != Joint::Pipe && !matches!(hidden, "echo" | "printf" | "cat");
        hides.then(|| (hidden.to_owned(), by.to_owned()))
    })
}

fn always_succeeds(words: &[String]) -> bool {
    let Some(program) = program(words) else { return true };
    let args: Vec<&str> = words.iter().skip_while(|word| *word != program).skip(1).map(String::as_str).collect();
    match program {
        "true" | ":" | "echo" | "printf" | "/bin/true" | "/usr/bin/true" => true,
        "exit" | "return" => args.first() == Some(&"0"),
        "set" | "export" => true,
        _ => false,
    }
}

/// The program of a simple command, without assignments and what only passes it on.
fn program(words: &[String]) -> Option<&str> {
    let is_assignment = |word: &str| {
        word.split_once('=')
            .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let passes_on = |word: &str| matches!(word, "command" | "builtin" | "exec" | "env" | "time" | "nohup");
    words.iter().map(String::as_str).find(|word| !is_assignment(word) && !passes_on(word))
}

fn has_flag(words: &[String], flag: char) -> bool {
    words.iter().skip(1).any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
}

/// The simple commands with what stands behind each. `None` where the line is beyond this reader.
fn split(line: &str) -> Option<Vec<(Vec<String>, Joint)>> {
    if line.contains("<<") {
        return None;
    }
    let mut parts: Vec<(Vec<String>, Joint)> = Vec::new();
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut depth = 0_u32;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let joint = match c {
            '\'' | '"' | '`' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\\' if c != '\'' => text.extend(chars.next()),
                        end if end == c => break,
                        inside => text.push(inside),
                    }
                }
                continue;
            }
            '\\' => {
                word.get_or_insert_default().extend(chars.next());
                continue;
            }
            '(' => {
                depth += 1;
                word.get_or_insert_default().push(c);
                continue;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                word.get_or_insert_default().push(c);
                continue;
            }
            // A subshell or substitution is one opaque word.
            _ if depth > 0 => {
                word.get_or_insert_default().push(c);
                continue;
            }
            '#' if word.is_none() => {
                while chars.next_if(|next| *next != '\n').is_some() {}
                continue;
            }
            '&' if chars.next_if_eq(&'&').is_some() => Joint::And,
            // Part of a redirection: `2>&1`, `&>`.
            '&' if word.as_ref().is_some_and(|word| word.ends_with('>')) || chars.peek() == Some(&'>') => {
                word.get_or_insert_default().push(c);
                continue;
            }
            '&' => Joint::Background,
            '|' if chars.next_if_eq(&'|').is_some() => Joint::Or,
            '|' => {
                let _ = chars.next_if_eq(&'&');
                Joint::Pipe
            }
            ';' | '\n' => Joint::Then,
            c if c.is_whitespace() => {
                words.extend(word.take());
                continue;
            }
            c => {
                word.get_or_insert_default().push(c);
                continue;
            }
        };
        words.extend(word.take());
        let done = std::mem::take(&mut words);
        match parts.last_mut() {
            // `a &&` and a new line: the line goes on.
            Some((_, before)) if done.is_empty() && joint == Joint::Then && *before != Joint::Then => {}
            _ if done.is_empty() && joint == Joint::Then => {}
            _ => parts.push((done, joint)),
        }
    }
    words.extend(word);
    if !words.is_empty() || parts.is_empty() {
        parts.push((words, Joint::Then));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands() {
        use LintKind::{CannotFail, HidesExit, PassesOnNothing};
        for (command, expected) in [
            ("cargo test", None),
            ("cargo test && cargo clippy", None),
            ("cargo test || exit 1", None),
            ("cargo test 2>&1", None),
            ("cargo test &> log", None),
            ("! grep -r TODO src", None),
            ("sh hours.sh | grep Monday", None),
            ("test \"$(sh greet.sh | tail -1)\" = 'Hello || true'", None),
            ("for f in *.sh; do sh -n $f || exit 1; done", None),
            ("if x; then true; fi", None),
            ("(cd web && npm test)", None),
            ("echo start; npm test", None),
            ("set -e; npm test; echo done", None),
            ("cat <<END; true\nx\nEND", None),
            ("echo '{}' | tee x.json && jq . x.json", None),
            ("cat a | sort > b && diff b c", None),
            ("bash -o pipefail -c 'npm test | tee log'", None),
            ("npm test # || true", None),
            ("npm test && cat log | true", None),
            ("npm test &&\n  npm run lint", None),
            ("true", Some(CannotFail)),
            (" : ", Some(CannotFail)),
            ("", Some(CannotFail)),
            ("exit 0", Some(CannotFail)),
            ("echo all good", Some(CannotFail)),
            ("CI=1 true", Some(CannotFail)),
            ("command true", Some(CannotFail)),
            ("npm test || true", Some(CannotFail)),
            ("npm test || :", Some(CannotFail)),
            ("npm test || echo failed", Some(CannotFail)),
            ("npm test || exit 0", Some(CannotFail)),
            ("npm test; true", Some(CannotFail)),
            ("npm test; echo $?", Some(CannotFail)),
            ("npm test\nexit 0\n", Some(CannotFail)),
            ("npm test &", Some(CannotFail)),
            ("{ npm test; npm run lint; } || true", Some(CannotFail)),
            ("true && echo fine", Some(CannotFail)),
            ("npm test | tee test.log", Some(HidesExit)),
            ("npm test 2>&1 | tail -20", Some(HidesExit)),
            ("pytest | cat", Some(HidesExit)),
            ("npx jest --passWithNoTests", Some(PassesOnNothing)),
            ("npm test --if-present", Some(PassesOnNothing)),
        ] {
            let found = lint_command(command);
            assert_eq!(found.first().map(|lint| lint.kind), expected, "{command}: {found:?}");
        }
    }
}
