"""Measure how much of the evidence reaches the page: read judged sets, ask their questions, report and compare."""

from weft.evaluation.ablation import ABLATIONS, ablated
from weft.evaluation.corpus import CorpusSource
from weft.evaluation.judged_sets import Document, Judged, Question, read_folder
from weft.evaluation.questions import Put, Shape
from weft.evaluation.report import Costs, measures, rows_of, summary
from weft.evaluation.run import Answered, Ask, Exam, evaluate
from weft.evaluation.significance import Difference, compare, read_rows, unpaired

__all__ = [
    "ABLATIONS",
    "Answered",
    "Ask",
    "CorpusSource",
    "Costs",
    "Difference",
    "Document",
    "Exam",
    "Judged",
    "Put",
    "Question",
    "Shape",
    "ablated",
    "compare",
    "evaluate",
    "measures",
    "read_folder",
    "read_rows",
    "rows_of",
    "summary",
    "unpaired",
]
