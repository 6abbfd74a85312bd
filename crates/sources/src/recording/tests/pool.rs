//! Events of whyoom's pool, which tells of its segments itself.

use super::*;

/// The pool's pages, by their number: where they lie, and what the driver and the pool say of them.
struct Page(u64);

impl Page {
    const SIZE: u64 = 2 * MIB;

    fn create(&self) -> Action {
        Action::Create { handle: HandleId(self.0), size: Bytes(Self::SIZE) }
    }

    fn map(&self, at: u64) -> Action {
        let (address, size) = (Address(at * Self::SIZE), Bytes(Self::SIZE));
        Action::Map { address, size, handle: HandleId(self.0) }
    }

    fn unmap(at: u64) -> Action {
        Action::Unmap { address: Address(at * Self::SIZE), size: Bytes(Self::SIZE) }
    }

    fn release(&self) -> Action {
        Action::Release { handle: HandleId(self.0) }
    }

    fn segment(at: u64) -> Action {
        Self::segment_for(at, SizeClass::Large)
    }

    fn segment_for(at: u64, class: SizeClass) -> Action {
        let (address, size) = (Address(at * Self::SIZE), Bytes(Self::SIZE));
        Action::SegmentMap { address, size, class }
    }

    fn segment_gone(at: u64) -> Action {
        Action::SegmentUnmap { address: Address(at * Self::SIZE), size: Bytes(Self::SIZE) }
    }
}

fn reserve(at: u64, pages: u64) -> Action {
    let (address, size) = (Address(at * Page::SIZE), Bytes(pages * Page::SIZE));
    Action::Reserve { address, size }
}

#[test]
fn the_pools_segments_are_what_it_says() {
    let (one, two) = (Page(1), Page(2));
    let sent = of_one_thread(&[
        reserve(0, 16),
        one.create(),
        two.create(),
        one.map(0),
        two.map(1),
        Page::segment(0),
        // A small request was the first that needed it; a large one lies in both.
        Page::segment_for(1, SizeClass::Small),
        block(0, 3 * MIB),
        Action::BlockFree { address: Address(0) },
        // A page moves to another lane's range: the old mapping goes later.
        reserve(32, 16),
        Page::segment_gone(1),
        two.map(32),
        Page::segment(32),
        block(32 * Page::SIZE, MIB),
        Page::unmap(1),
        Page::segment_gone(0),
        Page::unmap(0),
        one.release(),
        Action::Exit,
    ]);
    let expected = [
        reserve(0, 16),
        Page::segment(0),
        Page::segment(1),
        block(0, 3 * MIB),
        Action::BlockFree { address: Address(0) },
        reserve(32, 16),
        Page::segment_gone(1),
        Page::segment(32),
        block(32 * Page::SIZE, MIB),
        Page::segment_gone(0),
        Action::Exit,
    ];
    assert_eq!(sent, expected);
}

#[test]
fn what_the_pool_claims_late_is_taken_back_from_the_driver() {
    let page = Page(7);
    let sync = Action::PoolTrim { keep: Bytes(0) };
    let sent = of_one_thread(&[reserve(0, 4), page.create(), page.map(2), sync, Page::segment(2)]);
    let expected = [
        reserve(0, 4),
        page.create(),
        page.map(2),
        sync,
        Page::unmap(2),
        page.release(),
        Page::segment(2),
    ];
    assert_eq!(sent, expected);
    // Nobody saw the range being reserved.
    let unseen = of_one_thread(&[page.create(), page.map(2), Page::segment(2), page.create()]);
    assert_eq!(unseen, [Page::segment(2), page.create()]);
}

#[test]
fn a_refusal_inside_the_pool_is_no_failure_and_its_memory_is_counted_once() {
    let mut tables = Tables::default();
    let inside = tables.frame_text("whyoom_pool::growth::create", "libwhyoom_pool.so", 0);
    let inside = tables.stack(&[inside]);
    let refused = Event { stack: inside, result: REFUSED, ..event(1, failure(Page::SIZE)) };
    let page = Page(1);
    let mut events: Vec<Event> =
        [reserve(0, 4), page.create(), page.map(0), Page::segment(0), block(0, MIB)]
            .iter()
            .map(|action| event(1, *action))
            .collect();
    events.push(event(1, sample(Counter::DeviceFree, 0)));
    events.push(refused);
    let known = events.len();
    // It found idle pages.
    events.push(event(1, block(MIB, 512)));
    let (sent, _) = translate(&events, &tables);
    assert!(!sent.iter().any(|action| matches!(action, Action::OutOfMemory { .. })), "{sent:?}");
    // It found none.
    events.truncate(known);
    events.push(event(1, sample(Counter::Reserved, Page::SIZE)));
    events.push(event(1, failure(8 * MIB)));
    let (sent, found) = translate(&events, &tables);
    let expected =
        [sample(Counter::DeviceFree, 0), sample(Counter::Reserved, Page::SIZE), failure(8 * MIB)];
    assert_eq!(sent[sent.len() - 3..], expected);
    assert_eq!(found.disagreements, []);
}
