//! The scale of a stream's decimals: the first batch decides it for all later ones.

/// The minimum number of digits after the point in a stream, if its first batch leaves room for
/// them. A decimal128 then has twenty before the point, more than any bigint.
const SCALE_LEAST: u32 = 18;

/// Spare digits after the point beyond those of the first batch: the server gives a quotient 16, 20
/// or 24 of them, the more the smaller it is.
const SCALE_SPARE: u32 = 4;

/// Spare digits before the point beyond those of the first batch.
const WHOLE_SPARE: u32 = 6;

/// The scale of a stream, in a type of `precision` digits, whose first batch has `whole` digits
/// before the point and `scale` after it.
pub(super) fn scale_with_room(precision: u8, whole: u32, scale: u8) -> u8 {
    let wanted = (u32::from(scale) + SCALE_SPARE).max(SCALE_LEAST);
    let most = u32::from(precision).saturating_sub(whole + WHOLE_SPARE);
    // At most `precision`.
    (wanted.min(most) as u8).max(scale)
}

#[cfg(test)]
mod tests {
    use super::scale_with_room;

    #[test]
    fn room_where_there_is_some() {
        for (precision, whole, scale, expected) in [
            (38, 0, 0, 18),
            (38, 6, 2, 18),
            (38, 1, 16, 20),
            (38, 14, 0, 18),
            (38, 19, 0, 13),
            (38, 27, 4, 5),
            (38, 35, 3, 3),
            (38, 0, 38, 38),
            (38, 0, 31, 32),
            (76, 39, 0, 18),
        ] {
            assert_eq!(scale_with_room(precision, whole, scale), expected);
        }
    }
}
