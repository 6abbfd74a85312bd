//! Standard input and output, watched: a message has an end, and a client that has gone is noticed.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc::UnboundedSender,
};

use crate::ending::Ending;

/// A message is a line. A longer one is nobody's.
const LONGEST_MESSAGE: usize = 32 << 20;

/// What comes in.
pub(crate) struct Incoming<R> {
    inner: R,
    /// Bytes since the line began.
    line: usize,
    longest: usize,
    ended: UnboundedSender<Ending>,
}

impl<R> Incoming<R> {
    pub(crate) fn new(inner: R, ended: UnboundedSender<Ending>) -> Self {
        Self { inner, line: 0, longest: LONGEST_MESSAGE, ended }
    }

    fn counts(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.line = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => bytes.len() - at - 1,
            None => self.line + bytes.len(),
        };
        if self.line <= self.longest {
            return Ok(());
        }
        let _ = self.ended.send(Ending::MessageTooLong);
        Err(io::ErrorKind::InvalidData.into())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Incoming<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(())))
            && let Err(error) = self.counts(&buffer.filled()[before..])
        {
            // An error says that nothing was read.
            buffer.set_filled(before);
            return Poll::Ready(Err(error));
        }
        read
    }
}

/// What goes out.
pub(crate) struct Outgoing<W> {
    inner: W,
    ended: UnboundedSender<Ending>,
}

impl<W> Outgoing<W> {
    pub(crate) fn new(inner: W, ended: UnboundedSender<Ending>) -> Self {
        Self { inner, ended }
    }

    fn watched<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Err(_))) {
            let _ = self.ended.send(Ending::ClientGone);
        }
        written
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Outgoing<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.watched(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.watched(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, sync::mpsc::unbounded_channel};

    use super::*;

    #[test]
    fn a_message_without_end_ends_the_session() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let read = |text: &'static [u8]| {
            let (send, mut receive) = unbounded_channel();
            let mut incoming = Incoming { longest: 4, ..Incoming::new(text, send) };
            let read = runtime.block_on(incoming.read_to_end(&mut Vec::new()));
            (read.is_ok(), receive.try_recv().ok())
        };
        assert_eq!(read(b"1234\n1234\n12"), (true, None));
        assert_eq!(read(b"1\n12345"), (false, Some(Ending::MessageTooLong)));
    }
}
