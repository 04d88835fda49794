"""How the twin says no."""

from engine.rejections import Rejection


class Refused(Exception):
    """A command may not be done. Raised before anything has changed."""

    def __init__(self, why: Rejection, *parameters: int) -> None:
        super().__init__(why.name)
        self.why = why
        self.parameters = parameters
