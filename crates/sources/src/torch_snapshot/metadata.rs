//! What entries of the history carry beside their frames: texts of the program's, graphs of torch.compile, and where the
//! code came from that it made.

use whyoom_trace::ModuleRole;

/// What texts of whyoom's own begin with: its start-up file has the same (`modules.py`).
const OWN: &str = "whyoom module: ";
/// A text is cut here: it stands for a module in many stacks.
const LONGEST: usize = 256;

/// The module that a text names, and its role. A text of the program's own names what was going on.
pub(super) fn module(text: &str) -> (&str, ModuleRole) {
    let own = text.strip_prefix(OWN).and_then(|own| own.split_once(' '));
    let own = own.and_then(|(role, name)| Some((name, ModuleRole::of_line(role.parse().ok()?)?)));
    let (name, role) = own.unwrap_or((text, ModuleRole::Forward));
    (&name[..name.floor_char_boundary(LONGEST)], role)
}

/// The innermost line of a traceback: function, file, line.
pub(super) fn innermost(traceback: &str) -> Option<(&str, &str, u32)> {
    let line = traceback.lines().rev().find_map(|line| line.trim().strip_prefix("File \""))?;
    let (file, rest) = line.split_once("\", line ")?;
    let (number, function) = rest.split_once(", in ")?;
    Some((function.trim(), file, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_our_own_have_a_role() {
        assert_eq!(module("whyoom module: 6 GPT.head"), ("GPT.head", ModuleRole::Gradient));
        let others = ["prefill", "whyoom module: 9 GPT", "whyoom module: x"];
        for other in others {
            assert_eq!(module(other), (other, ModuleRole::Forward));
        }
        assert_eq!(module(&"é".repeat(200)).0.len(), LONGEST);
    }

    #[test]
    fn the_innermost_line_is_the_last() {
        let traceback = "  File \"/m/train.py\", line 9, in main\n    model(x)\n  \
                         File \"/m/model.py\", line 4, in forward\n    x = self.fc(x)\n";
        assert_eq!(innermost(traceback), Some(("forward", "/m/model.py", 4)));
        assert_eq!(innermost("no traceback"), None);
    }
}
