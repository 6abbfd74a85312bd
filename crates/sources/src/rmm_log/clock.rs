//! Times of day, put into one order.

use whyoom_trace::Time;

const DAY: u64 = 86_400_000_000_000;

/// Turns times of day into times. The log does not tell the day: the first one counts as the epoch's.
#[derive(Debug, Default)]
pub(super) struct Clock {
    day: u64,
    last: u64,
}

impl Clock {
    /// The time of a line, in nanoseconds. It never goes back: a clock that was set is no reason to tell events
    /// in another order than the log has them.
    pub(super) fn at(&mut self, time_of_day: u64) -> Time {
        let mut time = self.day.saturating_add(time_of_day);
        // Half a day back is the next day.
        if time.saturating_add(DAY / 2) < self.last {
            self.day = self.day.saturating_add(DAY);
            time = time.saturating_add(DAY);
        }
        self.last = self.last.max(time);
        Time(self.last)
    }
}

/// Nanoseconds since midnight of `22:46:18.507971`; RMM wrote `22:46:18:507971` until version 0.19.
pub(super) fn time_of_day(text: &[u8]) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<u64> {
        let digits = text.get(from..to).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let (hours, minutes, seconds) = (number(0, 2)?, number(3, 5)?, number(6, 8)?);
    let fraction = text.get(9..).filter(|digits| (1..=9).contains(&digits.len()))?;
    let in_order = text[2] == b':' && text[5] == b':' && matches!(text[8], b'.' | b':');
    if !in_order || hours > 23 || minutes > 59 || seconds > 60 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let nanoseconds = number(9, text.len())? * scale;
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_time_are_read() {
        let expected = Some(((22 * 60 + 46) * 60 + 18) * 1_000_000_000 + 507_971_000);
        assert_eq!(time_of_day(b"22:46:18.507971"), expected);
        assert_eq!(time_of_day(b"22:46:18:507971"), expected);
        for wrong in ["", "22:46:18", "24:00:00.1", "22-46-18.5", "22:46:18.", "aa:46:18.5"] {
            assert_eq!(time_of_day(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn midnight_is_passed_and_a_step_back_is_not() {
        let mut clock = Clock::default();
        let late = time_of_day(b"23:59:59.999999").unwrap();
        let early = time_of_day(b"00:00:00.000001").unwrap();
        assert_eq!(clock.at(late), Time(late));
        assert_eq!(clock.at(late - 5), Time(late));
        assert_eq!(clock.at(early), Time(DAY + early));
    }
}
