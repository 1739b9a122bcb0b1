//! The names of what a justfile or Makefile can run.

/// The recipes of a justfile that need no argument.
pub(super) fn of_justfile(text: &str) -> Vec<&str> {
    heads(text)
        .filter_map(|line| {
            let (head, rest) = line.split_once(':')?;
            let mut words = head.split_whitespace();
            let name = words.next()?.trim_start_matches('@');
            let needs_nothing = words.all(|parameter| parameter.contains('=') || parameter.starts_with('*'));
            (!rest.starts_with('=') && needs_nothing).then_some(name)
        })
        .collect()
}

/// The targets of a Makefile.
pub(super) fn of_makefile(text: &str) -> Vec<&str> {
    let targets = heads(text).filter_map(|line| {
        let (head, rest) = line.split_once(':')?;
        // `A := b`, `A ::= b` are no rules; what sets a variable for a target names the target in its own rule as well.
        let is_rule = !rest.trim_start_matches(':').starts_with('=') && !head.contains('=');
        is_rule.then(|| head.split_whitespace())
    });
    targets.flatten().collect()
}

/// Lines that stand at the margin and say something.
fn heads(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_that_need_no_argument() {
        let text = "set shell := [\"bash\"]\nversion := \"1\"\n[private]\n@test *args:\n  cargo test\ncheck: test\n  x\n\
                    deploy target:\n  y\nbuild mode='debug': check\n  test2:\n# lint:\n";
        assert_eq!(of_justfile(text), ["test", "check", "build"]);
    }

    #[test]
    fn targets() {
        let text = "CC := gcc\nX ::= y\nURL = http://x\n.PHONY: all test\nall check: build\n\techo test3:\n# test4:\n\
                    test:: a\nifeq (a,b)\n";
        assert_eq!(of_makefile(text), [".PHONY", "all", "check", "test"]);
    }
}
