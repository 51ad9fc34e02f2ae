"""Measure how much of the evidence reaches the page: read judged sets, ask their questions, report and compare."""

from weft.evaluation.comparison import ABLATIONS, Difference, compare, count_unpaired, read_rows, without_ability
from weft.evaluation.corpus import CorpusSource
from weft.evaluation.judged_sets import Document, JudgedSet, Question, read_folder
from weft.evaluation.report import Costs, measure_question, question_rows, summarise
from weft.evaluation.run import Ask, Evaluation, QuestionResult, QuestionShape, ShapedQuestion, evaluate

__all__ = [
    "ABLATIONS",
    "Ask",
    "CorpusSource",
    "Costs",
    "Difference",
    "Document",
    "Evaluation",
    "JudgedSet",
    "Question",
    "QuestionResult",
    "QuestionShape",
    "ShapedQuestion",
    "compare",
    "count_unpaired",
    "evaluate",
    "measure_question",
    "question_rows",
    "read_folder",
    "read_rows",
    "summarise",
    "without_ability",
]
