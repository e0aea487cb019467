//! `tsquery`: 32-bit number of nodes, then the tree with each operator before its operands, and the
//! right operand before the left one. A node starts with its kind.
//!
//! 1, a lexeme: a byte of weights (A 8, B 4, C 2, D 1), a byte that is 1 for a prefix, the
//! characters and a NUL. 2, an operator: its number (1 `!`, 2 `&`, 3 `|`, 4 `<->`), and for the
//! last one the distance in 16 bits.
//!
//! In Arrow and in Rust it is just the text that the server prints; a parameter is sent as text,
//! for the server to parse. Nothing here is recursive, because a hostile tree may be as deep as its
//! value is long.

use std::io::Write;

use super::printed::{self, Print};
use super::tsvector::{quote, take, take_lexeme};
use super::{Codec, Kind, text, varlen};
use crate::error::Reason;

pub(super) const TSQUERY: Codec = Codec {
    arrow: "utf8",
    kind: Kind::Text,
    width: None,
    casts: varlen::TEXT_CASTS,
    value: printed::value::<Printed>,
    encode: text::TEXT.encode,
    builder: printed::builder::<Printed>,
};

enum Node<'a> {
    Lexeme { lexeme: &'a [u8], weights: u8, is_prefix: bool },
    Not,
    Binary(Operator),
}

#[derive(Clone, Copy)]
enum Operator {
    And,
    Or,
    /// The operands follow one another at this distance.
    Phrase(u16),
}

/// Greater values bind tighter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loosest,
    Or,
    And,
    Phrase,
    Not,
}

impl Operator {
    fn binding(self) -> Binding {
        match self {
            Self::And => Binding::And,
            Self::Or => Binding::Or,
            Self::Phrase(_) => Binding::Phrase,
        }
    }
}

const TRUNCATED: Reason = Reason::Malformed("the tsquery ends before its nodes do");
const NO_TREE: Reason = Reason::Malformed("the tsquery's nodes do not make one tree");

fn take_node<'a>(raw: &mut &'a [u8]) -> Result<Node<'a>, Reason> {
    match take(raw).ok_or(TRUNCATED)? {
        [1] => {
            let [weights, prefix] = take(raw).ok_or(TRUNCATED)?;
            let lexeme = take_lexeme(raw).ok_or(TRUNCATED)?;
            if weights > 15 {
                return Err(Reason::Malformed("the tsquery has a weight that does not exist"));
            }
            Ok(Node::Lexeme { lexeme, weights, is_prefix: prefix != 0 })
        }
        [2] => match take(raw).ok_or(TRUNCATED)? {
            [1] => Ok(Node::Not),
            [2] => Ok(Node::Binary(Operator::And)),
            [3] => Ok(Node::Binary(Operator::Or)),
            [4] => {
                let distance = u16::from_be_bytes(take(raw).ok_or(TRUNCATED)?);
                Ok(Node::Binary(Operator::Phrase(distance)))
            }
            _ => Err(Reason::Malformed("the tsquery has an operator that does not exist")),
        },
        _ => Err(Reason::Malformed("the tsquery has a node that is neither lexeme nor operator")),
    }
}

/// The nodes in the order of the wire.
fn nodes(mut raw: &[u8]) -> Result<Vec<Node<'_>>, Reason> {
    let count = u32::from_be_bytes(take(&mut raw).ok_or(TRUNCATED)?);
    let mut nodes = Vec::new();
    for _ in 0..count {
        nodes.push(take_node(&mut raw)?);
    }
    if raw.is_empty() { Ok(nodes) } else { Err(NO_TREE) }
}

