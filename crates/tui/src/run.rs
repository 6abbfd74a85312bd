//! The live view: waits, changes the state, draws.

use std::{fmt::Display, sync::mpsc::channel, time::Duration};

use whyoom_node::NodeReport;

use crate::{
    error::TopError,
    events::{self, Event},
    keys,
    sampler::Sampler,
    screen::Screen,
    send::send,
    state::{Effect, Signal, State, Target},
    theme::Theme,
};

/// What a person asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long between two samples.
    pub interval: Duration,
    /// Only this device, by its number.
    pub device: Option<u32>,
    /// What the terminal can show.
    pub look: Theme,
}

/// How the live view ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A key said so.
    ByKey,
    /// The system asked for it.
    BySignal(i32),
}

/// Shows what `source` reports until a person has seen enough.
///
/// # Errors
/// The terminal cannot be used, or `source` panicked.
pub fn run<S, E>(source: S, options: Options) -> Result<Ended, TopError>
where
    S: FnMut() -> Result<NodeReport, E> + Send + 'static,
    E: Display,
{
    let (sender, inbox) = channel();
    let mut screen = Screen::take()?;
    events::catch_signals(sender.clone())?;
    events::read_terminal(sender.clone())?;
    let sampler = Sampler::start(source, options.interval, sender)?;
    let mut state = State::new(options.device);
    screen.draw(&mut state, options.look)?;
    while let Ok(event) = inbox.recv() {
        if let Some(ended) = handle(event, &mut state, &sampler, &mut screen)? {
            return Ok(ended);
        }
        // A burst of keys is drawn once.
        while let Ok(event) = inbox.try_recv() {
            if let Some(ended) = handle(event, &mut state, &sampler, &mut screen)? {
                return Ok(ended);
            }
        }
        screen.draw(&mut state, options.look)?;
    }
    Err(TopError::SamplerEnded)
}

fn handle(
    event: Event,
    state: &mut State,
    sampler: &Sampler,
    screen: &mut Screen,
) -> Result<Option<Ended>, TopError> {
    let action = match event {
        Event::Key(key) => keys::action(&state.mode, key),
        Event::Resized => None,
        Event::Report(seen) => {
            match *seen {
                Ok(report) => state.update(report),
                Err(why) => state.fail(why),
            }
            None
        }
        Event::Continued => {
            screen.retake()?;
            None
        }
        Event::Signal(signal) => return Ok(Some(Ended::BySignal(signal))),
        Event::TerminalGone(error) => return Err(error.into()),
        Event::SamplerEnded => return Err(TopError::SamplerEnded),
    };
    match action.and_then(|action| state.apply(action)) {
        None => {}
        Some(Effect::Quit) => return Ok(Some(Ended::ByKey)),
        Some(Effect::Theme) => sampler.look_now(),
        Some(Effect::Pause(pause)) => sampler.pause(pause),
        Some(Effect::Redraw) => screen.forget()?,
        Some(Effect::Suspend) => screen.suspend()?,
        Some(Effect::Send(target, signal)) => {
            state.message = Some(tell(&target, signal));
            sampler.look_now();
        }
    }
    Ok(None)
}

fn tell(target: &Target, signal: Signal) -> String {
    match send(target, signal) {
        Ok(()) => format!("{} was sent to process {}", signal.word(), target.pid),
        Err(error) => error.to_string(),
    }
}
