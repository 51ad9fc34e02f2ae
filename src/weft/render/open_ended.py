"""The frame of formats in which the next heading ends what stands before it."""

from weft.render.lines import BLANK, Line, frame


class OpenEnded:
    """Sections, groups and parts that need no closing line."""

    __slots__ = ()

    def section_end(self) -> tuple[Line, ...]:
        """Nothing: the next heading ends a section."""
        return ()

    def group_end(self) -> tuple[Line, ...]:
        """Nothing: the next heading ends a group."""
        return ()

    def part_end(self) -> tuple[Line, ...]:
        """Nothing: the next label ends a part."""
        return ()

    def before_pointers(self) -> tuple[Line, ...]:
        """A blank line."""
        return (BLANK,)

    def end(self) -> tuple[Line, ...]:
        """Nothing: the page needs no closing."""
        return ()


def headed(heading: str, first: bool, separator: bool) -> tuple[Line, ...]:
    """A section's heading, if it has one, below a blank line and perhaps a rule."""
    rule = frame("", "---") if separator and not first else ()
    return (*rule, *frame("", heading)) if heading else rule
