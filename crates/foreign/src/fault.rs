//! The reason why an import failed.

use std::fmt;

use arrow_schema::ArrowError;

/// The reason why an import failed.
#[derive(Debug)]
pub enum Fault {
    /// The data does not match its type, or its values are invalid.
    Data(ArrowError),
    /// The producer failed, with this message.
    Producer(String),
    /// The stream was already consumed.
    Released,
}

impl From<ArrowError> for Fault {
    fn from(error: ArrowError) -> Self {
        Self::Data(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(error) => match unknown_type(error) {
                Some(format) => write!(
                    f,
                    "the data have a type of their library's own, {format}: cast the column \
                     before, such as Polars' Int128 to Int64 or Decimal(38, 0)"
                ),
                None => write!(f, "the Arrow data is faulty: {error}"),
            },
            Self::Producer(reason) => f.write_str(reason),
            Self::Released => f.write_str("the stream is released: it was already consumed"),
        }
    }
}

impl std::error::Error for Fault {}

/// The format of a type that only another library knows, as Polars' 128-bit integers. The data are
/// not faulty.
fn unknown_type(error: &ArrowError) -> Option<&str> {
    let ArrowError::CDataInterface(text) = error else { return None };
    let (format, _) = text.strip_prefix("The datatype ")?.split_once(" is still not supported")?;
    Some(format)
}

#[cfg(test)]
mod tests {
    use arrow_schema::{ArrowError, DataType};

    use super::Fault;

    #[test]
    fn a_type_of_a_library_is_not_called_faulty() {
        let schema = arrow_array::ffi::FFI_ArrowSchema::try_new("_pli128", vec![], None).unwrap();
        let fault = Fault::from(DataType::try_from(&schema).unwrap_err());
        let told = fault.to_string();
        assert!(told.starts_with("the data have a type of their library's own, "), "{told}");
        assert!(told.contains("_pli128"), "{told}");
    }

    #[test]
    fn other_errors_of_data_are_faults() {
        let fault = Fault::from(ArrowError::InvalidArgumentError("no".to_owned()));
        assert_eq!(fault.to_string(), "the Arrow data is faulty: Invalid argument error: no");
    }

    #[test]
    fn a_producer_is_quoted() {
        assert_eq!(Fault::Producer("it is gone".to_owned()).to_string(), "it is gone");
    }
}
