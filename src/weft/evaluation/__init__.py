"""Measure how much of the evidence reaches the page: read judged sets, ask their questions, report and compare."""

from weft.evaluation.baselines import BASELINES, Dump, check_baselines, make_baselines
from weft.evaluation.comparison import ABLATIONS, Difference, compare, count_unpaired, read_rows, without_ability
from weft.evaluation.corpus import CorpusSource
from weft.evaluation.fact_sets import FactQuestion, FactSet, Grade, missing_facts, read_fact_set
from weft.evaluation.judged_sets import Document, JudgedSet, Question, read_folder
from weft.evaluation.page_judging import (
    OWN_PAGES,
    KeepPage,
    MadePage,
    MakePage,
    PageExam,
    PageVerdict,
    judge_pages,
    summarise_pages,
    verdict_rows,
)
from weft.evaluation.report import Costs, measure_question, question_rows, summarise
from weft.evaluation.run import (
    Ask,
    Evaluation,
    QuestionResult,
    QuestionShape,
    ShapedQuestion,
    evaluate,
    page_counter,
)

__all__ = [
    "ABLATIONS",
    "BASELINES",
    "OWN_PAGES",
    "Ask",
    "CorpusSource",
    "Costs",
    "Difference",
    "Document",
    "Dump",
    "Evaluation",
    "FactQuestion",
    "FactSet",
    "Grade",
    "JudgedSet",
    "KeepPage",
    "MadePage",
    "MakePage",
    "PageExam",
    "PageVerdict",
    "Question",
    "QuestionResult",
    "QuestionShape",
    "ShapedQuestion",
    "check_baselines",
    "compare",
    "count_unpaired",
    "evaluate",
    "judge_pages",
    "make_baselines",
    "measure_question",
    "missing_facts",
    "page_counter",
    "question_rows",
    "read_fact_set",
    "read_folder",
    "read_rows",
    "summarise",
    "summarise_pages",
    "verdict_rows",
    "without_ability",
]
