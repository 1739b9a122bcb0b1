//! Choices of a seed.

/// Numbers that look random and are the same for the same seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The choices of `seed` for one purpose; those for another are others.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        let mut dice = Self(seed ^ purpose.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`; 0 where there is none.
    pub(super) fn below(&mut self, sides: usize) -> usize {
        let sides = sides.max(1) as u64;
        // Less than `usize` by construction.
        usize::try_from(self.next() % sides).unwrap_or(0)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + u32::try_from(self.below((high - low) as usize + 1)).unwrap_or(0)
    }

    /// True so often in a hundred.
    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_the_same_and_chances_are_what_they_are_called() {
        let rolls = |seed, purpose| {
            let mut dice = Dice::new(seed, purpose);
            (0..50).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(rolls(1, 2), rolls(1, 2));
        assert_ne!(rolls(1, 2), rolls(1, 3));
        assert_ne!(rolls(1, 2), rolls(2, 2));
        let mut dice = Dice::new(7, 0);
        let hits = (0..10_000).filter(|_| dice.chance(80)).count();
        assert!((7_800..8_200).contains(&hits), "{hits}");
    }
}
