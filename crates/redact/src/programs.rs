//! Programs that take a password behind an option of one letter, which means other things elsewhere.

/// These take it in the same word: `-phunter2`. What follows a `-p` alone is the name of a database.
const IN_WORD: &[&str] = &["mariadb", "mariadb-dump", "mysql", "mysqladmin", "mysqldump"];
/// This one takes it in the next word, too, before the command that it runs.
const BEFORE_COMMAND: &str = "sshpass";

/// Where in a word of a command a password begins that the command's own program takes.
pub(crate) fn password(words: &[&str], place: usize) -> Option<usize> {
    let program = words.first()?.rsplit('/').next()?;
    let word = words.get(place)?;
    let in_word = word.len() > 2 && word.starts_with("-p");
    match program {
        BEFORE_COMMAND if place == 1 => in_word.then_some(2),
        BEFORE_COMMAND if place == 2 => (words.get(1) == Some(&"-p")).then_some(0),
        program if place > 0 && IN_WORD.contains(&program) => in_word.then_some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::mask_words;

    #[test]
    fn passwords_of_one_letter() {
        let pairs = [
            ("/usr/bin/mysql -u root -phunter2 db", "/usr/bin/mysql -u root -p*** db"),
            ("sshpass -p hunter2 ssh -p 22 host", "sshpass -p *** ssh -p 22 host"),
            ("sshpass -phunter2 ssh host", "sshpass -p*** ssh host"),
        ];
        for (command, masked) in pairs {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(mask_words(&words).join(" "), masked);
        }
    }

    #[test]
    fn the_same_letter_elsewhere_stays() {
        for command in [
            "mysql -u root -p db",
            "psql -p 5432",
            "ssh -p 22 host",
            "find . -name mysql -print",
            "sshpass -f file ssh -p 22",
            "",
        ] {
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(mask_words(&words), words);
        }
    }
}
