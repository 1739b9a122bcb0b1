//! Shell lines taken apart into simple commands and words. It reads more into a line than the shell would, never less:
//! code in quotes, substitutions and blocks are commands too.

/// What a substitution in a word stands for: nobody knows.
pub(super) const UNKNOWN: char = '\u{0}';

/// How deep commands in commands are followed.
const DEPTH: usize = 6;

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Without quotes; substitutions are [`UNKNOWN`].
    pub(super) text: String,
    /// Whether it holds `*`, `?`, `[` or `{` outside of quotes.
    pub(super) glob: bool,
}

/// Words up to an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    /// Whether what it prints is what the next one reads.
    pub(super) piped: bool,
    /// How many commands right before it stand in its substitutions.
    pub(super) inner: usize,
}

/// All commands of a line.
pub(super) fn commands(line: &str) -> Vec<Command> {
    let mut reader = Reader { found: Vec::new() };
    reader.line(line, 0);
    reader.found
}

struct Reader {
    found: Vec<Command>,
}

impl Reader {
    fn line(&mut self, line: &str, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let chars: Vec<char> = line.chars().collect();
        let (mut at, mut command, mut word) = (0, Command::default(), None::<Word>);
        let mut start = self.found.len();
        // Whether the next word is where output goes.
        let mut output = false;
        while let Some(&c) = chars.get(at) {
            let next = chars.get(at + 1).copied();
            at += 1;
            match c {
                '\\' => {
                    if let Some(next) = next.filter(|next| *next != '\n') {
                        word.get_or_insert_default().text.push(next);
                    }
                    at += 1;
                }
                '\'' => {
                    let end = find(&chars, at, '\'');
                    word.get_or_insert_default().text.extend(&chars[at..end]);
                    at = end + 1;
                }
                '"' => {
                    let word = word.get_or_insert_default();
                    at = self.quoted(&chars, at, word, depth);
                }
                '$' | '`' => {
                    let word = word.get_or_insert_default();
                    at = self.substitution(&chars, at - 1, word, depth);
                }
                '#' if word.is_none() => at = find(&chars, at, '\n'),
                // `>&1`, `&>`
                '&' if at > 1 && chars[at - 2] == '>' => {}
                '&' if next == Some('>') => {}
                '<' | '>' if next == Some('(') => {
                    // A command in the place of a file.
                    let end = closing(&chars, at, '(', ')');
                    let inner: String = chars[(at + 1).min(end)..end].iter().collect();
                    word.get_or_insert_default().text.push(UNKNOWN);
                    self.line(&inner, depth + 1);
                    at = end + 1;
                }
                '>' | '<' => {
                    // The number of a file: `2>`.
                    if word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
                        word = None;
                    }
                    self.end_word(&mut command, &mut word, &mut output, depth);
                    output = c == '>';
                }
                ';' | '\n' | '&' | '|' | '(' | ')' => {
                    self.end_word(&mut command, &mut word, &mut output, depth);
                    output = false;
                    command.piped = c == '|' && next != Some('|') && (at < 2 || chars[at - 2] != '|');
                    self.end_command(&mut command, &mut start, depth);
                }
                c if c.is_whitespace() => self.end_word(&mut command, &mut word, &mut output, depth),
                c => {
                    let word = word.get_or_insert_default();
                    word.glob |= matches!(c, '*' | '?' | '[' | '{');
                    word.text.push(c);
                }
            }
        }
        self.end_word(&mut command, &mut word, &mut output, depth);
        self.end_command(&mut command, &mut start, depth);
    }

    fn end_word(&mut self, command: &mut Command, word: &mut Option<Word>, output: &mut bool, depth: usize) {
        let Some(word) = word.take() else { return };
        if std::mem::take(output) {
            return;
        }
        // `sh -c '…'`, `eval "…"` and whatever else takes a line.
        if word.text.contains(|c: char| c.is_whitespace() || ";|&<>()".contains(c)) && !looks(command) {
            self.line(&word.text, depth + 1);
        }
        command.words.push(word);
    }

    /// Takes in a command whose substitutions begin at `start`.
    fn end_command(&mut self, command: &mut Command, start: &mut usize, depth: usize) {
        let mut done = std::mem::take(command);
        if !done.words.is_empty() {
            // `echo "…" | sh`
            if done.piped && looks(&done) {
                let lines = done.words.iter().filter(|word| word.text.contains(char::is_whitespace));
                lines.for_each(|word| self.line(&word.text, depth + 1));
            }
            done.inner = self.found.len().saturating_sub(*start);
            self.found.push(done);
            *start = self.found.len();
        } else if done.piped
            && let Some(last) = self.found.last_mut()
        {
            // `{ a; b; } | sh`, `(a) | sh`
            last.piped = true;
        }
    }

    /// Reads what stands in double quotes; answers where it goes on.
    fn quoted(&mut self, chars: &[char], mut at: usize, word: &mut Word, depth: usize) -> usize {
        while let Some(&c) = chars.get(at) {
            match c {
                '"' => return at + 1,
                '\\' => {
                    word.text.extend(chars.get(at + 1).filter(|c| **c != '\n'));
                    at += 2;
                }
                '$' | '`' => at = self.substitution(chars, at, word, depth),
                c => {
                    word.text.push(c);
                    at += 1;
                }
            }
        }
        at
    }

    /// Reads what begins with `$` or a back quote at `at`; answers where it goes on.
    fn substitution(&mut self, chars: &[char], at: usize, word: &mut Word, depth: usize) -> usize {
        let inner = |from: usize, to: usize| chars[from.min(to)..to].iter().collect::<String>();
        match (chars[at], chars.get(at + 1)) {
            ('`', _) => {
                let end = find(chars, at + 1, '`');
                word.text.push(UNKNOWN);
                self.line(&inner(at + 1, end), depth + 1);
                end + 1
            }
            (_, Some('(')) => {
                let end = closing(chars, at + 1, '(', ')');
                word.text.push(UNKNOWN);
                self.line(&inner(at + 2, end), depth + 1);
                end + 1
            }
            (_, Some('{')) => {
                let end = closing(chars, at + 1, '{', '}');
                word.text.push(UNKNOWN);
                // What it is if the variable is not set.
                let text = inner(at + 2, end);
                if let Some((_, default)) = text.split_once(['-', '=', '+']) {
                    self.line(default, depth + 1);
                }
                end + 1
            }
            // A text with escapes: `$'…'`.
            (_, Some('\'')) => {
                let end = find(chars, at + 2, '\'');
                word.text.extend(&chars[at + 2..end]);
                end + 1
            }
            (_, Some(c)) if c.is_alphanumeric() || "_@*#?!$-".contains(*c) => {
                word.text.push(UNKNOWN);
                let mut end = at + 2;
                while (c.is_alphabetic() || *c == '_')
                    && chars.get(end).is_some_and(|c| c.is_alphanumeric() || *c == '_')
                {
                    end += 1;
                }
                end
            }
            _ => {
                word.text.push('$');
                at + 1
            }
        }
    }
}

