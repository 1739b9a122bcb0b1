//! A PRD that is made of one text: a goal, or a prompt that is given again and again.

use super::{literal, read::Prd};
use crate::{id::PhaseId, plan::ItemStatus};

impl Prd {
    /// The text of a PRD with one open item, `G01`: the first line of `text` is its title, the others are its criteria.
    /// `verify` are the commands that judge it, one line each.
    ///
    /// ```
    /// use ralph_core::ledger::Prd;
    /// let text = Prd::single("Make the tests pass\nwithout touching the API", &["cargo test".into()]).unwrap();
    /// assert!(text.contains("- [ ] G01: Make the tests pass\n  - without touching the API\n"));
    /// ```
    ///
    /// # Errors
    /// Says why, where there is no text, or a command that a PRD cannot hold.
    pub fn single(text: &str, verify: &[String]) -> Result<String, String> {
        let mut lines = text.lines().map(literal::one_line).filter(|line| !line.is_empty());
        let title = lines.next().ok_or("there is no text that says what is to be done")?;
        let criteria: Vec<String> = lines.collect();
        let commands: String = verify.iter().map(|command| format!("Verify: {}\n", command.trim())).collect();
        let items: String = criteria.iter().map(|line| format!("  - {}\n", literal::criterion(line))).collect();
        let prd = format!("# Goal\n\n{commands}\n- [ ] G01: {}\n{items}", literal::title(&title));
        // It is written only if it says that and nothing else.
        let phase =
            Self::parse(prd.as_bytes(), "the goal", PhaseId::default()).map_err(|found| found.join("; "))?.phase;
        let given = verify.iter().map(|command| command.trim());
        let Some(item) = phase.items.first().filter(|item| phase.items.len() == 1 && item.status == ItemStatus::Open)
        else {
            return Err("the text cannot be written as an item".to_owned());
        };
        if item.criteria.len() != criteria.len() || !item.verify.is_empty() {
            return Err("the text cannot be written as an item; put it on one line".to_owned());
        }
        if !phase.verify.iter().map(String::as_str).eq(given) {
            return Err("a command to verify by is one line, and not empty".to_owned());
        }
        Ok(prd)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_be_held_is_refused() {
        for (text, verify) in [("", "true"), (" \n ", "true"), ("a", ""), ("a", "a\nb"), ("a", "-")] {
            assert!(Prd::single(text, &[verify.to_owned()]).is_err(), "{text:?} {verify:?}");
        }
        assert!(Prd::single("a", &[]).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_one_item(
            text in "(\\PC|[-*#>`~\\[\\]:|x0-9.<!\n ]|Verify: |Tier: high){0,80}",
            command in "[a-z`*_. &|-]{0,20}",
        ) {
            if let Ok(prd) = Prd::single(&text, std::slice::from_ref(&command)) {
                let read = Prd::parse(prd.as_bytes(), "x", PhaseId::default()).unwrap().phase;
                prop_assert_eq!(read.items.len(), 1);
                prop_assert_eq!(&read.verify, &[command.trim()]);
                prop_assert_eq!(read.items[0].tier, None);
            }
        }
    }
}