/// The position of each binary operator's left operand. The right operand, and the only operand of
/// `!`, is the next node.
fn left_operands(nodes: &[Node<'_>]) -> Result<Vec<usize>, Reason> {
    let mut left_operands = vec![0; nodes.len()];
    // The trees after a node that have no parent yet, the nearest one last.
    let mut trees = Vec::new();
    for (index, (node, left)) in nodes.iter().zip(&mut left_operands).enumerate().rev() {
        let operands = match node {
            Node::Lexeme { .. } => 0,
            Node::Not => 1,
            Node::Binary(_) => 2,
        };
        for _ in 0..operands {
            *left = trees.pop().ok_or(NO_TREE)?;
        }
        trees.push(index);
    }
    if trees.len() > 1 { Err(NO_TREE) } else { Ok(left_operands) }
}

/// The remaining steps of printing.
enum Step {
    /// A tree, in parentheses if its operator binds less tightly than `least`.
    Tree {
        index: usize,
        least: Binding,
        is_right_of_phrase: bool,
    },
    /// An operator between its operands.
    Sign(Operator),
    CloseParenthesis,
}

struct Printed;

impl Print for Printed {
    const UNCHECKED_TEXT: bool = true;
    /// A 2-byte operator prints as ` & ` between `( ` and ` )`.
    const MOST_PER_BYTE: usize = 4;

    fn print(raw: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let nodes = nodes(raw)?;
        let left_operands = left_operands(&nodes)?;
        let mut steps =
            vec![Step::Tree { index: 0, least: Binding::Loosest, is_right_of_phrase: false }];
        while let Some(step) = steps.pop() {
            match step {
                Step::Sign(operator) => print_sign(operator, out),
                Step::CloseParenthesis => out.extend_from_slice(b" )"),
                Step::Tree { index, least, is_right_of_phrase } => match nodes.get(index) {
                    Some(Node::Lexeme { lexeme, weights, is_prefix }) => {
                        print_lexeme(lexeme, *weights, *is_prefix, out);
                    }
                    Some(Node::Not) => {
                        out.push(b'!');
                        steps.push(Step::Tree {
                            index: index + 1,
                            least: Binding::Not,
                            is_right_of_phrase: false,
                        });
                    }
                    Some(Node::Binary(operator)) => {
                        let binding = operator.binding();
                        let is_phrase = binding == Binding::Phrase;
                        if binding < least || is_phrase && is_right_of_phrase {
                            out.extend_from_slice(b"( ");
                            steps.push(Step::CloseParenthesis);
                        }
                        let left = left_operands.get(index).copied().unwrap_or_default();
                        // A stack: the last step pushed is printed first.
                        steps.push(Step::Tree {
                            index: index + 1,
                            least: binding,
                            is_right_of_phrase: is_phrase,
                        });
                        steps.push(Step::Sign(*operator));
                        steps.push(Step::Tree {
                            index: left,
                            least: binding,
                            is_right_of_phrase: false,
                        });
                    }
                    // A query without nodes.
                    None => {}
                },
            }
        }
        Ok(())
    }
}

fn print_sign(operator: Operator, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = match operator {
        Operator::And => write!(out, " & "),
        Operator::Or => write!(out, " | "),
        Operator::Phrase(1) => write!(out, " <-> "),
        Operator::Phrase(distance) => write!(out, " <{distance}> "),
    };
}

fn print_lexeme(lexeme: &[u8], weights: u8, is_prefix: bool, out: &mut Vec<u8>) {
    quote(lexeme, out);
    if weights == 0 && !is_prefix {
        return;
    }
    out.push(b':');
    if is_prefix {
        out.push(b'*');
    }
    for (bit, letter) in [(8, b'A'), (4, b'B'), (2, b'C'), (1, b'D')] {
        if weights & bit != 0 {
            out.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;
    use crate::testing::{Case, encode, hex};
    use crate::value::Value;

    #[test]
    fn golden() {
        // SELECT encode(tsquerysend(q), 'hex'), q
        for (wire, printed) in [
            ("00000000", ""),
            ("0000000302020100007261740001000066617400", "'fat' & 'rat'"),
            (
                "0000000502020203010000636174000100007261740001000066617400",
                "'fat' & ( 'rat' | 'cat' )",
            ),
            ("00000002020101000066617400", "!'fat'"),
            ("000000040201020301000062000100006100", "!( 'a' | 'b' )"),
            ("000000030204000101000062000100006100", "'a' <-> 'b'"),
            ("000000030204000301000062000100006100", "'a' <3> 'b'"),
            ("00000001010001737570657200", "'super':*"),
            ("00000001010c006100", "'a':AB"),
            ("00000001010f016100", "'a':*ABCD"),
            (
                "0000000302020100006261636b5c736c617368000100006974277300",
                "'it''s' & 'back\\\\slash'",
            ),
            ("000000050204000102040001010000630001000062000100006100", "'a' <-> ( 'b' <-> 'c' )"),
            ("000000050204000101000063000204000101000062000100006100", "'a' <-> 'b' <-> 'c'"),
            ("0000000502020202010000630001000062000100006100", "'a' & 'b' & 'c'"),
            ("0000000502020100006300020201000062000100006100", "'a' & 'b' & 'c'"),
            (
                "00000009020202010202010000640001000063000202020101000062000100006100",
                "'a' & !'b' & !( 'c' & 'd' )",
            ),
            ("00000003020102010100006100", "!!'a'"),
            (
                "0000000702040001020201000064000100006300020301000062000100006100",
                "( 'a' | 'b' ) <-> ( 'c' & 'd' )",
            ),
            ("00000005020400010201010000620002010100006100", "!'a' <-> !'b'"),
            ("0000000502030100006300020201000062000100006100", "'a' & 'b' | 'c'"),
        ] {
            let array: StringArray = Case::new(3615).array(&[hex(wire), None]);
            assert_eq!(array, StringArray::from(vec![Some(printed), None]));
            let value = Value::Text(printed.into());
            assert_eq!((TSQUERY.value)(&hex(wire).unwrap()), Ok(value.clone()));
            assert_eq!(encode(3615, &value).unwrap(), printed.as_bytes());
        }
    }

    #[test]
    fn malformed() {
        for (bad, message) in [
            ("", "ends before its nodes do"),
            ("00000001", "ends before its nodes do"),
            ("00000001 01", "ends before its nodes do"),
            ("00000001 01 00 00 61", "ends before its nodes do"),
            ("00000001 02", "ends before its nodes do"),
            ("00000001 02 04 00", "ends before its nodes do"),
            ("ffffffff 01 00 00 61 00", "ends before its nodes do"),
            ("00000001 03", "that is neither lexeme nor operator"),
            ("00000001 02 05", "an operator that does not exist"),
            ("00000001 01 10 00 61 00", "a weight that does not exist"),
            ("00000001 02 01", "do not make one tree"),
            ("00000002 02 02 01 00 00 61 00", "do not make one tree"),
            ("00000002 01 00 00 61 00 01 00 00 61 00", "do not make one tree"),
            ("00000001 01 00 00 61 00 00", "do not make one tree"),
            ("00000001 01 00 00 ff 00", "not UTF-8 from byte 1 on"),
        ] {
            let (row, text) = Case::new(3615).error(&[hex("00000000"), hex(bad)]);
            assert_eq!(row, 1);
            assert!(text.ends_with(message), "{bad}: {text}");
        }
    }

    #[test]
    fn depth_has_no_limit() {
        const DEPTH: usize = 1_000_000;
        let mut deep = u32::to_be_bytes(DEPTH as u32 * 2 + 1).to_vec();
        for _ in 0..DEPTH {
            deep.extend_from_slice(&[2, 4, 0, 1]);
        }
        for _ in 0..=DEPTH {
            deep.extend_from_slice(&[1, 0, 0, 0]);
        }
        let Ok(Value::Text(text)) = (TSQUERY.value)(&deep) else { panic!("no text") };
        assert!(text.starts_with("'' <-> ( '' <-> ( ''"), "{}", &text[..60]);
        let mut negated = u32::to_be_bytes(DEPTH as u32 + 1).to_vec();
        negated.extend(std::iter::repeat_n([2, 1], DEPTH).flatten());
        negated.extend_from_slice(&[1, 0, 0, b'a', 0]);
        let Ok(Value::Text(text)) = (TSQUERY.value)(&negated) else { panic!("no text") };
        assert!(text.ends_with("!!'a'"));
    }
}
