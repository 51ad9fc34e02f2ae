"""How much of the evidence reaches the page: judged sets read, asked, measured and compared."""

from weft.evaluation.ablation import ABLATIONS, ablated
from weft.evaluation.asking import Put, Shape
from weft.evaluation.comparing import Difference, compare, read_rows, unpaired
from weft.evaluation.corpus import CorpusSource
from weft.evaluation.folder import read_folder
from weft.evaluation.judged import Document, Judged, Question
from weft.evaluation.report import Costs, measures, rows_of, summary
from weft.evaluation.run import Answered, Ask, Exam, evaluate

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
