"""Small PDF and Word files, made on the spot."""

import io
from collections.abc import Sequence

import docx
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def pdf(pages: Sequence[str], outline: Sequence[tuple[str, int]] = (), password: str = "") -> bytes:
    """A PDF with one line of text a page, and an outline of (title, page from 0)."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(300, 300)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
        )
        stream = DecodedStreamObject()
        lines = " 0 -14 Td ".join(f"({line}) Tj" for line in text.split("\n")) if text else ""
        stream.set_data(f"BT /F1 12 Tf 20 250 Td {lines} ET".encode())
        page[NameObject("/Contents")] = writer._add_object(stream)
    for title, number in outline:
        writer.add_outline_item(title, number)
    if password:
        writer.encrypt(password)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def word(blocks: Sequence[tuple[str, str]], table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document of (style, text) paragraphs and perhaps a table at its end."""
    document = docx.Document()
    for style, text in blocks:
        document.add_paragraph(text, style=style)
    if table:
        rows = document.add_table(len(table), len(table[0])).rows
        for row, cells in zip(rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()
