//! PostGIS's `geometry` and `geography`: EWKB, which is well-known binary (WKB) with three
//! additional bits in the kind word: z coordinates, m coordinates, and a reference system, whose
//! number follows.
//!
//! Rows and columns have ISO WKB instead, which every reader of geometries accepts: z and m add
//! 1000 and 2000 to the kind, and the reference system is left out. As plain `binary` a column has
//! the original bytes. Parameters are sent unchanged, because PostGIS reads both.
//!
//! A geometry is a byte order (0 big endian, 1 little endian), the kind word, and depending on the
//! kind: the coordinates of a point; a number of points and the points; a number of rings, each a
//! number of points and the points; or a number of geometries and the geometries.

use std::borrow::Cow;
use std::fmt::Write;

use super::notation::shown;
use super::varlen::{AsIs, Layout, Shape, VarlenBuilder, append_written};
use super::{Built, Codec, Extension, Kind, bytea};
use crate::column::Fields;
use crate::error::{EncodeError, LayoutFault, Reason};
use crate::schema::Override;
use crate::value::Value;

/// The bits of EWKB.
const HAS_Z: u32 = 0x8000_0000;
const HAS_M: u32 = 0x4000_0000;
const HAS_REFERENCE_SYSTEM: u32 = 0x2000_0000;
const KIND: u32 = 0x1fff_ffff;

/// The maximum nesting of geometries. PostGIS itself reads 200.
const DEPTH_MOST: usize = 256;

pub(super) const GEOMETRY: Codec = Codec {
    arrow: "binary (geoarrow.wkb)",
    kind: Kind::Bytes,
    width: None,
    casts: &["binary"],
    value: |raw| {
        let mut wkb = Vec::with_capacity(raw.len());
        write_wkb(raw, &mut wkb)?;
        Ok(Value::Bytes(Cow::Owned(wkb)))
    },
    encode: |value, out| match value {
        Value::Text(text) => parse(text, out),
        other => (bytea::BYTEA.encode)(other, out),
    },
    builder: |request| match request.cast {
        None => Some(Built {
            builder: Box::new(VarlenBuilder::<Wkb>::new(Layout::Binary)),
            extension: Some(Extension::Wkb),
        }),
        Some(Override::Binary) => Built::plain(VarlenBuilder::<AsIs>::new(Layout::Binary)),
        Some(_) => None,
    },
};

/// A row's value as the text that the server prints: the hexadecimal digits of its bytes.
pub(super) fn print(raw: &[u8]) -> Result<Value<'static>, Reason> {
    // Invalid geometries are refused here, too.
    write_wkb(raw, &mut Vec::with_capacity(raw.len()))?;
    let mut text = String::with_capacity(2 * raw.len());
    for byte in raw {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02X}");
    }
    Ok(Value::Text(Cow::Owned(text)))
}

/// The bytes of such a text. Only the server can parse its other notations.
fn parse(text: &str, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let digits = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = match digits {
        (pairs, []) if !pairs.is_empty() => pairs
            .iter()
            .map(|[high, low]| Some((digit(*high)? * 16 + digit(*low)?) as u8))
            .collect::<Option<Vec<_>>>(),
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| EncodeError::Notation {
        type_name: "geometry",
        form: "the digits of its bytes, as rows have them",
        given: shown(text),
    })?;
    out.extend_from_slice(&bytes);
    Ok(())
}

struct Wkb;

impl Shape for Wkb {
    const UNCHECKED_TEXT: bool = false;

    fn append(
        fields: Fields<'_>,
        data: &mut Vec<u8>,
        ends: impl FnMut(usize),
    ) -> Result<usize, (usize, Reason)> {
        append_written(fields, data, ends, write_wkb)
    }

    fn most_bytes(fields: Fields<'_>) -> usize {
        // The output is never longer, because reference systems are left out.
        fields.byte_len()
    }
}

/// Appends one geometry of EWKB, or of WKB, as WKB.
fn write_wkb(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
    let mut rest = raw;
    geometry(&mut rest, out, 0)?;
    match rest {
        [] => Ok(()),
        _ => Err(LayoutFault::Trailing(rest.len()).into()),
    }
}

/// The content after a geometry's kind word.
enum Body {
    Point,
    Points,
    Rings,
    Geometries,
}

