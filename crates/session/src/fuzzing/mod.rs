//! Entry points for a fuzzer: impossible servers and options, and what must hold even for them.
//! They stand here and not in `fuzz/`, so that the crate's tests call them too.

mod answers;
mod conninfo;
mod mistaken_dsn;
mod owner;

use colonnade_protocol::fuzzing::Input;

pub use conninfo::{conninfo, conninfo_seeds};
use owner::{Owner, Told};

/// Seeds for `talk`: each request that can follow a preparation, with answers of small values.
pub fn talk_seeds() -> Vec<Vec<u8>> {
    let asked = |act: u8, filler: u8| {
        let begin = [filler, 0];
        // Each request with its expected answer; every choice takes the same small value.
        let mut seed = begin.to_vec();
        seed.extend([0; 60]);
        for _ in 0..4 {
            seed.extend([act, filler]);
            seed.extend([filler % 24; 60]);
        }
        seed
    };
    (0..32).flat_map(|act| [0, 1, 3, 5, 25].map(|filler| asked(act, filler))).collect()
}

/// How the bytes of one answer are split into reads.
#[derive(Clone, Copy)]
enum Cut {
    Whole,
    Bytes,
    Pieces(usize),
}

/// A whole session: the owner makes one request after another, and a server answers with messages
/// that are nearly right, or with arbitrary bytes. Nothing panics, every exchange that was begun
/// ends exactly once, and the way the bytes are split changes neither the events nor the bytes
/// sent.
pub fn talk(data: &[u8]) {
    let piece = usize::from(data.first().copied().unwrap_or(0)) % 30 + 2;
    let whole = told(data, Cut::Whole);
    for cut in [Cut::Bytes, Cut::Pieces(piece)] {
        assert_eq!(told(data, cut), whole);
    }
}

fn told(data: &[u8], cut: Cut) -> Told {
    let mut input = Input::new(data);
    let mut owner = Owner::new(&mut input);
    // Most sessions should get past start-up.
    if !input.flag() {
        owner.hear(&answers::welcome(), cut);
    }
    while !input.is_empty() {
        owner.act(&mut input);
        let answer = answers::answer(&mut input, owner.expects());
        owner.hear(&answer, cut);
    }
    owner.end()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// Bytes that are more often meaningful than arbitrary ones.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let few = prop_oneof![Just(0), 0..30_u8, Just(0xff), any::<u8>()];
        prop::collection::vec(few, 0..200)
    }

    #[test]
    fn a_fuzzer_begins_with_what_is_right() {
        super::talk_seeds().iter().for_each(|seed| super::talk(seed));
        super::conninfo_seeds().iter().for_each(|seed| super::conninfo(seed));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn talk(data in bytes()) {
            super::talk(&data);
        }

        #[test]
        fn mistaken_dsn(data in prop::collection::vec(any::<u8>(), 12)) {
            super::mistaken_dsn::mistaken_dsn(&data);
        }

        #[test]
        fn conninfo(
            data in bytes(),
            pairs in "(host|hostaddr|port|user|password|sslmode|x.y|dbname| |=|'|\\\\|a|1|,){0,40}",
            uri in "postgresql://([a-z0-9:@/?=&,.%]|\\[|\\]|%20|sslmode=){0,40}",
        ) {
            super::conninfo(&data);
            super::conninfo(pairs.as_bytes());
            super::conninfo(uri.as_bytes());
        }
    }
}
