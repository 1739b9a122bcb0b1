use proptest::prelude::*;

use super::*;

fn texts(source: &str, language: Language) -> Result<Vec<String>, String> {
    let text = |token| match token {
        Token::Text { value, .. } => Some(value),
        Token::Word(_) | Token::Mark(_) | Token::Line => None,
    };
    Ok(read(source, language)?.into_iter().filter_map(text).collect())
}

#[test]
fn texts_and_comments() {
    use Language::{Groovy, Kotlin, Ruby};
    for (language, source, expected) in [
        (Ruby, "gem 'a' # 'b'", &["a"][..]),
        (Ruby, "=begin\n'a'\n=end\n'b'", &["b"]),
        (Ruby, "'a'\n__END__\n'b'", &["a"]),
        (Ruby, "%w[a b] + ['c']", &["a b", "c"]),
        (Ruby, "%q(a (b) c) + 'd'", &["a (b) c", "d"]),
        (Ruby, "x = /it's/\ngem 'a'", &["it's", "a"]),
        (Ruby, "\"a#{b('c')}d\"", &["c", "a#{d"]),
        (Ruby, "x = <<~END\n  'a'\nEND\n'b'", &["", "b"]),
        (Ruby, "class << self; 'a'; end", &["a"]),
        (Ruby, "'it\\'s'", &["it's"]),
        (Groovy, "// 'a'\n/* 'b' */ 'c'", &["c"]),
        (Groovy, "'''a'b''' + \"\"\"c\"d\"\"\"", &["a'b", "c\"d"]),
        (Groovy, "/* /* */ 'a' // */", &["a"]),
        (Kotlin, "/* /* */ 'a' */ 'b'", &["b"]),
        (Kotlin, "'\"' + \"a\"", &["\"", "a"]),
        (Kotlin, "\"${\"a\"}b\"", &["a", "${b"]),
        (Kotlin, "a / b / c; \"d\"", &["d"]),
    ] {
        assert_eq!(texts(source, language).unwrap(), expected, "{source}");
    }
}

#[test]
fn what_only_context_tells_is_an_error() {
    use Language::{Groovy, Kotlin, Ruby};
    for (language, source) in [
        (Ruby, "x /'/; gem 'evil'; y = /'/"),
        (Ruby, "x ?'; gem \"evil\"; y=?'"),
        (Ruby, "x %w'; gem 'evil'"),
        (Ruby, "'a"),
        (Ruby, "=begin\n"),
        (Ruby, "a = <<X\n#{gem 'evil'}\nX\n"),
        (Groovy, "$/ 'a' /$"),
        (Groovy, "'a\n'"),
        (Kotlin, "/* /* */"),
        (Kotlin, "\"${"),
    ] {
        assert!(texts(source, language).is_err(), "{source}");
    }
    let deep = "\"#{".repeat(1000);
    assert!(texts(&deep, Ruby).unwrap_err().contains("too deep"));
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(source in "([a-z'\"`#/*%<>{}()\\[\\]$?=\\\\~ \\n]|\\PC){0,200}") {
        for language in [Language::Ruby, Language::Groovy, Language::Kotlin] {
            let _ = read(&source, language);
        }
    }
}
