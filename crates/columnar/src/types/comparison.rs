//! The equality, the order and the sums of a type's values, as far as they are known here: the
//! rules that group and aggregate rows without the server.

use super::{Kind, Shape, Type};

/// How far the Arrow values of a type say which of PostgreSQL's values are equal, and which is
/// greater.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// Equality and order are those of the Arrow values.
    Ordered,
    /// Equality and order are those of the Arrow values without the blanks at their ends.
    Padded,
    /// Equal values have equal Arrow values, but their order is another one.
    EqualityOnly,
    /// There is no operator for equality, or one that the Arrow values do not tell.
    Neither,
}

impl Kind {
    /// Whether the values are numbers, which have a sum and a mean.
    pub const fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::Float32 | Self::Numeric)
    }
}

impl Type {
    /// The name of a part of the type, or of the type itself, whose equality is not known.
    pub fn part_without_equality(&self) -> Option<&str> {
        self.part_that(&Self::lacks_equality)
    }

    /// The name of a part of the type, or of the type itself, whose order is not known.
    ///
    /// An enum has an order by itself only: as parts of other values, labels are compared as texts.
    pub fn part_without_order(&self) -> Option<&str> {
        let bare = self.bare();
        let is_enum = matches!(bare.shape, Shape::Enum(_));
        bare.part_that(&|part| {
            part.lacks_order() || (!is_enum && matches!(part.shape, Shape::Enum(_)))
        })
    }

    /// Whether its values may have a mean. Of a type that is not known, the Arrow type says it.
    pub fn may_have_mean(&self) -> bool {
        match &self.bare().shape {
            Shape::Scalar(line) => line.kind.is_number(),
            Shape::Opaque => true,
            _ => false,
        }
    }

    /// Whether its values may have a sum: those with a mean, and lengths of time.
    pub fn may_have_sum(&self) -> bool {
        let shape = &self.bare().shape;
        self.may_have_mean() || matches!(shape, Shape::Scalar(line) if line.kind == Kind::Interval)
    }

    /// The name of the first part, or of the type itself, for which `is_so` holds.
    fn part_that(&self, is_so: &dyn Fn(&Self) -> bool) -> Option<&str> {
        let bare = self.bare();
        if is_so(bare) {
            return Some(&bare.name);
        }
        match &bare.shape {
            Shape::Array(part) | Shape::Range(part) | Shape::Multirange(part) => {
                part.part_that(is_so)
            }
            Shape::Composite(parts) => parts.iter().find_map(|part| part.pg_type.part_that(is_so)),
            _ => None,
        }
    }

    fn lacks_equality(&self) -> bool {
        match self.shape {
            Shape::Scalar(line) => line.comparison == Comparison::Neither,
            _ => self.is_unnamed(),
        }
    }

    fn lacks_order(&self) -> bool {
        match self.shape {
            Shape::Scalar(line) => {
                matches!(line.comparison, Comparison::EqualityOnly | Comparison::Neither)
            }
            Shape::Range(_) | Shape::Multirange(_) | Shape::Record(_) => true,
            // Compared by their lengths first.
            Shape::Array(_) => self.is_vector(),
            _ => self.is_unnamed(),
        }
    }

