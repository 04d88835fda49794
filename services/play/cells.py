"""Text in a terminal's cells: a character may take two of them, or none.

Names come from everywhere; whoever counts characters instead moves everything behind a name, and
a line that is too long breaks the screen of everybody at the table.
"""

from rich.cells import cell_len, chop_cells, set_cell_size


def sized(text: str, width: int) -> str:
    """Exactly so wide: cut, or filled up with blanks."""
    return set_cell_size(text, width)


def filled(text: str, width: int) -> str:
    """At least so wide: filled up with blanks."""
    return text + " " * (width - cell_len(text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """In lines of at most so many cells, broken at blanks where there are any; `indent` stands
    before all but the first. `width`: more than the indent's, and 2 at the least."""
    lines, rest = [], " ".join(text.split())
    while cell_len(rest) > width:
        head = chop_cells(rest, width)[0]
        cut = len(head) if rest[len(head)] == " " else head.rstrip().rfind(" ")
        word = rest[cut:].split(maxsplit=1)[0]
        if cut < len(indent) or cell_len(word) > width - cell_len(indent):
            cut = len(head)  # nowhere to break, or a word that has no room in any line
        lines.append(rest[:cut].rstrip())
        rest = indent + rest[cut:].lstrip()
    return [*lines, rest]
