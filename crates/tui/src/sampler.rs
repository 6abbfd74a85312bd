//! Looking at the devices on a thread of its own: a slow driver must not hold up the keys.

use std::{
    fmt::Display,
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use whyoom_node::NodeReport;

use crate::events::Event;

/// What the sampler is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Now,
    Pause(bool),
}

/// The thread that looks. It ends when this is dropped, after the look that it is at.
pub(crate) struct Sampler {
    orders: Sender<Order>,
}

impl Sampler {
    /// Starts to look, at once and then every `interval`.
    pub(crate) fn start<S, E>(
        source: S,
        interval: Duration,
        events: Sender<Event>,
    ) -> io::Result<Self>
    where
        S: FnMut() -> Result<NodeReport, E> + Send + 'static,
        E: Display,
    {
        let (orders, inbox) = channel();
        let look = move || {
            // It tells of its end however it ends, by a panic too.
            let end = End(events.clone());
            work(source, interval, &inbox, &events);
            drop(end);
        };
        thread::Builder::new().name("whyoom-look".to_owned()).spawn(look)?;
        Ok(Self { orders })
    }

    /// Looks as soon as it can. Where the thread has ended, its own word of that is on the way.
    pub(crate) fn look_now(&self) {
        let _ = self.orders.send(Order::Now);
    }

    /// Stops looking, or looks again.
    pub(crate) fn pause(&self, pause: bool) {
        let _ = self.orders.send(Order::Pause(pause));
    }
}

struct End(Sender<Event>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Event::SamplerEnded);
    }
}

fn work<S, E>(mut source: S, interval: Duration, inbox: &Receiver<Order>, events: &Sender<Event>)
where
    S: FnMut() -> Result<NodeReport, E>,
    E: Display,
{
    let mut paused = false;
    loop {
        let begun = Instant::now();
        let seen = source().map_err(|error| error.to_string());
        if events.send(Event::Report(Box::new(seen))).is_err() {
            return;
        }
        if !wait(begun, interval, inbox, &mut paused) {
            return;
        }
    }
}

/// Waits until it is time to look again; false where nobody wants to know any more.
fn wait(begun: Instant, interval: Duration, inbox: &Receiver<Order>, paused: &mut bool) -> bool {
    loop {
        let order = if *paused {
            inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            inbox.recv_timeout(interval.saturating_sub(begun.elapsed()))
        };
        match order {
            Ok(Order::Now) | Err(RecvTimeoutError::Timeout) => return true,
            Ok(Order::Pause(pause)) => *paused = pause,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Result<NodeReport, String> {
        Ok(NodeReport { time: 0, devices: Vec::new(), notes: Vec::new() })
    }

    const LONG: Duration = Duration::from_secs(3600);
    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn looks_at_once_and_when_told() {
        let (sender, events) = channel();
        let sampler = Sampler::start(empty, LONG, sender).unwrap();
        assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::Report(_)));
        sampler.pause(true);
        sampler.pause(false);
        sampler.look_now();
        assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::Report(_)));
        drop(sampler);
        assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::SamplerEnded));
    }

    #[test]
    fn failures_are_told_and_do_not_end_it() {
        let (sender, events) = channel();
        let sampler = Sampler::start(|| Err("no driver"), Duration::ZERO, sender).unwrap();
        for _ in 0..3 {
            let Event::Report(seen) = events.recv_timeout(SOON).unwrap() else { panic!("ended") };
            assert_eq!(*seen, Err("no driver".to_owned()));
        }
        drop(sampler);
    }

    #[test]
    fn a_panic_is_told() {
        fn broken() -> Result<NodeReport, String> {
            panic!("a bug, for the test")
        }
        let (sender, events) = channel();
        let _sampler = Sampler::start(broken, LONG, sender).unwrap();
        assert!(matches!(events.recv_timeout(SOON).unwrap(), Event::SamplerEnded));
    }
}
