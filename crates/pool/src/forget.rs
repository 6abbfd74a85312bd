//! A device that is reset.

use whyoom_allocators::policies::stitch;

use crate::{
    device::{DevicePool, Reserves},
    driver::Driver,
};

impl DevicePool {
    /// Everything on the device goes, live or not: whoever resets it wants that. Addresses that were
    /// the pool's are so no more.
    pub fn forget(&self) {
        let _ = self.driver.synchronize();
        let mut growth = self.growth.lock();
        let Reserves { pages, spare } = &mut *growth;
        self.lanes.forget();
        for lane in self.lanes.all() {
            let mut state = lane.state.lock();
            self.settle_all(&mut state);
            self.budget.freed(state.forget());
            // Its policy believes in memory that has gone.
            state.policy = stitch::Lane::new(self.driver.total());
            state.last = None;
            self.close(lane, &mut state);
        }
        spare.clear();
        let released = pages.borrow_mut().forget(&self.driver);
        self.budget.released(released);
        self.events.forget();
    }
}
