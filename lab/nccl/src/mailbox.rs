//! Messages that have arrived for the ranks of this process, until they are taken.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    frame::{Message, Part, Route},
    status::Failure,
};

/// A rank of this process: a communicator and a number in it.
pub(crate) type Member = (u64, u32);

/// What a member does.
#[derive(Default)]
struct Activity {
    /// Operations under way, on any thread.
    under_way: u32,
    /// The communicator is about to end: nobody waits any longer.
    leaving: bool,
}

#[derive(Default)]
struct State {
    members: HashMap<Member, Activity>,
    arrived: HashMap<Route, VecDeque<Message>>,
    /// What has come of a message whose parts are not all here.
    begun: HashMap<Route, Vec<u8>>,
    /// How many messages are dropped when they come: whom they were for did not wait.
    unwanted: HashMap<Route, u32>,
    /// How often those who wait were woken.
    woken: u64,
}

impl State {
    fn is_leaving(&self, member: Member) -> bool {
        self.members.get(&member).is_none_or(|activity| activity.leaving)
    }

    /// Keeps a whole message, unless nobody wants it any longer.
    fn arrive(&mut self, route: Route, message: Message) {
        match self.unwanted.get_mut(&route) {
            Some(count) if *count > 0 => *count -= 1,
            _ => self.arrived.entry(route).or_default().push_back(message),
        }
    }
}

/// The mailbox of a process.
#[derive(Default)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

/// What taking a message led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Message(Message),
    /// Nothing has come.
    Nothing,
    /// The communicator ends.
    Leaving,
}

impl Mailbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts messages for a rank from now on; false where it does already.
    #[must_use]
    pub(crate) fn join(&self, member: Member) -> bool {
        match self.state().members.entry(member) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Activity::default());
                true
            }
        }
    }

    /// Whether another rank of a communicator is in this process.
    pub(crate) fn has_another(&self, (communicator, rank): Member) -> bool {
        self.state().members.keys().any(|it| it.0 == communicator && it.1 != rank)
    }

    /// Ends the waits of a rank's operations and forgets its messages. Returns when no thread is
    /// in an operation of the rank: its communicator can then be freed.
    pub(crate) fn leave(&self, member: Member) {
        let mut state = self.state();
        if let Some(activity) = state.members.get_mut(&member) {
            activity.leaving = true;
        }
        self.changed.notify_all();
        let busy = |state: &mut State| {
            state.members.get(&member).is_some_and(|activity| activity.under_way > 0)
        };
        let mut state =
            self.changed.wait_while(state, busy).unwrap_or_else(PoisonError::into_inner);
        state.members.remove(&member);
        let is_other = |route: &Route| (route.communicator, route.to) != member;
        state.arrived.retain(|route, _| is_other(route));
        state.begun.retain(|route, _| is_other(route));
        state.unwanted.retain(|route, _| is_other(route));
    }

    /// Begins an operation of a rank, which lasts as long as the answer.
    pub(crate) fn enter(&self, member: Member) -> Result<UnderWay<'_>, Failure> {
        let mut state = self.state();
        let activity = state.members.get_mut(&member).filter(|activity| !activity.leaving);
        activity.ok_or(Failure::InvalidUsage)?.under_way += 1;
        Ok(UnderWay { mailbox: self, member })
    }

    /// Whether the communicator of a rank ends, or has ended.
    pub(crate) fn is_leaving(&self, member: Member) -> bool {
        self.state().is_leaving(member)
    }

    /// Keeps a message for a rank of this process; false where the rank is not here.
    pub(crate) fn deliver(&self, route: Route, message: &Message) -> bool {
        let mut state = self.state();
        let is_here = state.members.contains_key(&(route.communicator, route.to));
        if is_here {
            state.arrive(route, message.clone());
            self.changed.notify_all();
        }
        is_here
    }

    /// Keeps a part of a message; the message arrives with its last part. Parts for a rank that
    /// has left are dropped.
    pub(crate) fn add(&self, part: &Part<'_>) {
        let mut state = self.state();
        if !state.members.contains_key(&(part.route.communicator, part.route.to)) {
            return;
        }
        let mut bytes = state.begun.remove(&part.route).unwrap_or_default();
        if part.zeros {
            bytes = vec![0; part.total];
        } else {
            bytes.extend_from_slice(part.bytes);
        }
        if bytes.len() < part.total {
            state.begun.insert(part.route, bytes);
            return;
        }
        let message = Message { call: part.call, bytes };
        state.arrive(part.route, message);
        self.changed.notify_all();
    }

    /// Takes the next message of a route, if it is here; how often those who wait had been woken.
    pub(crate) fn take(&self, route: Route) -> (Taken, u64) {
        let mut state = self.state();
        let woken = state.woken;
        if state.is_leaving((route.communicator, route.to)) {
            return (Taken::Leaving, woken);
        }
        let message = state.arrived.get_mut(&route).and_then(VecDeque::pop_front);
        (message.map_or(Taken::Nothing, Taken::Message), woken)
    }

    /// Takes the next message of a route. If it is not here, it is dropped when it comes, so that the
    /// one after it is the next.
    pub(crate) fn forgo(&self, route: Route) -> Option<Message> {
        let mut state = self.state();
        let message = state.arrived.get_mut(&route).and_then(VecDeque::pop_front);
        if message.is_none() {
            *state.unwanted.entry(route).or_default() += 1;
        }
        message
    }

    /// Waits until a message of a route is here, somebody wakes those who wait, or so long.
    pub(crate) fn wait(&self, route: Route, woken: u64, longest: Duration) {
        let goes_on = |state: &mut State| {
            let is_empty = state.arrived.get(&route).is_none_or(VecDeque::is_empty);
            is_empty && state.woken == woken && !state.is_leaving((route.communicator, route.to))
        };
        drop(self.changed.wait_timeout_while(self.state(), longest, goes_on));
    }

    /// Wakes all who wait.
    pub(crate) fn wake(&self) {
        self.state().woken += 1;
        self.changed.notify_all();
    }
}

