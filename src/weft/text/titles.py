"""Titles that a text repeats as its first line."""


def below_title(text: str, title: str) -> int:
    """Where the text goes on after a first line that only repeats the title; 0 where there is none."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    told = text[start : end if end >= 0 else len(text)].strip().strip("#").strip()
    if end < 0 or not told or told != title.strip():
        return 0
    return end + 1
