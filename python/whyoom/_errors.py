"""What goes wrong, with what to do about it."""


class WhyoomError(RuntimeError):
    """whyoom could not do what it was asked for. The message says what to do."""
