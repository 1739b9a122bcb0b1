//! A small reader of words, texts and marks in Ruby, Groovy and Kotlin: enough to know what is code and what is a comment
//! or a text. Where these languages leave that to context it does not guess: that is an error.

/// Which language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Ruby,
    Groovy,
    Kotlin,
}

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, a keyword or a number.
    Word(String),
    /// A text. `open`: code in it decides what it comes to.
    Text { value: String, open: bool },
    /// Any other character.
    Mark(char),
    /// The end of a line.
    Line,
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Text { .. } | Self::Mark(_) | Self::Line => None,
        }
    }

    pub(super) fn is(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }
}

/// How deep code in texts in code may be.
const DEPTH: usize = 20;

/// Reads a whole file.
pub(super) fn read(source: &str, language: Language) -> Result<Vec<Token>, String> {
    let mut reader =
        Reader { chars: source.chars().collect(), at: 0, language, tokens: Vec::new(), heredocs: Vec::new(), depth: 0 };
    match reader.code(None) {
        Ok(()) => Ok(reader.tokens),
        Err(why) => {
            let read = &reader.chars[..reader.at.min(reader.chars.len())];
            Err(format!("line {}: {why}", read.iter().filter(|c| **c == '\n').count() + 1))
        }
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    language: Language,
    tokens: Vec<Token>,
    /// Ends of texts that begin on the next line.
    heredocs: Vec<String>,
    depth: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, c)| self.peek(index) == Some(c))
    }

    /// Whether what comes begins a line.
    fn fresh(&self) -> bool {
        self.at == 0 || self.chars.get(self.at - 1) == Some(&'\n')
    }

    /// The rest of the line.
    fn rest(&self) -> &[char] {
        let rest = &self.chars[self.at..];
        &rest[..rest.iter().position(|c| *c == '\n').unwrap_or(rest.len())]
    }

    fn skip_line(&mut self) {
        self.at += self.rest().len();
    }

    /// Whether what stands before is a value, so that an operator may follow.
    fn after_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Word(_) | Token::Text { .. }) => true,
            Some(Token::Mark(mark)) => matches!(mark, ')' | ']' | '}'),
            Some(Token::Line) | None => false,
        }
    }

    /// Reads up to the end, or behind the bracket that closes code in a text.
    fn code(&mut self, until: Option<char>) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("code in texts in code, too deep to follow".to_owned());
        }
        let mut open = 0_usize;
        while let Some(c) = self.peek(0) {
            if self.comment()? || self.text()? {
                continue;
            }
            self.at += 1;
            match c {
                '\n' => {
                    self.tokens.push(Token::Line);
                    self.bodies()?;
                }
                c if c.is_whitespace() => {}
                c if c.is_alphanumeric() || c == '_' => {
                    let mut word = String::from(c);
                    while let Some(next) = self.peek(0).filter(|next| next.is_alphanumeric() || *next == '_') {
                        word.push(next);
                        self.at += 1;
                    }
                    self.tokens.push(Token::Word(word));
                }
                c => {
                    match until {
                        Some('}') if c == '{' => open += 1,
                        Some(end) if c == end && open == 0 => {
                            self.depth -= 1;
                            return Ok(());
                        }
                        Some(end) if c == end => open -= 1,
                        Some(_) | None => {}
                    }
                    self.tokens.push(Token::Mark(c));
                }
            }
        }
        self.depth -= 1;
        if until.is_some() { Err("code in a text does not end".to_owned()) } else { Ok(()) }
    }

    /// Passes a comment; whether there was one. `__END__` ends the file.
    fn comment(&mut self) -> Result<bool, String> {
        match self.language {
            Language::Ruby => {
                if self.fresh() && self.rest() == ['_', '_', 'E', 'N', 'D', '_', '_'] {
                    self.at = self.chars.len();
                } else if self.fresh() && self.starts("=begin") {
                    while !(self.fresh() && self.starts("=end")) {
                        if self.at >= self.chars.len() {
                            return Err("a comment does not end".to_owned());
                        }
                        self.at += 1;
                    }
                    self.skip_line();
                } else if self.peek(0) == Some('#') {
                    self.skip_line();
                } else {
                    return Ok(false);
                }
            }
            Language::Groovy | Language::Kotlin => {
                if self.starts("//") || (self.at == 0 && self.starts("#!")) {
                    self.skip_line();
                } else if self.starts("/*") {
                    self.block_comment()?;
                } else {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn block_comment(&mut self) -> Result<(), String> {
        let mut level = 0_usize;
        loop {
            if self.starts("/*") && (level == 0 || self.language == Language::Kotlin) {
                level += 1;
                self.at += 2;
            } else if self.starts("*/") {
                level -= 1;
                self.at += 2;
                if level == 0 {
                    return Ok(());
                }
            } else if self.at >= self.chars.len() {
                return Err("a comment does not end".to_owned());
            } else {
                self.at += 1;
            }
        }
    }

    /// Reads a text; whether there was one.
    fn text(&mut self) -> Result<bool, String> {
        let Some(c) = self.peek(0) else { return Ok(false) };
        let ruby = self.language == Language::Ruby;
        match c {
            '"' | '\'' if !ruby && self.starts(&c.to_string().repeat(3)) => {
                self.at += 3;
                let raw = c == '\'' || self.language == Language::Kotlin;
                self.until(&c.to_string().repeat(3), None, c == '"', raw)?;
            }
            '"' | '\'' => {
                self.at += 1;
                self.until(&c.to_string(), None, c == '"', false)?;
            }
            // Ruby: a command. Kotlin: a name.
            '`' => {
                self.at += 1;
                self.until("`", None, ruby, false)?;
            }
            '/' if self.language != Language::Kotlin => return self.slash(),
            '?' if ruby && matches!(self.peek(1), Some('"' | '\'' | '`' | '#' | '/')) => {
                return Err("a `?` before a quote: a character or a question".to_owned());
            }
            '%' if ruby => return self.percent(),
            '<' if ruby && self.starts("<<") => return self.heredoc(),
            '$' if self.language == Language::Groovy && self.starts("$/") => {
                return Err("a text of the kind `$/…/$`".to_owned());
            }
            '$' if ruby && matches!(self.peek(1), Some('"' | '\'' | '`' | '/')) => self.at += 2,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A regular expression, or a division.
    fn slash(&mut self) -> Result<bool, String> {
        if self.after_value() {
            let doubtful = self.rest().iter().skip(1).any(|c| matches!(c, '"' | '\'' | '`' | '#' | '/'));
            let why = "a `/` that may be a division or the begin of a text";
            return if doubtful { Err(why.to_owned()) } else { Ok(false) };
        }
        self.at += 1;
        self.until("/", None, true, false)?;
        Ok(true)
    }

    /// `%w[…]` and its kin, or a remainder.
    fn percent(&mut self) -> Result<bool, String> {
        let letter = self.peek(1).filter(|c| "wWiIqQrsx".contains(*c));
        let skip = 1 + usize::from(letter.is_some());
        let Some(begin) = self.peek(skip).filter(|c| c.is_ascii_punctuation()) else { return Ok(false) };
        if self.after_value() {
            let why = "a `%` that may be a remainder or the begin of a text";
            let doubtful = self.rest().iter().any(|c| matches!(c, '"' | '\'' | '`' | '#')) || letter.is_some();
            return if doubtful { Err(why.to_owned()) } else { Ok(false) };
        }
        let (end, nests) = match begin {
            '(' => (')', true),
            '[' => (']', true),
            '{' => ('}', true),
            '<' => ('>', true),
            other => (other, false),
        };
        self.at += skip + 1;
        let codes = !matches!(letter, Some('w' | 'i' | 'q' | 's'));
        self.until(&end.to_string(), nests.then_some(begin), codes, false)?;
        // Words of a list are no single text.
        if matches!(letter, Some('w' | 'W' | 'i' | 'I'))
            && let Some(Token::Text { open, .. }) = self.tokens.last_mut()
        {
            *open = true;
        }
        Ok(true)
    }

    /// The begin of a text that stands on the next lines, or `<<`.
    fn heredoc(&mut self) -> Result<bool, String> {
        let mut ahead = 2;
        let marked = matches!(self.peek(ahead), Some('~' | '-'));
        ahead += usize::from(marked);
        let quote = self.peek(ahead).filter(|c| matches!(c, '"' | '\'' | '`'));
        ahead += usize::from(quote.is_some());
        let mut name = String::new();
        while let Some(c) = self.peek(ahead).filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            ahead += 1;
        }
        if name.is_empty() {
            return Ok(false);
        }
        if self.after_value() && !marked && quote.is_none() && !name.starts_with(|c: char| c.is_uppercase()) {
            return Ok(false);
        }
        if quote.is_some() && self.peek(ahead) != quote {
            return Err("the name of a text's end does not end".to_owned());
        }
        self.at += ahead + usize::from(quote.is_some());
        self.heredocs.push(name);
        self.tokens.push(Token::Text { value: String::new(), open: true });
        Ok(true)
    }

    /// Passes the texts that were begun on the line before. Code in them is not followed: it is an error.
    fn bodies(&mut self) -> Result<(), String> {
        for name in std::mem::take(&mut self.heredocs) {
            loop {
                if self.at >= self.chars.len() {
                    return Err(format!("the text up to `{name}` does not end"));
                }
                let line: String = self.rest().iter().collect();
                if line.contains("#{") {
                    return Err("code in a text of several lines".to_owned());
                }
                self.skip_line();
                self.at += 1;
                if line.trim() == name {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads a text up to `end`. `nests`: the bracket that opens another level; `codes`: code may be in it; `raw`: a
    /// backslash is a character like any other.
    fn until(&mut self, end: &str, nests: Option<char>, codes: bool, raw: bool) -> Result<(), String> {
        let (mut value, mut open, mut level) = (String::new(), false, 0_usize);
        let mut inner = Vec::new();
        loop {
            let Some(c) = self.peek(0) else { return Err("a text does not end".to_owned()) };
            if level == 0 && self.starts(end) {
                self.at += end.chars().count();
                // `""""` ends in a quote that belongs to the text.
                while end.len() == 3 && self.peek(0) == end.chars().next() {
                    self.at += 1;
                }
                break;
            }
            let brace = match self.language {
                Language::Ruby => "#{",
                Language::Groovy | Language::Kotlin => "${",
            };
            if c == '\\' && !raw {
                value.extend(self.escaped());
            } else if codes && self.starts(brace) {
                open = true;
                self.at += 2;
                value.push_str(brace);
                // What is in there is code too, and comes before the text.
                let outer = std::mem::take(&mut self.tokens);
                self.code(Some('}'))?;
                inner.extend(std::mem::replace(&mut self.tokens, outer));
            } else {
                if codes && self.language != Language::Ruby && c == '$' {
                    open |= self.peek(1).is_some_and(|next| next.is_alphabetic() || next == '_');
                }
                if c == '\n' && end.len() == 1 && self.language != Language::Ruby {
                    return Err("a text does not end on its line".to_owned());
                }
                level += usize::from(nests == Some(c));
                level -= usize::from(level > 0 && nests.is_some() && end.starts_with(c));
                value.push(c);
                self.at += 1;
            }
        }
        match self.language {
            // A call in there is a call, and ends there.
            Language::Ruby if !inner.is_empty() => {
                self.tokens.extend(inner);
                self.tokens.push(Token::Line);
            }
            Language::Ruby => {}
            // Names in there are parts of a text; texts may be coordinates.
            Language::Groovy | Language::Kotlin => {
                self.tokens.extend(inner.into_iter().filter(|token| matches!(token, Token::Text { .. })));
            }
        }
        self.tokens.push(Token::Text { value, open });
        Ok(())
    }

    /// The character that a backslash and what follows stand for.
    fn escaped(&mut self) -> Option<char> {
        let c = self.peek(1);
        self.at += 2;
        match c {
            // Written by number: what it is does not matter, only that it is not what it looks like.
            Some('u' | 'x' | '0'..='7') => Some('\u{fffd}'),
            Some('\n') => None,
            other => other,
        }
    }
}

#[cfg(test)]
mod tests;
