//! What an agent says that it used.

use ralph_core::{Tokens, Usd};

use crate::json::Object;

/// The cost of a `usage_update`: of the session so far.
pub(crate) fn cost(update: &Object<'_>) -> Option<Usd> {
    let cost = update.object("cost")?;
    // In another currency it would be another number.
    (cost.text("currency")? == "USD").then(|| cost.get("amount").and_then(Usd::from_f64)).flatten()
}

/// The tokens of a prompt's answer.
pub(crate) fn tokens(answer: &Object<'_>) -> Option<Tokens> {
    let quota = answer.object("_meta").and_then(|meta| meta.object("quota"));
    let models = quota.as_ref().map(|quota| quota.objects("model_usage")).unwrap_or_default();
    if !models.is_empty() {
        // With what was asked of other models on the way, which the total leaves out.
        let by_model = models.iter().map(|model| Counts::read(&model.object("token_count")?).tokens());
        return by_model.reduce(|a, b| a.zip(b).map(|(a, b)| add(a, b))).flatten();
    }
    let count = answer.object("usage").or_else(|| quota?.object("token_count"))?;
    Counts::read(&count).tokens()
}

/// Counts as an agent states them.
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: u64,
    cache_write: u64,
    reasoning: u64,
    total: Option<u64>,
}

impl Counts {
    fn read(counts: &Object<'_>) -> Self {
        let first = |names: &[&str]| names.iter().find_map(|name| counts.get(name));
        Self {
            input: first(&["inputTokens", "input_tokens"]),
            output: first(&["outputTokens", "output_tokens"]),
            cache_read: first(&["cachedReadTokens", "cachedInputTokens"]).unwrap_or(0),
            cache_write: first(&["cachedWriteTokens", "cacheWriteInputTokens"]).unwrap_or(0),
            reasoning: first(&["thoughtTokens", "reasoningOutputTokens"]).unwrap_or(0),
            total: first(&["totalTokens"]),
        }
    }

    /// Whether the cache is in the input, and the reasoning in the output, is told by the total alone.
    fn tokens(&self) -> Option<Tokens> {
        let (input, output) = (self.input?, self.output?);
        let (cache_read, cache_write) = (self.cache_read, self.cache_write);
        let cached = cache_read.checked_add(cache_write)?;
        let plain = input.checked_add(output)?;
        let total = match self.total {
            Some(total) => total,
            None if cached == 0 && self.reasoning == 0 => plain,
            None => return None,
        };
        let apart = [(cached, 0), (0, 0), (cached, self.reasoning), (0, self.reasoning)];
        let (cached_apart, reasoning_apart) = apart
            .into_iter()
            .find(|(cached, reasoning)| plain.saturating_add(cached.saturating_add(*reasoning)) == total)?;
        let input = if cached_apart == cached { input } else { input.checked_sub(cached)? };
        Some(Tokens { input, output: output.checked_add(reasoning_apart)?, cache_read, cache_write })
    }
}

fn add(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        input: a.input.saturating_add(b.input),
        output: a.output.saturating_add(b.output),
        cache_read: a.cache_read.saturating_add(b.cache_read),
        cache_write: a.cache_write.saturating_add(b.cache_write),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(answer: &Value) -> Option<[u64; 4]> {
        let text = answer.to_string();
        let tokens = tokens(&Object::read(&text).unwrap())?;
        Some([tokens.input, tokens.output, tokens.cache_read, tokens.cache_write])
    }

    #[test]
    fn the_total_tells_what_is_in_what() {
        let usage = |total: Option<u64>| {
            json!({"usage": {
                "inputTokens": 1000, "outputTokens": 50, "cachedReadTokens": 300, "cachedWriteTokens": 20,
                "thoughtTokens": 7, "totalTokens": total,
            }})
        };
        // Beside each other, the cache in the input, and the same with the reasoning apart.
        assert_eq!(read(&usage(Some(1370))), Some([1000, 50, 300, 20]));
        assert_eq!(read(&usage(Some(1050))), Some([680, 50, 300, 20]));
        assert_eq!(read(&usage(Some(1377))), Some([1000, 57, 300, 20]));
        assert_eq!(read(&usage(Some(1057))), Some([680, 57, 300, 20]));
        for unclear in [None, Some(1), Some(u64::MAX)] {
            assert_eq!(read(&usage(unclear)), None);
        }
        assert_eq!(read(&json!({"usage": {"inputTokens": 5, "outputTokens": 2}})), Some([5, 2, 0, 0]));
        assert_eq!(read(&json!({"usage": {"inputTokens": 5}})), None);
        assert_eq!(read(&json!({"usage": {"inputTokens": u64::MAX, "outputTokens": 2}})), None);
        assert_eq!(read(&json!({"usage": null})), None);
    }

    #[test]
    fn models_are_summed_where_they_are_told() {
        let count = |input: u64| json!({"token_count": {"input_tokens": input, "output_tokens": 1}});
        let usage = json!({"inputTokens": 1, "outputTokens": 1});
        let answer = json!({"usage": usage, "_meta": {"quota": {"model_usage": [count(3), count(4)]}}});
        assert_eq!(read(&answer), Some([7, 2, 0, 0]));
        // One of which nothing is known makes the sum unknown.
        let answer = json!({"usage": usage, "_meta": {"quota": {"model_usage": [count(3), {}]}}});
        assert_eq!(read(&answer), None);
        let answer =
            json!({"_meta": {"quota": {"model_usage": [], "token_count": {"input_tokens": 3, "output_tokens": 1}}}});
        assert_eq!(read(&answer), Some([3, 1, 0, 0]));
    }

    #[test]
    fn a_cost_is_in_dollars_or_unknown() {
        let read = |update: Value| cost(&Object::read(&update.to_string()).unwrap());
        assert_eq!(read(json!({"cost": {"amount": 0.004, "currency": "USD"}})), Some(Usd::from_micros(4000)));
        for other in
            [json!({"amount": 1, "currency": "EUR"}), json!({"amount": 1}), json!({"amount": -1, "currency": "USD"})]
        {
            assert_eq!(read(json!({"cost": other})), None);
        }
    }
}