impl Body {
    /// The numbers of the ISO standard, and PostGIS's own for curves and surfaces.
    fn of(kind: u32) -> Option<Self> {
        match kind {
            1 => Some(Self::Point),
            // Lines, circular strings.
            2 | 8 => Some(Self::Points),
            // Polygons, triangles.
            3 | 17 => Some(Self::Rings),
            // Multipart geometries, collections, compound curves, curve polygons, surfaces.
            4..=7 | 9..=12 | 15 | 16 => Some(Self::Geometries),
            _ => None,
        }
    }
}

/// Moves a geometry from the front of `rest` to `out`.
fn geometry(rest: &mut &[u8], out: &mut Vec<u8>, depth: usize) -> Result<(), Reason> {
    if depth > DEPTH_MOST {
        return Err(LayoutFault::TooDeep.into());
    }
    let order = match take::<1>(rest)? {
        [0] => Order::Big,
        [1] => Order::Little,
        [other] => return Err(LayoutFault::ByteOrder(other).into()),
    };
    let word = order.read(take(rest)?);
    if word & HAS_REFERENCE_SYSTEM != 0 {
        take::<4>(rest)?;
    }
    let code = word & KIND;
    let (dimensions, kind) = (code / 1000, code % 1000);
    if dimensions > 3 {
        return Err(LayoutFault::GeometryKind(code).into());
    }
    let has_z = word & HAS_Z != 0 || dimensions & 1 != 0;
    let has_m = word & HAS_M != 0 || dimensions & 2 != 0;
    let body = Body::of(kind).ok_or(LayoutFault::GeometryKind(code))?;
    out.push(order as u8);
    let iso = kind + 1000 * u32::from(has_z) + 2000 * u32::from(has_m);
    out.extend_from_slice(&order.write(iso));
    let point_len = 8 * (2 + usize::from(has_z) + usize::from(has_m));
    match body {
        Body::Point => copy(rest, point_len, out),
        Body::Points => points(rest, order, point_len, out),
        Body::Rings => {
            for _ in 0..count(rest, order, out)? {
                points(rest, order, point_len, out)?;
            }
            Ok(())
        }
        Body::Geometries => {
            for _ in 0..count(rest, order, out)? {
                geometry(rest, out, depth + 1)?;
            }
            Ok(())
        }
    }
}

/// Moves a number of points and the points.
fn points(
    rest: &mut &[u8],
    order: Order,
    point_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let count = count(rest, order, out)?;
    copy(rest, (count as usize).saturating_mul(point_len), out)
}

/// Moves a count, which must not exceed the bytes that are there.
fn count(rest: &mut &[u8], order: Order, out: &mut Vec<u8>) -> Result<u32, Reason> {
    let bytes = take(rest)?;
    out.extend_from_slice(&bytes);
    Ok(order.read(bytes))
}

/// Takes bytes from the front.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Reason> {
    let (taken, behind) = rest.split_first_chunk().ok_or(LayoutFault::Truncated)?;
    *rest = behind;
    Ok(*taken)
}

/// Moves `len` bytes.
fn copy(rest: &mut &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), Reason> {
    let (copied, behind) = rest.split_at_checked(len).ok_or(LayoutFault::Truncated)?;
    out.extend_from_slice(copied);
    *rest = behind;
    Ok(())
}

/// The byte order of a geometry, from its first byte.
#[derive(Clone, Copy)]
enum Order {
    Big = 0,
    Little = 1,
}

