"""`python -m whyoom …` is the command `whyoom …`."""

import os
import sys

from ._errors import WhyoomError
from ._installation import command


def main() -> None:
    """Becomes the command."""
    try:
        path = command()
        os.execv(path, [path, *sys.argv[1:]])
    except (OSError, WhyoomError) as error:
        sys.exit(f"whyoom: {error}")


if __name__ == "__main__":
    main()
