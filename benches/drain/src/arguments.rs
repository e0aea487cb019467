//! The command line.

/// How the program is called.
pub(crate) const USAGE: &str = "\
usage: colonnade-drain --sql SQL [--host HOST] [--port PORT] [--user USER] [--database NAME]
                       [--recv-low-water BYTES] [--repeat N]

Runs SQL with binary results, throws the result away, and prints one line of JSON per run.
A HOST that begins with / is the directory of a Unix socket. The server must trust the user:
the drain speaks no other authentication.";

/// The options of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) sql: String,
    pub(crate) receive_low_water: Option<i32>,
    pub(crate) repeat: u32,
}

impl Arguments {
    /// Reads the words after the program's name.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            host: "127.0.0.1".into(),
            port: 5432,
            user: "postgres".into(),
            database: "postgres".into(),
            sql: String::new(),
            receive_low_water: None,
            repeat: 1,
        };
        while let Some(option) = words.next() {
            let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
            match option.as_str() {
                "--host" => arguments.host = value,
                "--port" => arguments.port = number(&option, &value)?,
                "--user" => arguments.user = value,
                "--database" => arguments.database = value,
                "--sql" => arguments.sql = value,
                "--recv-low-water" => arguments.receive_low_water = Some(number(&option, &value)?),
                "--repeat" => arguments.repeat = number(&option, &value)?,
                _ => return Err(format!("unknown option {option}")),
            }
        }
        if arguments.sql.is_empty() {
            return Err("--sql is missing".into());
        }
        Ok(arguments)
    }
}

fn number<T: std::str::FromStr>(option: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{option}: {value:?} is not a number in its range"))
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn defaults_and_options() {
        let arguments = parse("--sql TABLE --port 5433 --recv-low-water 131072").unwrap();
        assert_eq!((arguments.port, arguments.repeat), (5433, 1));
        assert_eq!(arguments.receive_low_water, Some(131_072));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("").unwrap_err().contains("--sql"));
        assert!(parse("--sql").unwrap_err().contains("needs a value"));
        assert!(parse("--sql x --port many").unwrap_err().contains("many"));
        assert!(parse("--sql x --fast yes").unwrap_err().contains("--fast"));
    }
}
