//! Some of several.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Shared, TAILS_MAX, broken_part, end, line, shares};
use crate::{
    cx::Cx,
    verify::{Evidence, Part, Target, Verdict, Verifier, VerifyError},
};

/// Made by [`quorum`] and [`any`].
#[derive(Clone, Debug)]
pub struct Quorum {
    name: String,
    needed: usize,
    verifiers: Vec<Arc<dyn Verifier>>,
}

/// Passes where at least `needed` of them pass; 0 counts as 1. It ends as soon as that is settled: enough passed, or so
/// many failed that the rest is too few. What is broken counts neither way; where it matters, the whole is broken. So is a
/// quorum that can never be had.
///
/// ```
/// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, combine::quorum, verifier};
/// use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let target = Target::new("/", Stage::Base, RunId::new("run"), Phase::new("P1", []).into());
/// let says = |passed| Arc::new(verifier("a judge", move |_| Ok(passed))) as Arc<dyn Verifier>;
/// let broken = Arc::new(verifier("gone", |_| Err("it is not there".into()))) as Arc<dyn Verifier>;
/// let two_of = |judges: [Arc<dyn Verifier>; 3]| quorum(2, judges);
/// assert!(two_of([says(true), broken.clone(), says(true)]).verify(&target, &Cx::new()).await.unwrap().passed());
/// assert!(!two_of([says(false), broken.clone(), says(false)]).verify(&target, &Cx::new()).await.unwrap().passed());
/// assert!(two_of([says(true), broken, says(false)]).verify(&target, &Cx::new()).await.is_err());
/// # });
/// ```
pub fn quorum(needed: usize, of: impl IntoIterator<Item = Arc<dyn Verifier>>) -> Quorum {
    let verifiers: Vec<_> = of.into_iter().collect();
    let needed = needed.max(1);
    let names: Vec<&str> = verifiers.iter().map(|verifier| verifier.name()).collect();
    Quorum { name: format!("{needed} of {}", names.join(", ")), needed, verifiers }
}

/// Passes where one of them passes; the first that does ends it. It fails where all fail. Otherwise one of them is broken,
/// and so is the whole: a part that could not judge might have passed.
///
/// ```
/// use ralph_core::{Cx, Phase, RunId, Stage, Target, Verifier, combine::any, verifier};
/// use std::sync::Arc;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let target = Target::new("/", Stage::Base, RunId::new("run"), Phase::new("P1", []).into());
/// let no = Arc::new(verifier("a", |_| Ok(false))) as Arc<dyn Verifier>;
/// let yes = Arc::new(verifier("b", |_| Ok(true))) as Arc<dyn Verifier>;
/// assert!(any([no.clone(), yes]).verify(&target, &Cx::new()).await.unwrap().passed());
/// let verdict = any([no.clone(), no]).verify(&target, &Cx::new()).await.unwrap();
/// assert_eq!(verdict.evidence().summary, "0 of 2 pass, 1 needed: a: no; a: no");
/// # });
/// ```
pub fn any(verifiers: impl IntoIterator<Item = Arc<dyn Verifier>>) -> Quorum {
    quorum(1, verifiers)
}

/// What has been said so far.
#[derive(Default)]
struct Said {
    passes: usize,
    parts: Vec<Part>,
    failures: Vec<(String, Evidence)>,
    /// Which was broken first, and how.
    trouble: Option<(String, VerifyError)>,
}

#[async_trait]
impl Verifier for Quorum {
    fn name(&self) -> &str {
        &self.name
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let (all, shared, mut said) = (self.verifiers.len(), Shared::new(cx), Said::default());
        if self.needed > all {
            return Err(VerifyError::broken(format!("{} of {all} verifiers cannot pass", self.needed)));
        }
        for verifier in &self.verifiers {
            let name = verifier.name();
            let result = match shared.next() {
                Ok(cx) => verifier.verify(target, &cx).await,
                Err(error) => Err(error),
            };
            match result {
                Ok(Verdict::Pass(evidence)) => {
                    said.passes += 1;
                    said.parts.extend(shares(name, true, &evidence));
                    if said.passes == self.needed {
                        return Ok(Verdict::Pass(self.passed(evidence, said)));
                    }
                }
                Ok(Verdict::Fail(evidence)) => {
                    said.parts.extend(shares(name, false, &evidence));
                    said.failures.push((name.to_owned(), evidence));
                    if said.failures.len() > all - self.needed {
                        return Ok(Verdict::Fail(self.failed(said)));
                    }
                }
                Err(VerifyError::Cancelled) => return Err(VerifyError::Cancelled),
                Err(error @ (VerifyError::Broken { .. } | VerifyError::Other(_))) => {
                    said.trouble.get_or_insert((name.to_owned(), error));
                }
            }
        }
        Err(match said.trouble {
            Some((name, error)) => broken_part(&name, error, said.parts),
            // Without trouble every one passed or failed, and one of the two is settled above.
            None => VerifyError::broken("it could not be settled"),
        })
    }
}

impl Quorum {
    fn passed(&self, evidence: Evidence, said: Said) -> Evidence {
        let mut summary = match self.needed {
            1 => evidence.summary.clone(),
            needed => format!("{needed} of {} pass", self.verifiers.len()),
        };
        if let Some((name, error)) = &said.trouble {
            summary = line([summary.as_str(), &format!("{name} is broken: {error}")]);
        }
        Evidence { summary, parts: said.parts, ..evidence }
    }

    fn failed(&self, said: Said) -> Evidence {
        let summaries = said.failures.iter().map(|(_, evidence)| evidence.summary.as_str());
        let head = format!("{} of {} pass, {} needed: ", said.passes, self.verifiers.len(), self.needed);
        let mut whole = Evidence::line(head + &line(summaries)).with_parts(said.parts);
        let share = TAILS_MAX / said.failures.len().max(1);
        for (name, evidence) in said.failures {
            if !evidence.tail.is_empty() {
                let head = format!("--- {}\n", end(&name, share / 4));
                let tail = end(&evidence.tail, share.saturating_sub(head.len() + 1));
                whole.tail.extend([head.as_str(), tail, if tail.ends_with('\n') { "" } else { "\n" }]);
            }
            whole.log = evidence.log.or(whole.log);
        }
        whole
    }
}