/// An operation of a rank.
pub(crate) struct UnderWay<'mailbox> {
    mailbox: &'mailbox Mailbox,
    member: Member,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(activity) = self.mailbox.state().members.get_mut(&self.member) {
            activity.under_way -= 1;
        }
        self.mailbox.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::frame::{Lane, datagrams, read};

    const LONG: Duration = Duration::from_secs(60);
    const MEMBER: Member = (5, 1);

    fn route(from: u32, lane: Lane) -> Route {
        Route { communicator: 5, from, to: 1, lane }
    }

    fn message(byte: u8, length: usize) -> Message {
        Message { call: 1, bytes: vec![byte; length] }
    }

    #[test]
    fn messages_of_a_route_keep_their_order() {
        let mailbox = Mailbox::default();
        assert!(mailbox.join(MEMBER));
        let (pair, other) = (route(0, Lane::Pair), route(0, Lane::Collective));
        for byte in [1, 2] {
            assert!(mailbox.deliver(pair, &message(byte, 4)));
        }
        assert_eq!(mailbox.take(other).0, Taken::Nothing);
        assert_eq!(mailbox.take(pair).0, Taken::Message(message(1, 4)));
        assert_eq!(mailbox.take(pair).0, Taken::Message(message(2, 4)));
        assert!(!mailbox.deliver(Route { to: 2, ..pair }, &message(1, 4)));
    }

    #[test]
    fn a_message_that_was_forgone_is_dropped_when_it_comes() {
        let (mailbox, route) = (Mailbox::default(), route(0, Lane::Pair));
        assert!(mailbox.join(MEMBER));
        mailbox.deliver(route, &message(1, 4));
        assert_eq!(mailbox.forgo(route), Some(message(1, 4)), "it is here");
        assert_eq!(mailbox.forgo(route), None);
        for byte in [2, 3] {
            mailbox.deliver(route, &message(byte, 4));
        }
        assert_eq!(mailbox.take(route).0, Taken::Message(message(3, 4)));
    }

    #[test]
    fn a_message_arrives_with_its_last_part() {
        let mailbox = Mailbox::default();
        assert!(mailbox.join(MEMBER));
        let (route, long) = (route(0, Lane::Pair), message(3, 100_000));
        let datagrams: Vec<_> = datagrams(route, &long).collect();
        mailbox.add(&read(&datagrams[0]).expect("ours"));
        assert_eq!(mailbox.take(route).0, Taken::Nothing);
        mailbox.add(&read(&datagrams[1]).expect("ours"));
        assert_eq!(mailbox.take(route).0, Taken::Message(long));
    }

    #[test]
    fn a_rank_joins_once() {
        let mailbox = Mailbox::default();
        assert!(mailbox.join(MEMBER));
        let under_way = mailbox.enter(MEMBER).expect("here");
        assert!(!mailbox.join(MEMBER));
        drop(under_way);
        assert!(!mailbox.has_another(MEMBER) && mailbox.has_another((5, 0)));
        mailbox.leave(MEMBER);
        assert!(mailbox.join(MEMBER));
    }

    #[test]
    fn who_waits_is_woken_when_the_communicator_ends() {
        let mailbox = Mailbox::default();
        assert!(mailbox.join(MEMBER));
        thread::scope(|scope| {
            let under_way = mailbox.enter(MEMBER).expect("here");
            let waiter = scope.spawn(|| {
                mailbox.wait(route(0, Lane::Pair), 0, LONG);
                drop(under_way);
                mailbox.take(route(0, Lane::Pair)).0
            });
            mailbox.leave(MEMBER);
            assert_eq!(waiter.join().expect("no panic"), Taken::Leaving);
        });
        assert!(mailbox.enter(MEMBER).is_err());
    }
}
