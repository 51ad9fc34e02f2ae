"""Ask the questions of a judged set in the shape of a template, and find which pages show the evidence.

A page shows the evidence of a document when it prints its text whole, or an excerpt that holds an answer.
"""

import html
import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from weft.errors import InvalidInput, UnknownName
from weft.evaluation.judged_sets import CorpusSource, JudgedSet, Question
from weft.history.contexts import printed_items
from weft.model import Context, Detail, Filter, Item, Json, LedgerEntry
from weft.ports import ReportProgress, TokenCounter
from weft.text.nested import nested_texts
from weft.text.terms import UNSPACED
from weft.tokens import DEFAULT_ENCODING, counter_for

# Scripts without spaces have no words to tell apart, so each of their characters is one.
_WORD: Final = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_MARKS: Final = re.compile(r"[\W_]+")
"""Everything but letters and digits."""
_PLAIN_PLACEHOLDERS: Final = ("text", "id")
"""The placeholders of a template that every question can fill; the others are read from its metadata."""


# --- the shape of questions ----------------------------------------------------------------------------------


class ShapedQuestion(Struct, frozen=True):
    """A question as it is asked, and what was said before it, the latest first."""

    text: str
    history: tuple[str, ...] = ()

    @property
    def joined(self) -> str:
        """The question with the conversation after it, for a search that takes one text."""
        return "\n".join([self.text, *self.history])


class QuestionShape(Struct, frozen=True):
    """The shape of questions: `template` may use {text}, {id} and {meta.NAME}; `history` adds what was said."""

    template: str = "{text}"
    history: bool = False

    def apply(self, question: Question) -> ShapedQuestion:
        """Return the question in this shape."""
        parts = (literal + _read_value(name, question) for literal, name in _parse(self.template))
        return ShapedQuestion("".join(parts).strip(), _read_history(question) if self.history else ())

    def check(self, questions: Sequence[Question]) -> None:
        """Refuse a template that names what no question has, or history where there is none."""
        # One question may lack a value, which is left blank; that none has it is a typing error.
        for _, name in _parse(self.template):
            if name is None or name in _PLAIN_PLACEHOLDERS:
                continue
            if not any(_read_value(name, question) for question in questions):
                in_metadata = {f"meta.{key}" for question in questions for key in question.meta}
                allowed = [*_PLAIN_PLACEHOLDERS, *sorted(in_metadata)]
                raise UnknownName("placeholder", name, allowed, "A --query-template may use these in braces.")
        if self.history and not any(_read_history(question) for question in questions):
            raise InvalidInput(
                "No question has a history. --history reads `meta.history_recent_first` or `meta.history`; "
                "leave it out for a set without conversations."
            )


def _parse(template: str) -> list[tuple[str, str | None]]:
    """Return the literal texts of a template, each with the name of the placeholder after it, if there is one."""
    try:
        return [(literal, name) for literal, name, _, _ in string.Formatter().parse(template)]
    except ValueError as error:
        raise InvalidInput(
            f"The template {template!r} cannot be read ({error}). Write it as in '{{meta.story}} {{text}}'."
        ) from error


def _read_value(name: str | None, question: Question) -> str:
    """Return the value of a placeholder; empty where the question has none."""
    if name is None:
        return ""
    if name == "text":
        return question.text
    if name == "id":
        return question.id
    first, _, rest = name.partition(".")
    value: Json = question.meta if first == "meta" else None
    for step in rest.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return _join_words(value)


def _join_words(value: Json) -> str:
    """Return a text, a number or a list of them as one text."""
    if value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    return " ".join(_join_words(item) for item in value)


def _read_history(question: Question) -> tuple[str, ...]:
    """Return what was said before the question, the latest first."""
    recent = question.meta.get("history_recent_first")
    # A plain history is in the order of speaking; questions want the latest first.
    turns = _read_turns(recent) if recent else _read_turns(question.meta.get("history"))[::-1]
    return tuple(turn for turn in turns if turn)


