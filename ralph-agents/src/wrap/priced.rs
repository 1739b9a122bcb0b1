//! Costs by the user's own prices.

use std::sync::Arc;

use ralph_core::{AgentBackend, AgentError, Brief, Capabilities, Cx, SessionReport, Tokens, Usd, async_trait};

/// What tokens cost, in dollars for a million of them.
///
/// ```
/// use ralph_agents::wrap::Prices;
/// use ralph_core::Tokens;
///
/// let usd = |text: &str| text.parse().unwrap();
/// let prices = Prices { input: usd("3"), output: usd("15"), cache_read: usd("0.30"), cache_write: usd("3.75") };
/// let tokens = Tokens { input: 1000, output: 200, cache_read: 50_000, cache_write: 0 };
/// assert_eq!(prices.estimate(tokens).to_string(), "$0.02"); // 0.003 + 0.003 + 0.015
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Read for the first time.
    pub input: Usd,
    /// Produced.
    pub output: Usd,
    /// Read from a cache.
    pub cache_read: Usd,
    /// Written to a cache.
    pub cache_write: Usd,
}

impl Prices {
    /// What `tokens` cost, exact, rounded up to a millionth of a dollar.
    pub fn estimate(&self, tokens: Tokens) -> Usd {
        let parts = [
            (self.input, tokens.input),
            (self.output, tokens.output),
            (self.cache_read, tokens.cache_read),
            (self.cache_write, tokens.cache_write),
        ];
        let product = |(price, count): (Usd, u64)| u128::from(price.micros()) * u128::from(count);
        let sum = parts.into_iter().map(product).fold(0, u128::saturating_add);
        Usd::from_micros(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// Estimates what a session cost ([`Usage::estimate`](ralph_core::Usage::estimate)) where the agent says how many
/// tokens it used and not what they cost. What an agent reports is never touched.
///
/// [`Capabilities::cost`] is true where the inner backend reports its cost *or its tokens*: a budget is then held by an
/// estimate, which is as good as the prices. Tokens that an agent does not count (some leave out those of subagents)
/// are not in it.
///
/// ```
/// use ralph_agents::wrap::{Priced, Prices};
/// use ralph_core::{
///     AgentBackend, AttemptId, Brief, Cost, Cx, ItemRef, RunId,
///     testing::{ScriptedAgent, turn},
/// };
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let folder = tempfile::tempdir().unwrap();
/// let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
/// let brief = Brief::new(folder.path(), "Add a greeting.", RunId::new("run"), attempt);
/// let prices = Prices { output: "15".parse().unwrap(), ..Prices::default() };
/// let agent = Priced::new(ScriptedAgent::new([turn().uses_tokens(2000)]), prices);
/// let usage = agent.run(&brief, &Cx::new()).await.unwrap().usage;
/// assert_eq!(usage.known_cost(), Cost::Estimated("0.03".parse().unwrap()));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Priced {
    inner: Arc<dyn AgentBackend>,
    prices: Prices,
}

impl Priced {
    /// `inner` at these prices.
    pub fn new(inner: impl AgentBackend, prices: Prices) -> Self {
        Self { inner: Arc::new(inner), prices }
    }
}

#[async_trait]
impl AgentBackend for Priced {
    /// That of the inner one.
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        if inner.tokens { inner.with_cost() } else { inner }
    }

    async fn run(&self, brief: &Brief, cx: &Cx) -> Result<SessionReport, AgentError> {
        let mut report = self.inner.run(brief, cx).await?;
        let usage = &mut report.usage;
        if usage.known_cost().amount().is_none() {
            usage.estimate = usage.tokens.map(|tokens| self.prices.estimate(tokens));
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ralph_core::{
        AttemptId, Cost, ItemRef, RunId, agent_fn,
        testing::{ScriptedAgent, Turn, turn},
    };

    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    async fn cost(turn: Turn) -> Cost {
        let attempt = AttemptId { item: ItemRef::new("P1", "R01"), number: 1 };
        let brief = Brief::new(std::env::temp_dir(), "", RunId::new("run"), attempt);
        // What an inner table says stands.
        let inner = Priced::new(ScriptedAgent::new([turn]), Prices { output: usd("10"), ..Prices::default() });
        let agent = Priced::new(inner, Prices { output: usd("99"), ..Prices::default() });
        agent.run(&brief, &Cx::new()).await.unwrap().usage.known_cost()
    }

    #[tokio::test]
    async fn only_what_is_not_reported_is_estimated() {
        assert_eq!(cost(turn().uses_tokens(1000)).await, Cost::Estimated(usd("0.01")));
        assert_eq!(cost(turn().uses_tokens(1000).costs("0.50")).await, Cost::Reported(usd("0.50")));
        assert_eq!(cost(turn()).await, Cost::Unknown);
    }

    #[test]
    fn it_reports_a_cost_where_there_are_tokens() {
        let silent = agent_fn("silent", |_| Ok(String::new()));
        assert!(!Priced::new(silent, Prices::default()).capabilities().cost);
        assert!(Priced::new(ScriptedAgent::new([]), Prices::default()).capabilities().cost);
    }

    #[test]
    fn every_kind_has_its_price_and_the_sum_is_rounded_up_once() {
        let prices = Prices { input: usd("1"), output: usd("10"), cache_read: usd("0.1"), cache_write: usd("1.25") };
        let tokens = Tokens { input: 1_000_000, output: 100_000, cache_read: 10_000_000, cache_write: 800_000 };
        assert_eq!(prices.estimate(tokens), usd("4"));
        // 0.1 + 1.25 millionths of a dollar.
        let tokens = Tokens { cache_read: 1, cache_write: 1, ..Tokens::default() };
        assert_eq!(prices.estimate(tokens), Usd::from_micros(2));
        assert_eq!(prices.estimate(Tokens::default()), Usd::ZERO);
    }

    proptest! {
        #[test]
        fn it_never_overflows_nor_estimates_too_little(price: u64, a: u64, b: u64) {
            let prices = Prices { input: Usd::from_micros(price), output: Usd::from_micros(price), ..Prices::default() };
            let estimate = prices.estimate(Tokens { input: a, output: b, ..Tokens::default() }).micros();
            let exact = u128::from(price).saturating_mul(u128::from(a) + u128::from(b));
            let (low, high) = (exact / 1_000_000, exact / 1_000_000 + 1);
            let capped = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
            prop_assert!(capped(low) <= estimate && estimate <= capped(high));
        }
    }
}
