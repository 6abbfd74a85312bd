//! Making and ending communicators.

use whyoom_lab_abi::{In, Out, exports};

use crate::{
    communicator::{Communicator, CommunicatorPointer, Place},
    configuration::{CallerConfig, Configuration},
    driver::Driver,
    endpoint::random,
    group, meeting,
    membership::Membership,
    status::{Failure, Status},
    wait::complain,
};

/// `NCCL_SPLIT_NOCOLOR`: this rank takes no part.
const NO_COLOR: i32 = -1;

/// `ncclUniqueId`. Only its first eight bytes say anything here.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct UniqueId([u8; 128]);

impl UniqueId {
    /// An id that nobody else has.
    fn new() -> Result<Self, Failure> {
        random().map(Self::of).map_err(|_| Failure::System)
    }

    fn of(identity: u64) -> Self {
        let mut bytes = [0; 128];
        bytes[..8].copy_from_slice(&identity.to_ne_bytes());
        Self(bytes)
    }

    /// The id of the communicator that one grows into. Ranks that are in it already are not given
    /// the id, so that all must come to the same.
    fn grown(parent: &Communicator, time: u64) -> Self {
        Self::of(meeting::descendant(parent.identity, u64::MAX - time, 0))
    }

    /// The id for new ranks, which one rank asks for before it grows the communicator.
    fn next_grown(parent: &Communicator) -> Self {
        Self::grown(parent, parent.grown())
    }

    fn identity(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_ne_bytes(first)
    }
}

/// Makes a communicator from what the caller says of it.
fn make(
    made: Out<CommunicatorPointer>,
    (rank, ranks): (i32, i32),
    id: UniqueId,
    configuration: In<CallerConfig>,
) -> Result<(), Failure> {
    let number = |number: i32| u32::try_from(number).map_err(|_| Failure::InvalidArgument);
    let place = Place { identity: id.identity(), rank: number(rank)?, ranks: number(ranks)? };
    place_in(made, place, Configuration::of(configuration), None)
}

/// Makes a communicator where the caller can find it.
fn place_in(
    made: Out<CommunicatorPointer>,
    place: Place,
    configuration: Configuration,
    parent: Option<&Communicator>,
) -> Result<(), Failure> {
    if made.is_null() {
        return Err(Failure::InvalidArgument);
    }
    Ok(made.put(Communicator::create(place, configuration, parent)?)?)
}

const NO_CONFIG: In<CallerConfig> = In(std::ptr::null());

exports! { Status;
    fn ncclGetUniqueId(id: Out<UniqueId>) { Ok(id.put(UniqueId::new()?)?) }
    fn ncclCommGetUniqueId(communicator: CommunicatorPointer, id: Out<UniqueId>) {
        Ok(id.put(UniqueId::next_grown(communicator.get()?))?)
    }
    fn ncclCommInitRank(
        made: Out<CommunicatorPointer>, ranks: i32, id: UniqueId, rank: i32,
    ) {
        make(made, (rank, ranks), id, NO_CONFIG)
    }
    fn ncclCommInitRankConfig(
        made: Out<CommunicatorPointer>, ranks: i32, id: UniqueId, rank: i32,
        configuration: In<CallerConfig>,
    ) {
        make(made, (rank, ranks), id, configuration)
    }
    fn ncclCommInitRankScalable(
        made: Out<CommunicatorPointer>, ranks: i32, rank: i32, _ids: i32, first: In<UniqueId>,
        configuration: In<CallerConfig>,
    ) {
        make(made, (rank, ranks), first.get()?, configuration)
    }
    // One communicator for each of this process's devices.
    fn ncclCommInitAll(made: Out<CommunicatorPointer>, ranks: i32, devices: In<i32>) {
        let count = usize::try_from(ranks).map_err(|_| Failure::InvalidArgument)?;
        let devices = devices.list(count).unwrap_or_else(|_| (0..ranks).collect());
        let (driver, id) = (Driver::get()?, UniqueId::new()?);
        for (rank, &device) in devices.iter().enumerate() {
            let context = driver.primary(device)?;
            let place = Out(made.0.wrapping_add(rank));
            driver.with_context(context, || make(place, (rank as i32, ranks), id, NO_CONFIG))?;
        }
        Ok(())
    }
    // Waits for the other ranks, also in a group: only they know their colours.
    fn ncclCommSplit(
        parent: CommunicatorPointer, color: i32, key: i32, made: Out<CommunicatorPointer>,
        configuration: In<CallerConfig>,
    ) {
        let parent = parent.get()?;
        if group::is_open() && parent.membership().is_some_and(Membership::has_another) {
            complain(
                "ncclCommSplit in a group, with several ranks in one process, is not simulated: it \
                 would wait for itself"
                    .to_owned(),
            );
            return Err(Failure::InvalidUsage);
        }
        let place = meeting::split(parent, color, key)?;
        if color == NO_COLOR {
            return Ok(made.put(CommunicatorPointer::NONE)?);
        }
        place_in(made, place, Configuration::of(configuration), Some(parent))
    }
    fn ncclCommShrink(
        parent: CommunicatorPointer, excluded: In<i32>, count: i32, made: Out<CommunicatorPointer>,
        configuration: In<CallerConfig>, _flags: i32,
    ) {
        let parent = parent.get()?;
        let count = usize::try_from(count).map_err(|_| Failure::InvalidArgument)?;
        let excluded = excluded.list(count)?;
        let stays = |rank: &u32| !excluded.contains(&(*rank as i32));
        let identity = meeting::descendant(parent.identity, parent.next_split(), 0);
        let rank = (0..parent.rank).filter(stays).count() as u32;
        let ranks = (0..parent.ranks).filter(stays).count() as u32;
        place_in(made, Place { identity, rank, ranks }, Configuration::of(configuration), None)
    }
    // Ranks of the parent pass -1 and keep theirs; new ranks have no parent.
    fn ncclCommGrow(
        parent: CommunicatorPointer, ranks: i32, id: In<UniqueId>, rank: i32,
        made: Out<CommunicatorPointer>, configuration: In<CallerConfig>,
    ) {
        let (rank, id) = match parent.get() {
            Ok(parent) => (parent.rank as i32, UniqueId::grown(parent, parent.grow())),
            Err(_) => (rank, id.get()?),
        };
        make(made, (rank, ranks), id, configuration)
    }
    fn ncclCommDestroy(communicator: CommunicatorPointer) { communicator.destroy() }
    fn ncclCommAbort(communicator: CommunicatorPointer) { communicator.destroy() }
    fn ncclCommFinalize(communicator: CommunicatorPointer) { communicator.get().map(drop) }
    fn ncclCommRevoke(communicator: CommunicatorPointer, _flags: i32) {
        communicator.get().map(drop)
    }
}