    /// Whether nothing is known but its OID, so that its Arrow values are bytes without a meaning.
    fn is_unnamed(&self) -> bool {
        matches!(self.shape, Shape::Opaque) && self.name.starts_with("oid ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::types::{Attribute, EXTENSION_TYPES, TYPES, built_in};
    use crate::{CodecFormat, named_type};

    fn of(shape: Shape) -> Type {
        Type { oid: 70_000, name: "made".to_owned(), schema: "public".to_owned(), shape }
    }

    fn known(name: &str) -> Arc<Type> {
        Arc::new(named_type(name).unwrap())
    }

    fn mood() -> Arc<Type> {
        Arc::new(Type { name: "mood".to_owned(), ..of(Shape::Enum(Arc::new([]))) })
    }

    fn composite(parts: &[Arc<Type>]) -> Type {
        let attribute = |part: &Arc<Type>| Attribute {
            name: "a".to_owned(),
            pg_type: Arc::clone(part),
            type_modifier: -1,
        };
        of(Shape::Composite(parts.iter().map(attribute).collect()))
    }

    #[test]
    fn scalars_are_compared_as_their_lines_say() {
        for line in TYPES.iter().chain(EXTENSION_TYPES) {
            let scalar = of(Shape::Scalar(line));
            let (equality, order) = match line.comparison {
                Comparison::Ordered | Comparison::Padded => (None, None),
                Comparison::EqualityOnly => (None, Some("made")),
                Comparison::Neither => (Some("made"), Some("made")),
            };
            assert_eq!(scalar.part_without_equality(), equality, "{}", line.name);
            assert_eq!(scalar.part_without_order(), order, "{}", line.name);
        }
        let padded: Vec<_> =
            TYPES.iter().filter(|line| line.comparison == Comparison::Padded).collect();
        assert_eq!(padded.iter().map(|line| line.name).collect::<Vec<_>>(), ["bpchar"]);
    }

    #[test]
    fn the_first_part_that_cannot_be_compared_is_named() {
        let cases = [
            (of(Shape::Array(known("json"))), Some("json"), Some("json")),
            (of(Shape::Array(known("jsonb"))), None, Some("jsonb")),
            (of(Shape::Array(known("int4"))), None, None),
            (of(Shape::Range(known("int4"))), None, Some("made")),
            (of(Shape::Multirange(known("point"))), Some("point"), Some("made")),
            (composite(&[known("int4"), known("inet"), known("xml")]), Some("xml"), Some("inet")),
            (composite(&[known("int4"), known("text")]), None, None),
            (of(Shape::Record(crate::Types::default())), None, Some("made")),
        ];
        for (made, equality, order) in cases {
            assert_eq!(made.part_without_equality(), equality, "{made:?}");
            assert_eq!(made.part_without_order(), order, "{made:?}");
            let domain = of(Shape::Domain { base: Arc::new(made), type_modifier: -1 });
            assert_eq!(domain.part_without_equality(), equality);
            let format = CodecFormat::Text;
            let coded = of(Shape::Custom { codec: 0, format, under: Arc::new(domain) });
            assert_eq!(coded.part_without_order(), order);
        }
    }

    #[test]
    fn an_enum_has_an_order_by_itself_only() {
        let domain = of(Shape::Domain { base: mood(), type_modifier: -1 });
        for alone in [&mood(), &domain] {
            assert_eq!((alone.part_without_equality(), alone.part_without_order()), (None, None));
        }
        for made in [of(Shape::Array(mood())), composite(&[known("int4"), mood()])] {
            assert_eq!(made.part_without_equality(), None);
            assert_eq!(made.part_without_order(), Some("mood"));
        }
    }

    #[test]
    fn vectors_have_another_order_than_arrays() {
        for (oid, order) in [(22, Some("int2vector")), (30, Some("oidvector")), (1007, None)] {
            assert_eq!(built_in(oid).unwrap().part_without_order(), order);
        }
    }

    #[test]
    fn bytes_of_an_unknown_type_are_not_compared() {
        let unknown = Type::opaque(70_000);
        assert_eq!(unknown.part_without_equality(), Some("oid 70000"));
        assert_eq!(unknown.part_without_order(), Some("oid 70000"));
        // A column that was given: its Arrow values are all there is.
        let given = of(Shape::Opaque);
        assert_eq!((given.part_without_equality(), given.part_without_order()), (None, None));
        assert!(given.may_have_mean() && given.may_have_sum());
    }

    #[test]
    fn numbers_have_sums_and_means() {
        let lines = || TYPES.iter().chain(EXTENSION_TYPES);
        let means = lines().filter(|line| of(Shape::Scalar(line)).may_have_mean());
        let names: Vec<_> = means.map(|line| line.name).collect();
        assert_eq!(names, ["int8", "int2", "int4", "float4", "float8", "numeric"]);
        let sums = lines().filter(|line| of(Shape::Scalar(line)).may_have_sum());
        let others: Vec<_> = sums.map(|line| line.name).filter(|it| !names.contains(it)).collect();
        assert_eq!(others, ["interval"]);
        let positive = of(Shape::Domain { base: known("numeric"), type_modifier: -1 });
        assert!(positive.may_have_mean() && positive.may_have_sum());
        assert!(!of(Shape::Array(known("int4"))).may_have_sum());
    }
}
