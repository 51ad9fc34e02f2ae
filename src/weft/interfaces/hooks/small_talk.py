"""Tell prompts that want nothing from the store: answers, go-aheads, thanks, small talk and commands to a tool.

The phrases are data: `wants_nothing` takes words off a prompt that carry no request, and asks whether a topic is
left. A prompt with a topic of its own is never held back here; whether the store speaks to it is decided later.
"""

import re
from collections.abc import Sequence
from typing import Final

_MAX_WORDS: Final = 14
"""A longer prompt has a topic, whatever words it begins with."""
_MAX_COMMAND_WORDS: Final = 8
"""A command to a tool is short; a longer line that begins with its name is a sentence about it."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|--?[\w-]+|[\w./~-]+")
_APOSTROPHES: Final = re.compile(r"['’]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS: Final = _words(
    "a again all also am an and any anything are as at away back be bit both but by can could did do does "
    "doing done dont either else everything first for from go had has have hello here hey hi i id im in "
    "instead into is it itll its ive just last lets me more most much my neither next now number of on one "
    "ones only option or other others our please pls plz previous quite really right same second shall should "
    "so some something that thats the them then there these they thing things third this those to too up us "
    "very was way we well what whats will with without would you your youre"
)
"""Words that say nothing about a topic. A prompt of these alone points at what was said before."""
_REACTIONS: Final = _words(
    "absolutely ack afternoon agreed ah alright amazing appreciate appreciated awesome aye bad beautiful "
    "better brilliant bye certainly cheers cool correct damn day definitely enough evening exactly "
    "excellent false fantastic fine good goodbye got gotcha grateful great haha hm hmm hold huh impressive "
    "interesting job k kk know lgtm like lol look looks love lovely maybe mhm mind morning n nah neat never "
    "nice night no nope not noted np nvm oh ok okay okey oops perfect perhaps possibly see seems sgtm sorry "
    "sound sounds stop super sure sweet thank thanks think thought thx today tomorrow tonight true ty ugh "
    "uh um understood wait wdyt welcome wfm whoops wonderful work worked working works worse wow wrong y "
    "yea yeah yep yes yup yw"
)
"""Words of agreement, refusal, thanks, praise and regret."""
_GO_AHEAD: Final = _words(
    "abort accept add ahead amend answer apply approve approved begin branch build cancel carry change changes "
    "check checks choose clean commit commits complete confirm confirmed continue decline delete deploy "
    "discard do drop everything execute fetch file files finish fix format going ignore it keep lint main make "
    "master merge message messages name open pass passed passes passing pause pick pr proceed publish pull push "
    "rebase redo reject release remove rename repeat reply rerun resume retry revert run save send ship skip "
    "squash start stash submit suite sync tag take test tests try undo update use"
)
"""Words that tell an assistant to act on what was agreed: alone they name no topic."""
_SPEECH: Final = _words(
    "answer answers bullet bullets explanation it list message output paragraph points replies reply response "
    "responses sentence sentences summary table text that this tone word wording words"
)
"""Names of what the assistant has just said."""
_RESHAPING: Final = _words(
    "again aloud brief briefer briefly bullet bullets chinese clearer concise concisely count detail "
    "detailed differently dutch elaborate english expand explain few formal format french german give "
    "informal italian japanese keep less longer make one plain points polite portuguese put read repeat "
    "rephrase reword rewrite say short shorten shorter simple simpler simplify single spanish summarise "
    "summarize table tell three translate turn two write"
)
"""Words that ask for the same answer in another shape."""
_CHAT_TOPICS: Final = (
    *("haiku", "limerick", "sonnet", "joke", "jokes", "riddle", "poem", "pun", "bedtime story", "fun fact"),
    *("weather", "horoscope", "lottery", "your name", "who are you", "how are you", "how is it going"),
    *("hows it going", "whats up", "what time is it", "what day is it", "what date is it", "whats the time"),
    *(
        "whats the date",
        "whats todays date",
        "are you there",
        "are you a bot",
        "are you human",
        "which model are you",
    ),
    *("what model are you", "sing me", "happy birthday", "good luck", "have a nice", "have a good", "see you"),
)
"""Phrases of small talk and of questions about the day, which no store of a project is asked."""
_TOOLS: Final = _words(
    "apt apt-get awk black brew bun cargo cat cd chmod clear cmake code conda cp curl deno docker docker- "
    "compose echo eslint exit export find gh git go gradle grep head helm hub jest kill kubectl less ls make "
    "mkdir mv mvn mypy nano node nox npm npx open pip pip3 pipx pnpm poetry prettier ps pwd pytest python "
    "python3 rg rm ruff rustup scp sed source ssh sudo tail terraform tmux top touch tox tsc uv vim vitest "
    "wget yarn"
)
"""Programs whose name opens a command line."""
_VERBS: Final = _words("clear code cut echo exit export find go head kill less make open source tail top touch")
"""Programs named like everyday words: only a single word may follow them in a command."""
_SENTENCE_WORDS: Final = _words(
    "a about after am an are be because been before being breaks broken but can cannot cant could crashes did "
    "didnt do does doesnt dont fail failed failing fails gives had hangs has have he how i if into is it its "
    "like may me might must my never no not our raise raises returns says she should shows since so than that "
    "the then there these they this those throws until us was we were what when where which while who whom "
    "whose why will wont work works would you your"
)
"""Words that make a line a sentence and not a command."""


def wants_nothing(prompt: str) -> bool:
    """Return whether a prompt asks for nothing that a store could know."""
    if prompt.startswith(("/", "!")):
        # Commands of the client itself, such as /clear.
        return " " not in prompt.strip() or prompt.startswith("!")
    written = [word for word in _WORD.findall(prompt) if any(map(str.isalnum, word))]
    words = [_APOSTROPHES.sub("", word.lower()) for word in written]
    if not words or all(word.isdigit() or len(word) == 1 for word in words):
        return True
    if len(words) > _MAX_WORDS or "\n" in prompt.strip():
        return False
    return _is_reaction(words) or _reshapes_answer(words) or _is_small_talk(words) or _is_command(prompt, words)


def _is_reaction(words: Sequence[str]) -> bool:
    """Return whether a prompt only agrees, refuses, thanks, or says to go ahead."""
    return all(
        word in _FILLERS or word in _REACTIONS or word in _GO_AHEAD or word.isdigit() or len(word) == 1
        for word in words
    )


def _reshapes_answer(words: Sequence[str]) -> bool:
    """Return whether a prompt asks for what was said in other words, and names nothing else."""
    rest = [word for word in words if word not in _FILLERS and word not in _REACTIONS]
    return all(word in _SPEECH or word in _RESHAPING or word.isdigit() for word in rest)


def _is_small_talk(words: Sequence[str]) -> bool:
    # With a blank at both ends, so that a phrase matches whole words only.
    text = f" {' '.join(words)} "
    return any(f" {phrase} " in text for phrase in _CHAT_TOPICS)


def _is_command(prompt: str, words: Sequence[str]) -> bool:
    """Return whether a prompt is a command line for a program, perhaps after words such as "ok, now run"."""
    opening = 0
    while opening < len(words) - 1 and words[opening] not in _TOOLS:
        if words[opening] not in _FILLERS and words[opening] not in _REACTIONS and words[opening] != "run":
            return False
        opening += 1
    command = words[opening:]
    if command[0] not in _TOOLS or len(command) > _MAX_COMMAND_WORDS or "?" in prompt:
        return False
    # `make` and `open` are verbs as well, which a sentence goes on after.
    return len(command) <= 2 or (command[0] not in _VERBS and not _SENTENCE_WORDS.intersection(command[1:]))
