//! The terminal: taken for as long as this lives, and given back however it ends.

use std::{
    io::{self, BufWriter, Stdout, Write},
    panic,
    sync::Once,
};

use ratatui::{
    Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor, execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
    layout::Rect,
};
use rustix::process::{Signal, kill_current_process_group};

use crate::{state::State, theme::Theme, views};

/// A frame goes out in one piece, so that a slow line shows no half of it.
const FRAME_BYTES: usize = 64 * 1024;

/// The whole terminal.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
}

impl Screen {
    /// Takes the terminal.
    pub(crate) fn take() -> io::Result<Self> {
        restore_on_panic();
        let out = BufWriter::with_capacity(FRAME_BYTES, io::stdout());
        let mut screen = Self { terminal: Terminal::new(CrosstermBackend::new(out))? };
        screen.retake()?;
        Ok(screen)
    }

    /// Takes the terminal again, whoever had it in between.
    pub(crate) fn retake(&mut self) -> io::Result<()> {
        // What was taken before is given back first: taking it twice does nothing.
        disable_raw_mode()?;
        enable_raw_mode()?;
        execute!(self.terminal.backend_mut(), EnterAlternateScreen, cursor::Hide)?;
        // Terminals without a second screen still show what was there before.
        self.forget()
    }

    /// Gives the terminal to the shell until it lets this process go on.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        restore();
        // As the terminal does for Ctrl-Z: whoever started this waits too.
        kill_current_process_group(Signal::TSTP)?;
        self.retake()
    }

    /// Draws what has changed.
    pub(crate) fn draw(&mut self, state: &mut State, look: Theme) -> io::Result<()> {
        self.terminal.draw(|frame| {
            let area = frame.area();
            let drawn = views::draw(state, look, area, frame.buffer_mut());
            state.drawn(drawn);
        })?;
        Ok(())
    }

    /// Forgets what is on the screen, so that the next frame draws all of it.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        // `clear` would ask where the cursor is, and the answer would come to the thread that reads keys.
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back. Nothing can be done, or told, where that fails.
fn restore() {
    let _ = disable_raw_mode();
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
}

/// A message about a panic must not be written over the table, nor vanish with it.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |information| {
            restore();
            before(information);
        }));
    });
}
