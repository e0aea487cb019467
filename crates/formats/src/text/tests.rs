use arrow_buffer::i256;
use proptest::prelude::*;

use super::*;

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn integers_that_a_double_may_round_are_strings() {
    let cases = [
        (0, "0"),
        (-1, "-1"),
        ((1 << 53) - 1, "9007199254740991"),
        (-(1 << 53) + 1, "-9007199254740991"),
        (1 << 53, "\"9007199254740992\""),
        (-(1 << 53), "\"-9007199254740992\""),
        (i64::MAX, "\"9223372036854775807\""),
        (i64::MIN, "\"-9223372036854775808\""),
    ];
    for (value, text) in cases {
        assert_eq!(written(|out| figures::signed(value, out)), text);
    }
    assert_eq!(written(|out| figures::unsigned(u64::MAX, out)), "\"18446744073709551615\"");
    assert_eq!(written(|out| figures::unsigned((1 << 53) - 1, out)), "9007199254740991");
}

#[test]
fn floats_have_their_shortest_digits() {
    let cases = [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (5e-324, "5e-324"),
        (f64::NAN, "\"NaN\""),
        (f64::INFINITY, "\"Infinity\""),
        (f64::NEG_INFINITY, "\"-Infinity\""),
    ];
    for (value, text) in cases {
        assert_eq!(written(|out| figures::float(value, out)), text);
    }
    assert_eq!(written(|out| figures::float(0.1_f32, out)), "0.1");
}

#[test]
fn decimals_keep_their_scale() {
    let cases = [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (-5, 2, "-0.05"),
        (12345, 2, "123.45"),
        (123, 3, "0.123"),
        (7, -3, "7000"),
        (0, -3, "0"),
        (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        (i128::MIN, 40, "-0.0170141183460469231731687303715884105728"),
    ];
    for (unscaled, scale, text) in cases {
        assert_eq!(written(|out| figures::decimal(unscaled, scale, out)), text);
        let wide = i256::from_i128(unscaled);
        assert_eq!(written(|out| figures::wide_decimal(wide, scale, out)), text);
    }
}

#[test]
fn dates_reach_beyond_four_digits() {
    let cases = [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (11_016, "2000-02-29"),
        (-719_528, "0000-01-01"),
        (-719_529, "-000001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+010000-01-01"),
        (2_147_483_647, "+5881580-07-11"),
    ];
    for (days, text) in cases {
        assert_eq!(written(|out| moments::date(days, out)), format!("\"{text}\""));
    }
}

#[test]
fn fractions_have_no_zeros_at_the_end() {
    let micros = moments::timestamp::<1_000_000>;
    let cases = [
        (0, true, "1970-01-01T00:00:00Z"),
        (-1, false, "1969-12-31T23:59:59.999999"),
        (500_000, true, "1970-01-01T00:00:00.5Z"),
        (10, true, "1970-01-01T00:00:00.00001Z"),
        (i64::MAX, false, "+294247-01-10T04:00:54.775807"),
        (i64::MIN, false, "-290308-12-21T19:59:05.224192"),
    ];
    for (value, is_instant, text) in cases {
        assert_eq!(written(|out| micros(value, is_instant, out)), format!("\"{text}\""));
    }
    let nanos = written(|out| moments::timestamp::<1_000_000_000>(1, true, out));
    assert_eq!(nanos, "\"1970-01-01T00:00:00.000000001Z\"");
    for value in [i64::MIN, i64::MAX] {
        assert!(written(|out| moments::timestamp::<1>(value, true, out)).ends_with("Z\""));
    }
}

#[test]
fn times_of_day() {
    let cases = [
        (0, "00:00:00"),
        (45_296_789_012, "12:34:56.789012"),
        (86_400_000_000, "24:00:00"),
        (-1, "-00:00:00.000001"),
    ];
    for (value, text) in cases {
        assert_eq!(written(|out| moments::time::<1_000_000>(value, out)), format!("\"{text}\""));
    }
    assert!(written(|out| moments::time::<1>(i64::MIN, out)).starts_with("\"-2562047788015215:"));
}

#[test]
fn intervals_are_those_of_the_server() {
    // As `IntervalStyle = iso_8601` prints them.
    let cases = [
        ((0, 0, 0), "PT0S"),
        ((14, 3, 14_706_500_000), "P1Y2M3DT4H5M6.5S"),
        ((-14, 3, 1), "P-1Y-2M3DT0.000001S"),
        ((0, 0, -1), "PT-0.000001S"),
        ((0, 1, -3_600_000_000), "P1DT-1H"),
        ((0, 0, -61_000_000), "PT-1M-1S"),
        ((-1, 0, 0), "P-1M"),
        ((0, 0, i64::MIN), "PT-2562047788H-54.775808S"),
    ];
    for ((months, days, micros), text) in cases {
        let given = written(|out| moments::interval::<1_000_000>(months, days, micros, out));
        assert_eq!(given, format!("\"{text}\""));
    }
}

#[test]
fn embedded_json_is_one_line() {
    let json = "{\r\n \"a\\n\": [1,\n2]}";
    assert_eq!(written(|out| characters::embedded(json, out)), "{   \"a\\n\": [1, 2]}");
}

#[test]
fn a_uuid_has_five_groups() {
    let bytes: Vec<u8> = (0..16).map(|byte| byte * 17).collect();
    let text = "\"00112233-4455-6677-8899-aabbccddeeff\"";
    assert_eq!(written(|out| bytes::uuid(&bytes, out)), text);
}

proptest! {
    #[test]
    fn strings_read_back(text in any::<String>()) {
        let json = written(|out| characters::string(&text, out));
        prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        prop_assert!(!json.bytes().any(|byte| byte < 0x20));
    }

    #[test]
    fn floats_read_back(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let json = written(|out| figures::float(value, out));
        let read: f64 = json.trim_matches('"').parse().unwrap();
        prop_assert!(read.to_bits() == bits || value.is_nan() && read.is_nan());
    }

    #[test]
    fn bytes_read_back(value in any::<Vec<u8>>()) {
        use base64::Engine;
        let json = written(|out| bytes::base64(&value, out));
        let read = base64::engine::general_purpose::STANDARD.decode(json.trim_matches('"'));
        prop_assert_eq!(read.unwrap(), value);
    }

    #[test]
    fn dates_count_days(days in -719_000_i64..2_932_000) {
        let text = |days| written(|out| moments::date(days, out));
        prop_assert!(text(days) < text(days + 1));
    }
}