/// Where `wanted` is next; the end where it is not.
fn find(chars: &[char], from: usize, wanted: char) -> usize {
    (from..chars.len()).find(|at| chars[*at] == wanted).unwrap_or(chars.len())
}

/// Where the bracket at `from` closes; the end where it does not.
fn closing(chars: &[char], from: usize, open: char, close: char) -> usize {
    let (mut level, mut at) = (0_usize, from);
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            '\'' => at = find(chars, at + 1, '\''),
            c if c == open => level += 1,
            c if c == close => {
                level -= 1;
                if level == 0 {
                    return at;
                }
            }
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// Programs that look at files, or work on them without running them.
const LOOKS: &[&str] = &[
    "test",
    "[",
    "[[",
    "ls",
    "stat",
    "wc",
    "cat",
    "head",
    "tail",
    "tac",
    "nl",
    "sort",
    "uniq",
    "cut",
    "tr",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "sed",
    "awk",
    "jq",
    "yq",
    "echo",
    "read",
    "true",
    "false",
    "printf",
    "cd",
    "pushd",
    "mkdir",
    "touch",
    "rm",
    "git",
    "file",
    "du",
    "sha256sum",
    "shasum",
    "md5sum",
    "tee",
    "column",
    "shellcheck",
    "rustfmt",
];

/// Words before the name of a program.
const BEFORE: &[&str] = &[
    "!", "if", "then", "elif", "else", "while", "until", "do", "{", "time", "env", "command", "exec", "nohup",
    "builtin",
];

/// The program that a command runs, as it is written.
fn program(command: &Command) -> Option<&str> {
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    let mut words = command.words.iter().map(|word| word.text.as_str());
    words.find(|word| !is_assignment(word) && !BEFORE.contains(word))
}

/// The program that a command runs, without its folder.
pub(super) fn head(command: &Command) -> Option<&str> {
    program(command).map(|program| program.rsplit('/').next().unwrap_or(program))
}

/// Whether a command only looks at what it names. A program of that name in the tree may do anything.
pub(super) fn looks(command: &Command) -> bool {
    let Some(program) = program(command) else { return false };
    let name = program.strip_prefix("/usr/bin/").or_else(|| program.strip_prefix("/bin/")).unwrap_or(program);
    let runs = |word: &Word| matches!(word.text.as_str(), "-c" | "bisect" | "submodule" | "hook" | "rebase" | "config");
    LOOKS.contains(&name) && !(name == "git" && command.words.iter().any(runs))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(line: &str) -> String {
        let show = |command: &Command| {
            let words: Vec<_> = command.words.iter().map(|word| word.text.replace(UNKNOWN, "…")).collect();
            format!("{}{}", words.join(" "), if command.piped { " |" } else { "" })
        };
        commands(line).iter().map(show).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn lines() {
        for (line, expected) in [
            ("bash x.sh", "bash x.sh"),
            ("a&&b;c||d", "a; b; c; d"),
            ("a 'b c' \"d\" e\\ f", "b c; e f; a b c d e f"),
            ("sh -c './check.sh && x'", "./check.sh; x; sh -c ./check.sh && x"),
            ("bash -c \"sh -c 'a b'\"", "a b; sh -c a b; bash -c sh -c 'a b'"),
            ("X=1 a | b", "X=1 a |; b"),
            ("a 2>&1 | tee log", "a |; tee log"),
            ("a > out.txt < in.txt", "a in.txt"),
            ("a &> out", "a"),
            ("(cd web && ./c)", "cd web; ./c"),
            ("test \"$(sh greet.sh | tail -1)\" = 'Hi there'", "sh greet.sh |; tail -1; test … = Hi there"),
            ("`a b` c", "a b; … c"),
            ("$ROOT/check.sh ${X:-d/e.sh}", "d/e.sh; …/check.sh …"),
            ("a # b", "a"),
            ("a \\\n b", "a b"),
            ("if x; then y; fi", "if x; then y; fi"),
            ("diff <(sh a.sh) b", "sh a.sh; diff … b"),
            ("{ cat a; } | sh", "{ cat a; } |; sh"),
            ("'unfinished", "unfinished"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_taken_apart(line in "([a-z/.'\"`$(){}|&;<>#= \\n\\\\*-]|\\PC){0,120}") {
            let _ = commands(&line);
        }

        /// However it is quoted, a plain word is found.
        #[test]
        fn a_word_is_found_in_any_quotes(word in "[a-z]{1,8}/[a-z]{1,8}\\.sh", around in "[a-z &;|]{0,12}") {
            for line in [
                format!("{around} {word}"),
                format!("{around} '{word}'"),
                format!("{around};\"{word}\""),
                format!("sh -c \"{around} && {word}\""),
                format!("x=$({around} ; {word})"),
                format!("({word}) {around}"),
            ] {
                let all = commands(&line);
                let found = all.iter().flat_map(|command| &command.words).any(|found| found.text == word);
                prop_assert!(found, "{}", line);
            }
        }
    }
}
