//! How hooks are declared: the macro that makes the exported function, the place of the real one and
//! the line of the table out of one entry.

use crate::result_code::Code;

/// What is done with a driver's answer before it is handed on.
#[inline]
pub(crate) fn then(result: Code, act: impl FnOnce(Code)) {
    act(result);
}

/// Declares hooks and `HOOKS`, the table of them.
///
/// An entry gives what the function needs, its parameters, its names (the exported one, what
/// `cuGetProcAddress` calls it, since which CUDA version that means it), and what is done before and
/// after the real call, which gets the arguments untouched. `before` makes what `after` is handed;
/// `failed` stands for what is done only where the call failed, `told` and `completed` for what is done
/// before and after a call that is not recorded, `look_up` for what is done to the answer of a look-up.
/// `served` comes first where whyoom's pool may answer in
/// the driver's place; `served_failed` is both.
macro_rules! hooks {
    ($family:ident; $(
        $need:ident ($($argument:ident: $type:ty),* $(,)?)
        [$($symbol:ident = $base:literal since $since:literal
            $(until $until:literal)? $(($per_thread:ident))?),* $(,)?]
        $kind:ident $rest:tt
    )*) => {
        $($crate::declare::each_hook!{
            $family $need ($($argument: $type),*) $kind $rest
            [$($symbol = $base since $since $(until $until)? $(($per_thread))?),*]
        })*
        pub(crate) static HOOKS: &[&$crate::hook::Hook] = &[$($(&$symbol::HOOK,)*)*];
    };
}

/// One entry: a hook for each of its names.
macro_rules! each_hook {
    ($family:ident $need:ident $arguments:tt $kind:ident $rest:tt
     [$($symbol:ident = $base:literal since $since:literal
         $(until $until:literal)? $(($per_thread:ident))?),*]) => {
        $(
            #[allow(non_snake_case)]
            mod $symbol {
                pub(super) static HOOK: $crate::hook::Hook = $crate::hook::Hook::new(
                    match std::ffi::CStr::from_bytes_with_nul(
                        concat!(stringify!($symbol), "\0").as_bytes(),
                    ) {
                        Ok(name) => name,
                        Err(_) => c"",
                    },
                    $base,
                    ($since, $crate::declare::until!($($until)?)),
                    $crate::declare::per_thread!($($per_thread)?),
                    $crate::hook::Need::$need,
                    $crate::hook::Family::$family,
                    super::$symbol as *const std::ffi::c_void,
                );
            }
            $crate::declare::one_hook!{ $symbol $arguments $kind $rest }
        )*
    };
}

/// The exported function. It may be unwound: a thread that is cancelled inside the driver, or ends
/// itself in a callback, leaves through here.
macro_rules! one_hook {
    ($symbol:ident ($($argument:ident: $type:ty),*) around { $before:expr; $after:expr }) => {
        $crate::declare::one_hook!{
            $symbol ($($argument: $type),*) served { |_| $crate::serve::never(); $before; $after }
        }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*)
     served { $served:expr; $before:expr; $after:expr }) => {
        #[doc = concat!("The hook of `", stringify!($symbol), "`.")]
        ///
        /// # Safety
        /// That of the driver's function of this name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub(crate) unsafe extern "C-unwind" fn $symbol($($argument: $type),*) -> $crate::result_code::Code {
            // SAFETY: these are the documented parameters of this function.
            let real = unsafe {
                $symbol::HOOK.real::<unsafe extern "C-unwind" fn($($type),*) -> $crate::result_code::Code>()
            };
            let Some(real) = real else { return $crate::result_code::NOT_FOUND };
            if let Some(answer) = $crate::serve::ask(&$symbol::HOOK, $served) {
                return answer;
            }
            let Some(call) = $crate::record::enter(&$symbol::HOOK) else {
                // SAFETY: the program's own arguments, passed on as they came.
                return unsafe { real($($argument),*) };
            };
            let begun = call.before($before);
            // SAFETY: likewise.
            let result = unsafe { real($($argument),*) };
            call.after(begun, result, $after);
            result
        }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) after { $after:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) around { |_| (); $after } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) failed { $after:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) beside { (); |result| {
            if result != 0 && let Some(call) = $crate::record::enter(&$symbol::HOOK) {
                call.after(Some(()), result, $after);
            }
        } } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) served_failed { $served:expr; $after:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) beside {
            if let Some(answer) = $crate::serve::ask(&$symbol::HOOK, $served) {
                return answer;
            };
            |result| {
                if result != 0 && let Some(call) = $crate::record::enter(&$symbol::HOOK) {
                    call.after(Some(()), result, $after);
                }
            }
        } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) told { $told:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) beside { $told; |_| () } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) completed { $completed:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) beside { (); $completed } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) look_up { $replace:expr }) => {
        $crate::declare::one_hook!{ $symbol ($($argument: $type),*) beside { (); |result| {
            $crate::record::look_up(&$symbol::HOOK, || $crate::declare::then(result, $replace));
        } } }
    };
    ($symbol:ident ($($argument:ident: $type:ty),*) beside { $before:expr; $after:expr }) => {
        #[doc = concat!("The hook of `", stringify!($symbol), "`.")]
        ///
        /// # Safety
        /// That of the driver's function of this name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub(crate) unsafe extern "C-unwind" fn $symbol($($argument: $type),*) -> $crate::result_code::Code {
            // SAFETY: these are the documented parameters of this function.
            let real = unsafe {
                $symbol::HOOK.real::<unsafe extern "C-unwind" fn($($type),*) -> $crate::result_code::Code>()
            };
            let Some(real) = real else { return $crate::result_code::NOT_FOUND };
            $before;
            // SAFETY: the program's own arguments, passed on as they came.
            let result = unsafe { real($($argument),*) };
            $crate::declare::then(result, $after);
            result
        }
    };
}

macro_rules! until {
    () => {
        i32::MAX
    };
    ($version:literal) => {
        $version
    };
}

macro_rules! per_thread {
    () => {
        false
    };
    (per_thread) => {
        true
    };
}

pub(crate) use {each_hook, hooks, one_hook, per_thread, until};
