//! How a message looks on its way: datagrams, each with a head and a part of the bytes.

/// The largest message that ranks exchange. Kernels compute nothing, so nobody can tell what larger
/// data holds; small data carries what programs compare: counts, shapes, sizes.
pub(crate) const LARGEST: usize = 1 << 20;

/// Bytes of a message in one datagram: far below what a socket takes at once.
const PART: usize = 64 << 10;
const HEAD: usize = 32;
/// Room for any datagram.
pub(crate) const LONGEST: usize = HEAD + PART;

/// What a message is for. Messages of different lanes do not overtake each other's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Collectives, which all ranks call in the same order.
    Collective,
    /// `ncclSend` and `ncclRecv`.
    Pair,
    /// `ncclCommSplit`.
    Split,
}

const LANES: [Lane; 3] = [Lane::Collective, Lane::Pair, Lane::Split];

/// From whom to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub communicator: u64,
    pub from: u32,
    pub to: u32,
    pub lane: Lane,
}

/// What a rank sends: the bytes, and the number of the call that sent them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub call: u32,
    pub bytes: Vec<u8>,
}

/// A datagram that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part<'datagram> {
    pub route: Route,
    pub call: u32,
    /// The length of the whole message.
    pub total: usize,
    /// Nothing but zeros, which are not sent: most of what was never computed is zero.
    pub zeros: bool,
    pub bytes: &'datagram [u8],
}

/// The datagrams of a message.
pub(crate) fn datagrams(route: Route, message: &Message) -> impl Iterator<Item = Vec<u8>> {
    let zeros = is_zero(&message.bytes);
    let head = head(route, message, zeros);
    let sent = if zeros { &[] } else { message.bytes.as_slice() };
    // A message without bytes is one datagram too.
    let empty = sent.is_empty().then_some(&[][..]);
    empty.into_iter().chain(sent.chunks(PART)).map(move |part| [&head, part].concat())
}

/// Whether there are only zeros; many bytes at once, because messages can be long.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|word| *word == [0; 64]) && rest.iter().all(|&byte| byte == 0)
}

fn head(route: Route, message: &Message, zeros: bool) -> [u8; HEAD] {
    let words = [
        route.communicator as u32,
        (route.communicator >> 32) as u32,
        route.from,
        route.to,
        route.lane as u32,
        message.call,
        message.bytes.len() as u32,
        u32::from(zeros),
    ];
    let mut head = [0; HEAD];
    head.copy_from_slice(words.map(u32::to_ne_bytes).as_flattened());
    head
}

/// Reads a datagram; nothing where it is none of ours.
pub(crate) fn read(datagram: &[u8]) -> Option<Part<'_>> {
    let (head, bytes) = datagram.split_at_checked(HEAD)?;
    let (words, _) = head.as_chunks::<4>();
    let word = |index: usize| u32::from_ne_bytes(words[index]);
    let communicator = u64::from(word(0)) | u64::from(word(1)) << 32;
    let lane = *LANES.get(word(4) as usize)?;
    let total = word(6) as usize;
    let route = Route { communicator, from: word(2), to: word(3), lane };
    let part = Part { route, call: word(5), total, zeros: word(7) != 0, bytes };
    (total <= LARGEST && bytes.len() <= total).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: Route = Route { communicator: 7 << 40, from: 1, to: 2, lane: Lane::Pair };

    fn sent(bytes: Vec<u8>) -> (usize, usize, Vec<u8>) {
        let message = Message { call: 3, bytes };
        let (mut count, mut total, mut all) = (0, 0, Vec::new());
        for datagram in datagrams(ROUTE, &message) {
            assert!(datagram.len() <= LONGEST);
            let part = read(&datagram).expect("ours");
            assert_eq!((part.route, part.call), (ROUTE, 3));
            (count, total) = (count + 1, part.total);
            all.extend_from_slice(part.bytes);
        }
        (count, total, all)
    }

    #[test]
    fn a_message_arrives_in_parts() {
        assert_eq!(sent(vec![9; 4]), (1, 4, vec![9; 4]));
        let long = vec![5; PART * 2 + 1];
        assert_eq!(sent(long.clone()), (3, long.len(), long));
    }

    #[test]
    fn zeros_and_nothing_are_one_datagram_without_bytes() {
        assert_eq!(sent(vec![0; LARGEST]), (1, LARGEST, Vec::new()));
        assert_eq!(sent(Vec::new()), (1, 0, Vec::new()));
    }

    #[test]
    fn a_single_byte_is_not_zero_wherever_it_is() {
        for place in 0..130 {
            let mut bytes = vec![0; 130];
            assert!(is_zero(&bytes));
            bytes[place] = 1;
            assert!(!is_zero(&bytes));
        }
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        assert_eq!(read(&[1; HEAD - 1]), None);
        assert_eq!(read(&[0xff; HEAD]), None);
        let message = Message { call: 0, bytes: vec![1; 2] };
        let mut datagram = datagrams(ROUTE, &message).next().expect("one");
        datagram.push(1);
        assert_eq!(read(&datagram), None, "more than the whole");
    }
}
