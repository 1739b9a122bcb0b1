//! Gemfile, gems.rb and *.gemspec: Ruby code, of which calls with names that are written out can be read.

use super::{
    Manifest, Place,
    code::{self, Language, Token},
    place::origin,
};

/// Calls that name a gem.
const CALLS: &[&str] = &["gem", "plugin", "add_dependency", "add_runtime_dependency", "add_development_dependency"];

/// Calls of whatever they are given, or other names for calls.
const INDIRECT: &[&str] =
    &["eval", "instance_eval", "class_eval", "send", "public_send", "__send__", "method", "define_method", "alias"];

/// Options that say where a gem comes from.
const PLACES: &[&str] = &["git", "github", "gitlab", "bitbucket", "gist", "source"];

pub(super) fn parse(source: &str, place: &Place) -> Result<Manifest, String> {
    let tokens = code::read(source, Language::Ruby)?;
    let mut found = Manifest::default();
    // Where the gems of a block come from (`git "…" do`), and how many blocks deep it is.
    let mut blocks: Vec<Option<Origin>> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let Some(word) = token.word() else { continue };
        let call = Call { tokens: &tokens, at: index, place };
        if call.is_key() {
            continue;
        }
        match word {
            _ if CALLS.contains(&word) => {
                let outer = blocks.iter().rev().flatten().next();
                call.gem(word, outer, &mut found);
            }
            _ if INDIRECT.contains(&word) => found.computed.push(format!("`{word}`")),
            "eval_gemfile" => match call.first() {
                Some((path, false)) if place.resolve(path).is_some() => found.includes.extend(place.resolve(path)),
                _ => found.computed.push(format!("`{word}`")),
            },
            // `source "…"` on its own concerns all gems, with a block those in it.
            "source" if !call.opens_block() => match call.first() {
                Some((url, false)) => found.need_source("gem source", url),
                _ => found.computed.push(format!("`{word}`")),
            },
            // What a short name of a host stands for.
            "git_source" => match call.text_after() {
                Some(url) => found.need_source("gem source", url),
                None => found.computed.push(format!("`{word}`")),
            },
            "do" | "begin" | "case" | "class" | "module" | "def" => blocks.push(call.block_origin()),
            "if" | "unless" | "while" | "until" if call.begins_statement() => blocks.push(None),
            "end" => {
                blocks.pop();
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Where gems come from: a path inside, or an origin.
#[derive(Clone)]
enum Origin {
    Inside,
    Elsewhere(String),
}

/// A word of the code that may be a call.
struct Call<'a> {
    tokens: &'a [Token],
    at: usize,
    place: &'a Place,
}

impl<'a> Call<'a> {
    /// Whether it is a key (`gem: 1`), a symbol (`:gem` still names the call) or a method's argument of that name.
    fn is_key(&self) -> bool {
        let next = self.tokens.get(self.at + 1);
        let after = self.tokens.get(self.at + 2);
        next.is_some_and(|next| next.is(':')) && !after.is_some_and(|after| after.is(':'))
    }

    fn begins_statement(&self) -> bool {
        self.at == 0 || matches!(self.tokens[self.at - 1], Token::Line | Token::Mark(';'))
    }

    /// What it is given: up to the end of the line, or over lines where a comma or a bracket is open.
    fn arguments(&self) -> &'a [Token] {
        let rest = &self.tokens[self.at + 1..];
        let (mut depth, mut last) = (0_i32, None);
        for (index, token) in rest.iter().enumerate() {
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') => depth -= 1,
                Token::Mark(';') if depth <= 0 => return &rest[..index],
                Token::Line if depth <= 0 && last != Some(&Token::Mark(',')) => return &rest[..index],
                Token::Word(word) if depth <= 0 && (word == "if" || word == "unless" || word == "do") => {
                    return &rest[..index];
                }
                Token::Word(_) | Token::Text { .. } | Token::Mark(_) | Token::Line => {}
            }
            if depth < 0 {
                return &rest[..index];
            }
            if *token != Token::Line {
                last = Some(token);
            }
        }
        rest
    }

    /// The first argument, where it is a text and nothing else; whether code decides what it comes to.
    fn first(&self) -> Option<(&'a str, bool)> {
        let mut arguments = self.arguments().iter().peekable();
        arguments.next_if(|token| token.is('('));
        let Some(Token::Text { value, open }) = arguments.next() else { return None };
        let ends = matches!(arguments.next(), None | Some(Token::Mark(',' | ')' | '}') | Token::Line));
        Some((value, *open || !ends))
    }

    fn gem(&self, word: &str, outer: Option<&Origin>, found: &mut Manifest) {
        let Some((name, false)) = self.first() else {
            found.computed.push(format!("`{word}`"));
            return;
        };
        match self.origin().or_else(|| outer.cloned()) {
            Some(Origin::Inside) => {}
            Some(Origin::Elsewhere(from)) => found.need(key(name), name, Some(from)),
            None => found.need(key(name), name, None),
        }
    }

    /// Where the options of a call say that it comes from.
    fn origin(&self) -> Option<Origin> {
        let arguments = self.arguments();
        arguments.iter().enumerate().find_map(|(index, token)| {
            let option = match token {
                Token::Word(word) => word.as_str(),
                // `"git" => "…"`
                Token::Text { value, .. } => value.as_str(),
                Token::Mark(_) | Token::Line => return None,
            };
            let is_option = option == "path" || PLACES.contains(&option);
            // `git: "…"`, `:git => "…"`, `"git": "…"`.
            let value = arguments[index + 1..].iter().find(|token| !matches!(token, Token::Mark(':' | '=' | '>')))?;
            let keyed = arguments.get(index + 1).is_some_and(|next| next.is(':') || next.is('='));
            (is_option && keyed).then(|| self.named(option, value))
        })
    }

    /// What a place's name and value come to.
    fn named(&self, option: &str, value: &Token) -> Origin {
        let Token::Text { value, open: false } = value else {
            return Origin::Elsewhere("a computed place".to_owned());
        };
        match option {
            "path" => self.place.beyond(value).map_or(Origin::Inside, Origin::Elsewhere),
            "github" => Origin::Elsewhere(origin(&format!("https://github.com/{value}"))),
            "gitlab" => Origin::Elsewhere(origin(&format!("https://gitlab.com/{value}"))),
            "bitbucket" => Origin::Elsewhere(origin(&format!("https://bitbucket.org/{value}"))),
            "gist" => Origin::Elsewhere(origin(&format!("https://gist.github.com/{value}"))),
            _ => Origin::Elsewhere(origin(value)),
        }
    }

    /// The last text of its line.
    fn text_after(&self) -> Option<&'a str> {
        let line = self.tokens[self.at..].iter().take_while(|token| **token != Token::Line);
        line.filter_map(|token| if let Token::Text { value, .. } = token { Some(value.as_str()) } else { None }).last()
    }

    /// Whether a block follows on its line.
    fn opens_block(&self) -> bool {
        let line = self.tokens[self.at..].iter().take_while(|token| **token != Token::Line);
        line.into_iter().any(|token| token.word() == Some("do") || token.is('{'))
    }

    /// For `do`: where the call that it belongs to says that the gems come from.
    fn block_origin(&self) -> Option<Origin> {
        let line = self.tokens[..self.at].iter().rposition(|token| *token == Token::Line).map_or(0, |at| at + 1);
        let at = (line..self.at).find(|at| self.tokens[*at].word().is_some())?;
        let word = self.tokens[at].word()?;
        if word != "path" && !PLACES.contains(&word) {
            return None;
        }
        let head = Call { tokens: self.tokens, at, place: self.place };
        let value = head.arguments().iter().find(|token| matches!(token, Token::Text { .. }))?;
        Some(self.named(word, value))
    }
}

fn key(name: &str) -> String {
    name.to_lowercase()
}
