//! A connection that can log in without a password, run one query and ignore the answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::arguments::Arguments;
use crate::boundary::{Boundaries, Outcome};
use crate::system::{set_receive_low_water, wait_readable};

/// The size of one read, the same as the driver's.
pub(crate) const BUFFER_BYTES: usize = 128 * 1024;
const PROTOCOL_VERSION: u32 = 3 << 16;
/// How long a read waits for the low-water mark. The last bytes of a result never reach it.
const LOW_WATER_PATIENCE: Duration = Duration::from_millis(2);

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Self::Unix(stream) => stream.set_nonblocking(nonblocking),
        }
    }
}

/// The answer to one query: its outcome, its bytes, and the number of reads.
pub(crate) struct Drained {
    pub(crate) outcome: Outcome,
    pub(crate) bytes: u64,
    pub(crate) reads: u64,
}

/// A logged-in connection.
pub(crate) struct Connection {
    socket: Socket,
    buffer: Vec<u8>,
    boundaries: Boundaries,
    receive_low_water: Option<i32>,
}

impl Connection {
    /// Connects and waits until the server is ready for a query.
    pub(crate) fn open(arguments: &Arguments) -> Result<Self, String> {
        let mut connection = Self {
            socket: connect(&arguments.host, arguments.port)
                .map_err(|error| format!("{}:{}: {error}", arguments.host, arguments.port))?,
            buffer: vec![0; BUFFER_BYTES],
            boundaries: Boundaries::default(),
            receive_low_water: None,
        };
        let parameters = format!("user\0{}\0database\0{}\0\0", arguments.user, arguments.database);
        let mut startup = Vec::new();
        length_prefixed(&mut startup, &[&PROTOCOL_VERSION.to_be_bytes(), parameters.as_bytes()])?;
        connection.exchange(&startup)?;
        Ok(connection)
    }

    /// Makes later reads wait until `bytes` are available.
    pub(crate) fn set_receive_low_water(&mut self, bytes: i32) -> Result<(), String> {
        if matches!(self.socket, Socket::Unix(_)) {
            return Err("a low-water mark needs TCP: poll ignores it on Unix sockets".into());
        }
        set_receive_low_water(self.socket.as_fd(), bytes)
            .and_then(|()| self.socket.set_nonblocking(true))
            .map_err(|error| format!("low-water mark: {error}"))?;
        self.receive_low_water = Some(bytes);
        Ok(())
    }

    /// Runs `sql` as one extended query with binary results and throws the rows away.
    pub(crate) fn drain(&mut self, sql: &str) -> Result<Drained, String> {
        let mut messages = Vec::new();
        message(&mut messages, b'P', &[b"\0", sql.as_bytes(), b"\0\0\0"])?;
        // Unnamed portal and statement, no parameters, one result format for all columns: binary.
        message(&mut messages, b'B', &[b"\0\0\0\0\0\0\0\x01\0\x01"])?;
        message(&mut messages, b'E', &[b"\0\0\0\0\0"])?;
        message(&mut messages, b'S', &[])?;
        self.exchange(&messages)
    }

    /// Sends `messages` and reads until the server is ready again.
    fn exchange(&mut self, messages: &[u8]) -> Result<Drained, String> {
        self.socket.write_all(messages).map_err(|error| format!("write: {error}"))?;
        let (mut bytes, mut reads) = (0, 0);
        while !self.boundaries.outcome().ready {
            let count = self.receive().map_err(|error| format!("read: {error}"))?;
            let Some(received) = self.buffer.get(..count).filter(|received| !received.is_empty())
            else {
                let told = self.boundaries.take_outcome().error;
                return Err(told.unwrap_or_else(|| "the server closed the connection".into()));
            };
            self.boundaries.advance(received)?;
            bytes += count as u64;
            reads += 1;
            if let Some(method @ 1..) = self.boundaries.outcome().authentication {
                return Err(format!("the server asks for authentication ({method}), not trust"));
            }
        }
        let outcome = self.boundaries.take_outcome();
        match outcome.error {
            Some(error) => Err(error),
            None => Ok(Drained { outcome, bytes, reads }),
        }
    }

    fn receive(&mut self) -> io::Result<usize> {
        if self.receive_low_water.is_none() {
            return self.socket.read(&mut self.buffer);
        }
        // A non-blocking read takes the available bytes, even below the mark, so the tail of a
        // result costs one timeout and no more.
        loop {
            wait_readable(self.socket.as_fd(), LOW_WATER_PATIENCE)?;
            match self.socket.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }
}

fn connect(host: &str, port: u16) -> io::Result<Socket> {
    if host.starts_with('/') {
        return UnixStream::connect(format!("{host}/.s.PGSQL.{port}")).map(Socket::Unix);
    }
    let stream = TcpStream::connect((host, port))?;
    stream.set_nodelay(true)?;
    Ok(Socket::Tcp(stream))
}

fn message(out: &mut Vec<u8>, tag: u8, parts: &[&[u8]]) -> Result<(), String> {
    out.push(tag);
    length_prefixed(out, parts)
}

fn length_prefixed(out: &mut Vec<u8>, parts: &[&[u8]]) -> Result<(), String> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>() + size_of::<u32>();
    let length = u32::try_from(length).map_err(|_| String::from("the statement is too long"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend(parts.iter().copied().flatten());
    Ok(())
}
