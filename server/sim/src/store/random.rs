//! A small source of numbers that look random and are the same for the same seed.
//!
//! Invariant: a seed fixes the whole sequence, on every machine and in every version of this program.
//! Never: anything secret; whoever knows a number knows all that follow.

/// The generator SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, `bound`; 0 for a bound of 0. The bias is far below anything a test
    /// could see.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next_u64()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// True `per_mille` times in a thousand.
    pub fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first numbers of seed 1234567 as in the reference implementation.
        let mut numbers = SplitMix64::new(1_234_567);
        assert_eq!(numbers.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(numbers.next_u64(), 3_203_168_211_198_807_973);
        assert_eq!(numbers.next_u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn bounds_hold_and_chances_are_roughly_right() {
        let mut numbers = SplitMix64::new(7);
        assert!((0..1_000).all(|_| numbers.below(3) < 3));
        assert_eq!(numbers.below(0), 0);
        let hits = (0..10_000).filter(|_| numbers.chance(200)).count();
        assert!((1_800..2_200).contains(&hits), "{hits} of 10000 at 20 %");
        assert!((0..1_000).all(|_| !numbers.chance(0)));
        assert!((0..1_000).all(|_| numbers.chance(1_000)));
    }
}