impl Order {
    fn read(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(bytes),
            Self::Little => u32::from_le_bytes(bytes),
        }
    }

    fn write(self, word: u32) -> [u8; 4] {
        match self {
            Self::Big => word.to_be_bytes(),
            Self::Little => word.to_le_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::BinaryArray;
    use proptest::prelude::*;

    use super::super::extensions::testing::Extended;
    use super::*;
    use crate::testing::hex;

    const ONE: &str = "000000000000f03f";
    const TWO: &str = "0000000000000040";
    const THREE: &str = "0000000000000840";
    const FOUR: &str = "0000000000001040";

    /// The output of `geometry_send`, and of `ST_AsBinary` in the same byte order.
    #[track_caller]
    fn assert_becomes(ewkb: &str, wkb: &str) {
        for name in ["geometry", "geography"] {
            let case = Extended::new(name);
            let (raw, expected) = (hex(ewkb), hex(wkb).unwrap());
            let array: BinaryArray = case.array(&[None, raw.clone()]);
            assert_eq!(array, BinaryArray::from(vec![None, Some(&expected[..])]));
            let raw = raw.unwrap();
            let value = Value::Bytes(expected.clone().into());
            assert_eq!(case.value(&raw).unwrap(), value);
            assert_eq!(case.encode(&value).unwrap(), expected);
            // ISO WKB is unchanged.
            assert_eq!(case.value(&expected).unwrap(), value);
        }
    }

    #[test]
    fn points() {
        // 'POINT(1 2)'
        let plain = ["0101000000", ONE, TWO].concat();
        assert_becomes(&plain, &plain);
        // 'SRID=4326;POINT(1 2)', and every geography
        assert_becomes(&["0101000020e6100000", ONE, TWO].concat(), &plain);
        // 'POINT EMPTY': NaN
        let empty = "0101000000 000000000000f87f 000000000000f87f";
        assert_becomes(empty, empty);
        // 'POINT Z(1 2 3)'
        let rest = [ONE, TWO, THREE].concat();
        assert_becomes(&format!("0101000080{rest}"), &format!("01e9030000{rest}"));
        // 'POINT M(1 2 3)'
        assert_becomes(&format!("0101000040{rest}"), &format!("01d1070000{rest}"));
        // 'SRID=4326;POINT ZM(1 2 3 4)'
        let rest = [ONE, TWO, THREE, FOUR].concat();
        assert_becomes(&format!("01010000e0e6100000{rest}"), &format!("01b90b0000{rest}"));
    }

    #[test]
    fn other_kinds() {
        // ST_AsEWKB('SRID=4326;LINESTRING M(1 2 3,4 5 6)'::geometry, 'XDR')
        let rest = "00000002 3ff0000000000000 4000000000000000 4008000000000000 \
                    4010000000000000 4014000000000000 4018000000000000";
        assert_becomes(&format!("0060000002 000010e6 {rest}"), &format!("00000007d2 {rest}"));
        // 'POLYGON EMPTY'
        assert_becomes("010300000000000000", "010300000000000000");
        // 'SRID=4326;MULTIPOINT((1 2),(3 4))'
        let rest = ["02000000 0101000000", ONE, TWO, "0101000000", THREE, FOUR].concat();
        assert_becomes(&format!("0104000020e6100000{rest}"), &format!("0104000000{rest}"));
        // 'TIN Z(((0 0 1,1 0 1,1 1 1,0 0 1)))', of triangles
        let zero = "0000000000000000";
        let ring = [zero, zero, ONE, ONE, zero, ONE, ONE, ONE, ONE, zero, zero, ONE].concat();
        assert_becomes(
            &format!("0110000080 01000000 0111000080 01000000 04000000 {ring}"),
            &format!("01f8030000 01000000 01f9030000 01000000 04000000 {ring}"),
        );
        // 'CURVEPOLYGON(COMPOUNDCURVE(CIRCULARSTRING(0 0,1 1,2 0),(2 0,0 0)))'
        let arc = ["0108000000 03000000", zero, zero, ONE, ONE, TWO, zero].concat();
        let back = ["0102000000 02000000", TWO, zero, zero, zero].concat();
        let curve = format!("010a000000 01000000 0109000000 02000000 {arc} {back}");
        assert_becomes(&curve, &curve);
    }

    #[test]
    fn collections() {
        // 'SRID=4326;GEOMETRYCOLLECTION Z(POINT Z(1 2 3),LINESTRING Z(1 2 3,4 5 6))'
        let point = [ONE, TWO, THREE].concat();
        let line = [&point, FOUR, "0000000000001440", "0000000000001840"].concat();
        assert_becomes(
            &format!("01070000a0e6100000 02000000 0101000080{point} 0102000080 02000000{line}"),
            &format!("01ef030000 02000000 01e9030000{point} 01ea030000 02000000{line}"),
        );
        // A part may have the other byte order and a reference system of its own.
        let point = "3ff0000000000000 4000000000000000";
        assert_becomes(
            &format!("0107000000 01000000 0020000001 000010e6 {point}"),
            &format!("0107000000 01000000 0000000001 {point}"),
        );
    }

    #[test]
    fn as_binary_the_bytes_stay() {
        let raw = hex(&["0101000020e6100000", ONE, TWO].concat());
        let case = Extended::new("geometry").cast("binary");
        let array: BinaryArray = case.array(&[raw.clone(), None, hex("ff")]);
        assert_eq!(array, BinaryArray::from(vec![raw.as_deref(), None, Some(&[0xff])]));
        assert_eq!(case.built().extension, None);
        assert_eq!(Extended::new("geometry").built().extension, Some(Extension::Wkb));
    }

    #[test]
    fn malformed() {
        let case = Extended::new("geometry");
        let point = ["0101000000", ONE, TWO].concat();
        for bad in [
            "",
            "01",
            "0201000000",
            "0101000000",
            "0101000020e61000",
            "010300000000000000ff",
            "0102000000ffffffff",
            "0103000000ffffffff",
            "0103000000ffffffff00000000",
            "0107000000ffffffff",
            "0100000000",
            "010d00000000000000",
            "01a10f0000",
            "01ffffffff00000000",
            &point[..40],
            &format!("{point}00"),
            &format!("0107000000 02000000 {point}"),
        ] {
            assert_eq!(case.error(&[hex(&point), None, hex(bad)]).0, 2, "{bad}");
        }
        let (_, reason) = case.error(&[hex("010d00000000000000")]);
        assert_eq!(reason, LayoutFault::GeometryKind(13).into());
        let nested = |depth: usize| format!("{}{point}", "010700000001000000".repeat(depth));
        assert!(case.value(&hex(&nested(DEPTH_MOST)).unwrap()).is_ok());
        let (_, reason) = case.error(&[hex(&nested(DEPTH_MOST + 1))]);
        assert_eq!(reason, LayoutFault::TooDeep.into());
    }

    /// A geometry of EWKB, and its WKB.
    fn any_geometry() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let leaf = (0..3_u32, any::<bool>(), any::<[bool; 3]>(), 0..4_u32).prop_map(
            |(kind, is_big, flags, count)| {
                let points = 8 * (2 + usize::from(flags[0]) + usize::from(flags[1]));
                let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
                let body = match kind {
                    0 => vec![7; points],
                    1 => [word(count).to_vec(), vec![7; points * count as usize]].concat(),
                    _ => [word(1), word(count)].into_iter().flatten().collect::<Vec<_>>(),
                };
                let body = match kind {
                    2 => [body, vec![7; points * count as usize]].concat(),
                    _ => body,
                };
                both(kind + 1, is_big, flags, &body, &body)
            },
        );
        leaf.prop_recursive(4, 24, 4, |inner| {
            let parts = prop::collection::vec(inner, 0..4);
            (4..8_u32, any::<bool>(), any::<[bool; 3]>(), parts).prop_map(
                |(kind, is_big, flags, parts)| {
                    let count = parts.len() as u32;
                    let count = if is_big { count.to_be_bytes() } else { count.to_le_bytes() };
                    let (ewkb, wkb): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                    let body = |parts: Vec<Vec<u8>>| [count.to_vec(), parts.concat()].concat();
                    both(kind, is_big, flags, &body(ewkb), &body(wkb))
                },
            )
        })
    }

    fn both(
        kind: u32,
        is_big: bool,
        [z, m, reference_system]: [bool; 3],
        ewkb: &[u8],
        wkb: &[u8],
    ) -> (Vec<u8>, Vec<u8>) {
        let word = |word: u32| if is_big { word.to_be_bytes() } else { word.to_le_bytes() };
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let bits = flag(z, HAS_Z) | flag(m, HAS_M) | flag(reference_system, HAS_REFERENCE_SYSTEM);
        let iso = kind + flag(z, 1000) + flag(m, 2000);
        let order = [u8::from(!is_big)];
        let number = if reference_system { word(4326).to_vec() } else { vec![] };
        let ewkb = [&order[..], &word(kind | bits), &number, ewkb].concat();
        (ewkb, [&order[..], &word(iso), wkb].concat())
    }

    proptest! {
        #[test]
        fn what_ewkb_adds_is_taken_away((ewkb, wkb) in any_geometry(), cut in any::<u16>()) {
            let case = Extended::new("geometry");
            let array: BinaryArray = case.array(&[Some(ewkb.clone())]);
            prop_assert_eq!(array.value(0), &wkb);
            let again = case.value(&wkb).unwrap();
            prop_assert_eq!(case.encode(&again).unwrap(), wkb);
            // No prefix of a geometry is valid.
            prop_assert!(case.value(&ewkb[..cut as usize % ewkb.len()]).is_err());
        }
    }
}
