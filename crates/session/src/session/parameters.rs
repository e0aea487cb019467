//! The run-time parameters that the server reports.

use std::collections::BTreeMap;

use colonnade_protocol::RemoteError;

/// Limit on the size of all names and values together. Servers report about fifteen, of which only
/// `search_path` can be long; a server that reports new names without end must not fill the memory.
const BYTES_MAX: usize = 4 << 20;

/// The size of an entry besides its name and value.
const ENTRY_BYTES: usize = 64;

/// Run-time parameters as the server last reported them.
#[derive(Default)]
pub(super) struct Parameters {
    values: BTreeMap<String, String>,
    /// The size of all entries.
    bytes: usize,
}

impl Parameters {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// The parameters exceed the size limit.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), RemoteError> {
        let size = |value: &str| ENTRY_BYTES + name.len() + value.len();
        let bytes_before = self.values.get(name).map_or(0, |before| size(before));
        let bytes = self.bytes - bytes_before + size(value);
        if bytes > BYTES_MAX {
            return Err(RemoteError::TooManyParameters { limit: BYTES_MAX });
        }
        self.bytes = bytes;
        self.values.insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_have_a_limit_together() {
        let mut parameters = Parameters::default();
        for _ in 0..100 {
            parameters.set("search_path", &"x".repeat(1 << 20)).unwrap();
        }
        assert_eq!(parameters.iter().count(), 1);
        let refused = (0..).find(|n| parameters.set(&format!("name_{n}"), "").is_err()).unwrap();
        assert!((10_000..100_000).contains(&refused), "{refused}");
        assert!(parameters.set("search_path", "short").is_ok(), "there is room again");
        assert!(parameters.set("search_path", &"x".repeat(BYTES_MAX)).is_err());
        assert_eq!(parameters.get("search_path"), Some("short"));
    }
}
