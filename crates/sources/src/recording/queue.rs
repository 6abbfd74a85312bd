//! Events on their way out, in order, some of which wait until it is known what they are.

use std::collections::VecDeque;

use whyoom_trace::{Event, EventSink, Tables};

/// What waits longer than this many events goes out as it is: memory stays bounded.
const LONGEST: usize = 8192;

/// The place of an event in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
struct Entry {
    /// Nothing where the event was dropped.
    event: Option<Event>,
    decided: bool,
}

/// Keeps the order of events while some of them wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    /// How many have left.
    left: u64,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sends an event that goes out as it is, behind those that wait.
    #[inline]
    pub(super) fn send(&mut self, event: &Event, tables: &Tables, sink: &mut dyn EventSink) {
        // Nearly always nothing waits: then nothing need be kept.
        if self.entries.is_empty() {
            sink.event(event, tables);
        } else {
            self.push(*event);
        }
    }

    /// Adds an event that goes out as it is.
    pub(super) fn push(&mut self, event: Event) {
        self.entries.push_back(Entry { event: Some(event), decided: true });
    }

    /// Adds an event that waits.
    pub(super) fn wait(&mut self, event: Event) -> Ticket {
        self.entries.push_back(Entry { event: Some(event), decided: false });
        Ticket(self.left + self.entries.len() as u64 - 1)
    }

    /// Whether that event can still be changed.
    pub(super) fn is_open(&self, ticket: Ticket) -> bool {
        self.entry(ticket).is_some_and(|index| !self.entries[index].decided)
    }

    /// An event that waits.
    pub(super) fn waiting(&self, ticket: Ticket) -> Option<&Event> {
        let entry = &self.entries[self.entry(ticket)?];
        entry.event.as_ref().filter(|_| !entry.decided)
    }

    /// Puts another event, or none, in the place of one that waits.
    pub(super) fn replace(&mut self, ticket: Ticket, event: Option<Event>) {
        if let Some(index) = self.entry(ticket) {
            self.entries[index] = Entry { event, decided: true };
        }
    }

    /// Lets an event go as it is, if it waits.
    pub(super) fn release(&mut self, ticket: Ticket) {
        if let Some(index) = self.entry(ticket) {
            self.entries[index].decided = true;
        }
    }

    /// Sends what need not wait any longer.
    pub(super) fn flush(&mut self, tables: &Tables, sink: &mut dyn EventSink) {
        while let Some(first) = self.entries.front() {
            if !first.decided && self.entries.len() <= LONGEST {
                return;
            }
            self.send_first(tables, sink);
        }
    }

    /// Sends everything.
    pub(super) fn finish(&mut self, tables: &Tables, sink: &mut dyn EventSink) {
        while !self.entries.is_empty() {
            self.send_first(tables, sink);
        }
    }

    fn send_first(&mut self, tables: &Tables, sink: &mut dyn EventSink) {
        self.left += 1;
        if let Some(event) = self.entries.pop_front().and_then(|entry| entry.event) {
            sink.event(&event, tables);
        }
    }

    fn entry(&self, ticket: Ticket) -> Option<usize> {
        let index = usize::try_from(ticket.0.checked_sub(self.left)?).ok()?;
        (index < self.entries.len()).then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use whyoom_trace::Time;

    use super::*;

    fn at(time: u64) -> Event {
        Event { time: Time(time), ..Event::default() }
    }

    fn times(events: &[Event]) -> Vec<u64> {
        events.iter().map(|event| event.time.0).collect()
    }

    #[test]
    fn order_is_kept_while_one_waits() {
        let (tables, mut sent) = (Tables::default(), Vec::new());
        let mut queue = Queue::default();
        queue.push(at(1));
        let second = queue.wait(at(2));
        queue.push(at(3));
        queue.flush(&tables, &mut sent);
        assert_eq!(times(&sent), [1]);
        assert!(queue.is_open(second));
        queue.replace(second, Some(at(20)));
        queue.flush(&tables, &mut sent);
        assert_eq!(times(&sent), [1, 20, 3]);
        assert!(!queue.is_open(second));
    }

    #[test]
    fn what_is_sent_does_not_overtake_what_waits() {
        let (tables, mut sent) = (Tables::default(), Vec::new());
        let mut queue = Queue::default();
        queue.send(&at(1), &tables, &mut sent);
        assert_eq!(times(&sent), [1], "nothing waits");
        let second = queue.wait(at(2));
        queue.send(&at(3), &tables, &mut sent);
        assert_eq!(times(&sent), [1]);
        queue.release(second);
        queue.flush(&tables, &mut sent);
        queue.send(&at(4), &tables, &mut sent);
        assert_eq!(times(&sent), [1, 2, 3, 4]);
    }

    #[test]
    fn nothing_waits_for_ever() {
        let (tables, mut sent) = (Tables::default(), Vec::new());
        let mut queue = Queue::default();
        let first = queue.wait(at(0));
        for time in 1..=LONGEST as u64 {
            queue.push(at(time));
            queue.flush(&tables, &mut sent);
        }
        assert_eq!(sent.len(), LONGEST + 1);
        queue.replace(first, None);
        queue.finish(&tables, &mut sent);
        assert_eq!(sent.len(), LONGEST + 1);
    }
}