def _read_turns(value: Json) -> list[str]:
    """Return the turns of a conversation: one text, texts, or messages with `content` or `text`."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    if not isinstance(value, Sequence):
        return []
    messages = [(turn.get("content") or turn.get("text")) if isinstance(turn, Mapping) else turn for turn in value]
    return [_join_words(message) for message in messages]


# --- asking --------------------------------------------------------------------------------------------------

Ask = Callable[[ShapedQuestion, int, Filter], Context]
"""Asks a question with a budget and a filter, and returns the page."""


class PageResult(Struct, frozen=True):
    """One page as measured: its budget, its real tokens, its time; by key, the gold documents whose evidence it
    shows, and the detail in which it prints them, evidence or not; and the share of the gold text it prints."""

    budget: int
    tokens: int
    milliseconds: float
    evidence: Mapping[str, Detail]
    printed: Mapping[str, Detail]
    gold_text: float


class QuestionResult(Struct, frozen=True):
    """One question with its gold (grades, and keys by document), the ranking of documents before any budget,
    and a page for each budget."""

    question: Question
    asked: str
    gold: Mapping[str, int]
    keys: Mapping[str, str]
    ranking: tuple[str, ...]
    pages: tuple[PageResult, ...]
    notes: tuple[str, ...] = ()


class Evaluation(Struct, frozen=True):
    """An evaluation to run: a set with its source, the budgets, the shape of questions, and how many."""

    judged: JudgedSet
    source: CorpusSource
    budgets: tuple[int, ...] = (2000, 8000)
    shape: QuestionShape = QuestionShape()
    scoped: bool = False
    limit: int | None = None

    def check(self) -> None:
        """Refuse settings that do not suit the set."""
        if self.limit is not None and self.limit < 1:
            raise InvalidInput(f"A limit of {self.limit} questions asks nothing. Give 1 or more.")
        if self.scoped and not self.judged.scopes:
            raise InvalidInput(
                f"The set {self.judged.name!r} has no scopes. Give it a scope.jsonl, or `meta.scope` on "
                "documents and questions, or leave out --scoped."
            )
        if not self.questions():
            raise InvalidInput(f"Every scope of the set {self.judged.name!r} excludes all gold. Check its scopes.")
        self.shape.check(self.questions())

    def questions(self) -> tuple[Question, ...]:
        """Return the questions that are asked."""
        return self.judged.measurable_questions(self.scoped)[: self.limit]


def evaluate(
    evaluation: Evaluation, ask: Ask, clock: Callable[[], float], progress: ReportProgress
) -> tuple[QuestionResult, ...]:
    """Ask every question that can be measured, and return the results; `clock` gives seconds."""
    questions = evaluation.questions()
    answered = []
    for done, question in enumerate(questions, start=1):
        answered.append(_answer(evaluation, question, ask, clock))
        progress(f"asking {evaluation.judged.name}", done, len(questions))
    return tuple(answered)


def _answer(evaluation: Evaluation, question: Question, ask: Ask, clock: Callable[[], float]) -> QuestionResult:
    """Ask one question with each budget."""
    # Shaped once: every budget must ask the same.
    asked = evaluation.shape.apply(question)
    gold = evaluation.judged.gold[question.id]
    texts = evaluation.source.texts(gold)
    ranked: tuple[str, ...] = ()
    notes: dict[str, None] = {}
    pages = []
    for budget in evaluation.budgets:
        started = clock()
        context = ask(asked, budget, evaluation.source.filter(question.id))
        milliseconds = (clock() - started) * 1000
        # The ranking comes before any budget, so the first page has it.
        ranked = ranked or tuple(map(evaluation.source.document, rank_keys(context.ledger)))
        notes |= dict.fromkeys(context.notes)
        pages.append(_measure_page(context, budget, milliseconds, question.answers, texts))
    keys = dict(zip(gold, texts, strict=True))
    return QuestionResult(question, asked.joined, gold, keys, ranked, tuple(pages), tuple(notes))


def _measure_page(
    context: Context, budget: int, milliseconds: float, answers: Sequence[str], texts: Mapping[str, str]
) -> PageResult:
    # Counted again and not taken from the page, so that a page which miscounts itself is found out.
    tokens = page_counter().count(context.text)
    printed = {entry.key: entry.detail for entry in context.ledger if entry.key in texts}
    evidence = find_evidence(context, answers, texts)
    return PageResult(budget, tokens, milliseconds, evidence, printed, printed_share(context, texts))


def page_counter() -> TokenCounter:
    """Return the counter that measures every page, ours and those of others."""
    return counter_for(DEFAULT_ENCODING)[0]


# --- evidence ------------------------------------------------------------------------------------------------


def find_evidence(context: Context, answers: Sequence[str], texts: Mapping[str, str]) -> dict[str, Detail]:
    """Return which of the documents, given as texts by key, the page shows, with the detail that shows each.

    The content that the ledger claims is looked up in the printed text itself, marks and spaces aside. The same
    text printed whole under another key shows the document as well.
    """
    page = _letters(_unescaped_text(context))
    wanted = [words for words in map(_words, answers) if words.strip()]
    found: dict[str, Detail] = {}
    whole: set[str] = set()
    for item in printed_items(context.page.sections):
        node = item.candidate.node
        # The ledger is not trusted: a whole text counts only if the page really prints it.
        if item.detail is Detail.WHOLE and (letters := _letters(node.text)) in page:
            found[node.key] = Detail.WHOLE
            whole.add(letters)
        elif item.detail is Detail.EXCERPT and node.key in texts and _holds_answer(item, wanted, page):
            found.setdefault(node.key, Detail.EXCERPT)
    # Duplicates in a corpus: dedupe prints one of them, and whichever it is, the evidence is there.
    found |= {key: Detail.WHOLE for key, text in texts.items() if text and _letters(text) in whole}
    return {key: found[key] for key in texts if key in found}


def _holds_answer(item: Item, wanted: Sequence[str], page: str) -> bool:
    """Return whether an excerpt holds an answer that its document holds."""
    text = item.candidate.node.text
    spans = [text[start:end] for start, end in item.spans]
    printed = [_words(span) for span in spans if _letters(span) in page]
    # A span may begin inside of a word, and so hold a word that the document does not have.
    whole = _words(text)
    return any(answer in whole and any(answer in span for span in printed) for answer in wanted)


def printed_share(context: Context, texts: Mapping[str, str]) -> float:
    """Return the share of the letters and digits of some documents, given as texts by key, that a page prints.

    Spans count once, however often they are printed. The same text under another key counts as well.
    """
    page = _letters(_unescaped_text(context))
    # By text and not by key: of documents with the same text one is printed, and whichever it is, it is there.
    wanted = {_letters(text) for text in texts.values()}
    printed: dict[str, list[Item]] = {}
    for item in printed_items(context.page.sections):
        letters = _letters(item.candidate.node.text)
        if letters in wanted and item.detail in (Detail.WHOLE, Detail.EXCERPT):
            printed.setdefault(letters, []).append(item)
    shown = {letters: _count_printed(items, page) for letters, items in printed.items()}
    gold = [_letters(text) for text in texts.values()]
    return sum(shown.get(letters, 0) for letters in gold) / max(sum(map(len, gold)), 1)


def _count_printed(items: Sequence[Item], page: str) -> int:
    """Return how many letters and digits of one text lie in what items claim to print and the page does print."""
    text = items[0].candidate.node.text
    spans = {
        span for item in items for span in (item.spans if item.detail is Detail.EXCERPT else [(0, len(text))])
    }
    count = reached = 0
    for start, end in sorted(spans):
        # Line by line, because a page may print numbers before the lines of code.
        for line in text[max(start, reached) : end].splitlines():
            letters = _letters(line)
            count += len(letters) if letters in page else 0
        reached = max(reached, end)
    return count


def _words(text: str) -> str:
    """Return the words of a text in lower case between single spaces, so that only whole words are found in it."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _letters(text: str) -> str:
    """Return the letters and digits alone, which escaping, fences, bullets and line breaks leave as they were."""
    return _MARKS.sub("", text)


def _unescaped_text(context: Context) -> str:
    """Return the page without the escapes of its format."""
    if context.format == "xml":
        return html.unescape(context.text)
    if context.format == "json" and context.text:
        return " ".join(nested_texts(json.loads(context.text)))
    # The only entity that Markdown pages write, for the bracket of a tag.
    return context.text.replace("&lt;", "<") if context.format == "markdown" else context.text


def rank_keys(ledger: Sequence[LedgerEntry]) -> tuple[str, ...]:
    """Return the keys of all candidates, best first, each once: their order before any budget."""
    # The order of the pipeline, without sections and budget.
    ordered = sorted(ledger, key=lambda entry: (-entry.score, entry.tenant, entry.key))
    return tuple(dict.fromkeys(entry.key for entry in ordered))
