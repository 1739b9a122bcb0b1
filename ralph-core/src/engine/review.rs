//! The effects between the second pass and the branch: a session that tidies the work, and a reviewer.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    bounds::bounded,
    effects::{Call, Done, REVIEW, Seams, WORK, seal, unchanged},
    folders::{Standing, end_of},
};
use crate::{
    agent::{AgentBackend, AgentError, Brief, SessionEnd},
    budget::{Spent, Usage, Usd},
    error::{BoxError, chain},
    id::Revision,
    machine::{Attempt, CarriedOver, Effect, End, Fact, Refusal, VerifyOutcome},
    opinion::Opinion,
    plan::{Item, Phase},
    prompt::{Prompt, PromptInput},
    review::{Candidate, Review},
    vcs::{Caches, DiffStat, Seal},
};

/// What a clean-up came to.
struct Tidied {
    end: End,
    usage: Usage,
    /// What stands there now; else why nothing does.
    work: Result<CarriedOver, String>,
}

impl Tidied {
    fn nothing(end: End, usage: Usage, why: impl Into<String>) -> Self {
        Self { end, usage, work: Err(why.into()) }
    }
}

impl Seams {
    pub(super) async fn tidy(
        &self,
        attempt: &Attempt,
        revision: &Revision,
        (reserve, cost_limit): (Spent, Option<Usd>),
        call: &Call<'_>,
    ) -> Done {
        let from = self.clock.monotonic();
        let agent = self.cleanup.as_ref().map_or_else(String::new, |agent| agent.name().to_owned());
        let tidied = match &self.cleanup {
            Some(_) if call.cx.redelivered() => {
                Tidied::nothing(End::Interrupted, Usage::unknown(), "it was interrupted")
            }
            Some(agent) => self.tidy_by(&**agent, attempt, revision, cost_limit, call).await?,
            None => Tidied::nothing(End::NoAgent(String::new()), Usage::unknown(), "nobody is there to do it"),
        };
        let (work, why) = match tidied.work {
            Ok(work) => (Some(work), String::new()),
            Err(why) => (None, bounded(&why)),
        };
        let (end, usage, took_ms) = (tidied.end, tidied.usage, self.since(from));
        Ok(Fact::Tidied { end, work, why, agent, usage, reserve, took_ms })
    }

    async fn tidy_by(
        &self,
        agent: &dyn AgentBackend,
        attempt: &Attempt,
        revision: &Revision,
        cost_limit: Option<Usd>,
        call: &Call<'_>,
    ) -> Result<Tidied, BoxError> {
        let nothing = |why: &str| Ok(Tidied::nothing(End::NoAgent(String::new()), Usage::unknown(), why));
        let (phase, item) = self.item(attempt, &call.cx).await?;
        // The work by itself, without what the verifiers left.
        let folder = match self.stand(WORK, revision, Caches::Keep, &phase, Some(attempt), call).await? {
            Standing::Ready(folder) => folder,
            Standing::Unready(why) | Standing::Unplaceable(why) => return nothing(&why),
        };
        let changes = self.vcs.changes(&attempt.base, revision, &call.cx).await?;
        let mine: BTreeSet<Vec<u8>> = changes.into_iter().map(|change| change.path).collect();
        let files: Vec<String> = mine.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        let mut input = PromptInput::new(&phase, &item);
        input.files = &files;
        let prompt = Prompt::cleanup().render(&input);
        self.artifacts.write(attempt, "cleanup-prompt", "md", &prompt)?;

        let mut brief = Brief::new(folder, prompt, call.run.clone(), attempt.id.clone());
        brief.log = self.artifacts.path(attempt, "cleanup", "log")?;
        brief.time_limit = Some(self.session_limit);
        brief.cost_limit = cost_limit;
        brief.vars.push(("RALPH_ROLE".to_owned(), "cleanup".to_owned()));
        let cx = call.cx.clone().with_time_limit(self.session_limit, self.clock.now());
        let report = match agent.run(&brief, &cx).await {
            Ok(report) => report,
            Err(error) => return nothing(&chain(&error)),
        };
        let (end, usage) = (self.end(report.end, 0), report.usage);
        let why = match &end {
            End::Finished => None,
            End::Failed(why) | End::Limit(why) | End::Unusable(why) | End::NoAgent(why) => Some(why.clone()),
            End::Unavailable { trouble, detail, .. } => Some(format!("{trouble}: {detail}")),
            End::Cancelled | End::Interrupted => Some("it was interrupted".to_owned()),
        };
        if let Some(why) = why {
            return Ok(Tidied::nothing(end, usage, why));
        }
        let seal = Seal { cleanup: true, ..seal(attempt, call) };
        let snapshot = self.vcs.snapshot(WORK, &attempt.base, &seal, &call.cx).await?;
        let work = match (snapshot.revision, snapshot.findings.first()) {
            (_, Some(finding)) => Err(format!("it leaves what cannot be committed: {finding}")),
            (None, None) => Err("it took the whole work back".to_owned()),
            (Some(tidy), None) => {
                let touched = self.vcs.changes(revision, &tidy, &call.cx).await?;
                match touched.iter().find(|change| !mine.contains(&change.path)) {
                    _ if touched.is_empty() => Err("there was nothing to tidy".to_owned()),
                    Some(other) => {
                        let other = String::from_utf8_lossy(&other.path);
                        Err(format!("it touched {other}, which is no file of the change"))
                    }
                    None => Ok(CarriedOver { revision: tidy, tree: snapshot.tree, stat: snapshot.stat }),
                }
            }
        };
        Ok(Tidied { end, usage, work })
    }

