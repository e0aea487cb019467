//! The number of digits a decimal needs, and the Arrow type that has them.

/// The maximum digits of a decimal128 and of a decimal256.
const NARROW: u32 = 38;
const WIDE: u32 = 76;

/// The digits that a column needs for a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DecimalDigits {
    /// Before the point, without leading zeros.
    pub whole: u32,
    /// After the point.
    pub fraction: u32,
}

impl DecimalDigits {
    /// The Arrow decimal with this many digits after the point and the most before it, as a schema
    /// spells it; `None` if there is none.
    pub(super) fn arrow_type(self) -> Option<String> {
        let Self { whole, fraction } = self;
        match whole + fraction {
            ..=NARROW => Some(format!("decimal128({NARROW}, {fraction})")),
            39..=WIDE => Some(format!("decimal256({WIDE}, {fraction})")),
            _ => None,
        }
    }

    /// The types for `schema` that hold the value; the last one rounds it.
    pub(super) fn choices(self) -> Vec<String> {
        self.arrow_type().into_iter().chain(["float64".to_owned()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::DecimalDigits;

    #[test]
    fn the_narrowest_type_that_has_them() {
        for (whole, fraction, shown) in [
            (0, 0, Some("decimal128(38, 0)")),
            (26, 12, Some("decimal128(38, 12)")),
            (27, 12, Some("decimal256(76, 12)")),
            (0, 76, Some("decimal256(76, 76)")),
            (1, 76, None),
        ] {
            assert_eq!(DecimalDigits { whole, fraction }.arrow_type().as_deref(), shown);
        }
    }
}
