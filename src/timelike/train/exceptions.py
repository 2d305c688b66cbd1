"""The errors and warnings of training; they can be caught and filtered without torch."""


class NotLearnedWarning(UserWarning):
    """A finished training has not learned; the message gives the evidence and a remedy."""


class DivergenceError(ArithmeticError):
    """A loss or gradient is not finite; `step` (counted from 1) and `ids` tell where it occurred."""

    def __init__(self, message: str, step: int, ids: list[int]) -> None:
        super().__init__(message)
        self.step, self.ids = step, ids


class NotFiniteError(ArithmeticError):
    """Something is not finite; the loop adds the location with `divergence_error`."""