    pub(super) async fn review(&self, effect: &Effect, call: &Call<'_>) -> Done {
        let Effect::Review { attempt, revision, stat, reserve, cost_limit, outages } = effect else {
            return Err("this is no review".into());
        };
        let from = self.clock.monotonic();
        let review = if call.cx.redelivered() {
            None
        } else {
            let row = self.item(attempt, &call.cx).await?;
            if !unchanged(&row.1, &attempt.spec) {
                return Ok(Fact::NotAccepted { why: Refusal::ItemChanged });
            }
            Some(self.review_by(attempt, revision, row, (*stat, *cost_limit), call).await?)
        };
        let by = self.reviewer.as_ref().map_or_else(String::new, |reviewer| reviewer.name().to_owned());
        let (end, outcome, usage, opinion, why) = match review {
            None => (End::Interrupted, VerifyOutcome::Broken, Usage::unknown(), None, "it was interrupted".to_owned()),
            Some(Err(why)) => (End::NoAgent(why.clone()), VerifyOutcome::Broken, Usage::unknown(), None, why),
            Some(Ok((review, unclear))) => {
                let end = self.end(review.end, *outages);
                let opinion = review.opinion.filter(|_| end == End::Finished && unclear.is_none());
                let outcome = match &opinion {
                    None => VerifyOutcome::Broken,
                    Some(opinion) if opinion.vetoes() => VerifyOutcome::Fail,
                    Some(_) => VerifyOutcome::Pass,
                };
                (end, outcome, review.usage, opinion, unclear.unwrap_or_default())
            }
        };
        let summary = match (&opinion, outcome) {
            (Some(opinion), VerifyOutcome::Fail) => format!("{by} rejects it: {}", reasons(opinion)),
            (Some(opinion), _) => match opinion.remarks.len() {
                1 => format!("{by} approves, with evidence for 1 criterion"),
                several => format!("{by} approves, with evidence for {several} criteria"),
            },
            (None, _) => format!("{by} came to no opinion: {why}"),
        };
        Ok(Fact::Reviewed {
            revision: revision.clone(),
            row: attempt.spec.digest.clone(),
            by,
            end,
            outcome,
            summary: bounded(&summary),
            tail: opinion.filter(Opinion::vetoes).map(|opinion| end_of(&opinion.to_string())).unwrap_or_default(),
            usage,
            reserve: *reserve,
            took_ms: self.since(from),
        })
    }

    /// The review, with why it is no whole judgement, if it is none; or why none took place.
    async fn review_by(
        &self,
        attempt: &Attempt,
        revision: &Revision,
        (phase, item): (Arc<Phase>, Arc<Item>),
        (stat, cost_limit): (DiffStat, Option<Usd>),
        call: &Call<'_>,
    ) -> Result<Result<(Review, Option<String>), String>, BoxError> {
        let Some(reviewer) = &self.reviewer else {
            return Ok(Err("a review is due, and there is no reviewer".to_owned()));
        };
        let folder = match self.stand(REVIEW, revision, Caches::Keep, &phase, Some(attempt), call).await? {
            Standing::Ready(folder) => folder,
            Standing::Unready(why) | Standing::Unplaceable(why) => return Ok(Err(why)),
        };
        let candidate = Candidate {
            folder,
            run: call.run.clone(),
            phase,
            item,
            attempt: attempt.id.clone(),
            revision: revision.clone(),
            tree: self.vcs.tree(revision, &call.cx).await?,
            base_tree: self.vcs.tree(&attempt.base, &call.cx).await?,
            changes: self.vcs.changes(&attempt.base, revision, &call.cx).await?.into(),
            stat,
            time_limit: Some(self.session_limit),
            cost_limit,
            log: self.artifacts.path(attempt, "review", "log")?,
        };
        let cx = call.cx.clone().with_time_limit(self.session_limit, self.clock.now());
        let review = match reviewer.review(&candidate, &cx).await {
            Ok(review) => review,
            Err(error @ AgentError::Other(_)) => return Err(error.into()),
            Err(error) => return Ok(Err(chain(&error))),
        };
        if let Some(opinion) = &review.opinion {
            let json = serde_json::to_string_pretty(opinion)?;
            self.artifacts.write(attempt, "review", "json", &json)?;
        }
        let unclear = match (&review.end, &review.opinion) {
            (SessionEnd::Finished, Some(opinion)) => opinion.incomplete(&candidate.criteria()),
            (SessionEnd::Failed(why) | SessionEnd::Limit(why), _) => Some(why.clone()),
            (_, _) => Some(review.why.clone()),
        };
        Ok(Ok((review, unclear)))
    }
}

/// The first reason, and how many there are besides.
fn reasons(opinion: &Opinion) -> String {
    let said = opinion.to_string();
    let mut lines = said.lines().map(|line| line.trim_start_matches("- "));
    let first = lines.next().unwrap_or_default().to_owned();
    match lines.count() {
        0 => first,
        more => format!("{first} (and {more} more)"),
    }
}
