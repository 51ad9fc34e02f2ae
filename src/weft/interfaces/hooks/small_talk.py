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
    "a about above after again against all along already also although always am among an and any anyone "
    "anything are arent around as at away back be because been before behind being below beside between beyond "
    "bit both but by can cant could couldnt did didnt do does doesnt doing done dont down during each eight "
    "either else enough ever every everyone everything few fifth first five for former four fourth from go had "
    "hadnt half has hasnt have havent he hello her here hers hes hey hi him his however i id if ill im in "
    "instead into is isnt it itll its itself ive just kind last later latter least less lets lot lots many me "
    "might more most much must my myself neither next nine nobody none nor nothing now number of off often on "
    "once one ones only onto option or other others otherwise our ours out over own part parts per please pls "
    "plz previous quite rather really rest right same second seven shall she shed shes should shouldnt since "
    "six sixth so some someone something soon sort still stuff such ten than that thats the theirs them then "
    "there theres these they theyre theyve thing things third this those though three through till to together "
    "too toward towards twice two under unless until up upon us very was wasnt way we well were werent weve "
    "what whatever whats wherever whichever while whole will with within without wont would wouldnt yet you "
    "youd youll your youre yours yourself youve"
)
"""Words that say nothing about a topic. A prompt of these alone points at what was said before."""
_REACTIONS: Final = _words(
    "absolutely ack afternoon agree agreed ah alright amazing annoying apologies appreciate appreciated "
    "awesome awful awkward aye bad beautiful believe best better boring bravo brilliant busy bye care careful "
    "carefully certainly cheers clear clearer close confused confusing congrats congratulations cool correct "
    "crazy curious damn day definitely difference disagree easier easy eh evening exactly excellent exciting "
    "fair false fantastic far feel fine funny glad good goodbye got gotcha grateful great guess haha happy "
    "hard harder helpful helps hm hmm hold hope huh hurry impressed impressive interesting job k kk know "
    "kudos lgtm like lol look looks love lovely lucky makes maybe mean means meh mhm mind minute minutes "
    "mistake moment moments morning n nah neat need needed needs never new nice night no nope not noted np "
    "nvm obviously odd oh ok okay okey oof oops perfect perhaps pity possibly prefer pretty promise properly "
    "quick quickly quiet ready reasonable sad seconds see seem seems sgtm sigh slowly smart sometimes sorry "
    "sound sounds stop strange stupid super sure surprised sweet temp temporary terrible terrific thank "
    "thanks think thoroughly thought thx today tomorrow tonight true trust ty ugh uh um unclear understood "
    "unfortunately useful useless wait wdyt weird welcome wfm whoa whoops wish wonderful wondering work "
    "worked working works worried worries worry worse wow wrong y yay yea yeah yep yes yikes yup yw"
)
"""Words of agreement, refusal, thanks, praise and regret."""
_GO_AHEAD: Final = _words(
    "abort accept add ahead amend answer apply approach approaches approve approved attempt begin branch "
    "bring build bump call cancel carry change changes check checks cherry-picked choice choose clean close "
    "commit commits complete confirm confirmed continue create created creates decide decided decision "
    "decline delete deleted deploy diff diffs discard discarded draft drop edit edits ensure execute feedback "
    "fetch file files find finds finish finished fix forget format found further get gets getting give going "
    "green help idea ideas ignore jump keep keeps leave leaving left let line lines lint linter main make "
    "master mentioned merge message messages move moving name open pass passed passes passing patch pause "
    "pending pick picked place plan plans point points pr proceed publish pull push pushed put question "
    "questions quit rebase redo redone reject release remaining remember remind remove rename repeat replace "
    "reply rerun reset restart resume retry revert rid run save say saying send ship side sign skip skipped "
    "solution solutions squash stage staged stages start started starts stash stay step steps stopped submit "
    "suggest suggested suggestion suggestions suite switch sync tag take taking talk terminal test tests told "
    "took tried try turn typo typos undo undone update use variant variants version versions want wanted "
    "wants whenever wrap"
)
"""Words that tell an assistant to act on what was agreed: alone they name no topic."""
_SPEECH: Final = _words(
    "answer answers bullet bullets explanation it list message outcome output paragraph points question "
    "questions replies reply response responses result results sentence sentences summary table text that "
    "this tone word wording words"
)
"""Names of what the assistant has just said."""
_RESHAPING: Final = _words(
    "again aloud brief briefer briefly bullet bullets chinese clearer concise concisely count detail detailed "
    "differently dutch elaborate english expand explain few formal format french german give informal italian "
    "japanese keep less longer make one plain points polite portuguese put read repeat rephrase reword "
    "rewrite say short shorten shorter show simple simpler simplify single spanish summarise summarize table "
    "tell three translate turn two write"
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
    *(
        "how long will it take",
        "how long did it take",
        "hows your",
        "how is your",
        "how was your",
        "did you have a good",
    ),
    *("what model are you", "sing me", "happy birthday", "good luck", "have a nice", "have a good", "see you"),
)
"""Phrases of small talk and of questions about the day, which no store of a project is asked."""
_PAIRS: Final = (
    *("cherry pick", "double check", "pull request", "pull requests", "verbose output"),
    *("good catch", "nice catch", "good point", "ci is green", "ci is red"),
    *("where were we", "where you left off", "where we left off"),
)
"""Words that tell an assistant to act, or speak of the conversation, only beside each other."""
_YOURS: Final = _words("added changed deleted edited fixed made moved removed renamed said show wrote written")
"""Words for what an assistant did, where it is spoken to; else they ask for what happened in a project."""
_ADDRESSED: Final = _words("you your youre youve")
_POINTING: Final = _ADDRESSED | _words(
    "again earlier existing instead it its one ones same still that thats them these they this those"
)
"""Words for what was said before, without which a prompt of few other words cannot be understood."""
_STATES: Final = _words(
    "broke broken build builds ci compile compiled compiles crash crashed crashes error errors failed failing "
    "fails failure failures green hang hangs hung log logs output outputs problem problems red result results "
    "screenshot screenshots warning warnings"
)
"""Words for how the work at hand goes, which name no topic beside a word that points at what was said."""
_CONTAINERS: Final = _words("checklist csv doc document down file markdown md note notes pdf")
"""Things that what was said can be put into."""
_REASONS: Final = _words("how when where who why")
"""Words that ask an assistant what it did, where it is spoken to."""
_MAX_POINTING_TOPICS: Final = 2
"""Words of its own from which on a prompt has a topic, although it points at what was said before."""
_ASKED: Final = _words("what whats")
"""Words that begin a question. Where nobody is addressed, one about changes, tests or plans wants something."""
_TOOLS: Final = _words(
    "apt apt-get awk black brew bun bundle cargo cat cd chmod clear cmake code composer conda cp curl deno "
    "docker docker-compose dotnet echo eslint exit export find gh git go gradle gradlew grep head helm hub "
    "jest kill kubectl less ls make mkdir mv mvn mvnw mypy nano node nox npm npx open pip pip3 pipx pnpm "
    "poetry pre-commit prettier ps pwd pytest python python3 rake rg rm ruff rustup scp sed source ssh sudo "
    "tail terraform tmux top touch tox tsc uv vim vitest wget yarn"
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


def points_back(prompt: str) -> bool:
    """Return whether a prompt is about what was said before it, and has at most two words of its own.

    "That one failed too" and "can we speed this up?" share a word with many texts and ask for none of them.
    """
    words = [_APOSTROPHES.sub("", word.lower()) for word in _WORD.findall(prompt)]
    if not _POINTING.intersection(words):
        return False
    known = _FILLERS | _REACTIONS | _POINTING
    return sum(word not in known for word in words) <= _MAX_POINTING_TOPICS


def _is_reaction(words: Sequence[str]) -> bool:
    """Return whether a prompt only agrees, refuses, thanks, or says to go ahead."""
    text = f" {' '.join(word.lstrip('-') for word in words)} "
    for pair in _PAIRS:
        text = text.replace(f" {pair} ", " ")
    is_addressed = bool(_ADDRESSED.intersection(words))
    # "commit what we have" opens with an order, "what did we commit" with a question.
    opening = next((word for word in words if word in _ASKED or word in _GO_AHEAD), "")
    known = _FILLERS | _REACTIONS | _POINTING
    if _POINTING.intersection(words):
        known |= _STATES
    if is_addressed or opening not in _ASKED:
        known |= _GO_AHEAD
    if is_addressed:
        known |= _YOURS | _REASONS
    return all(word in known or word.isdigit() or len(word) == 1 for word in text.split())


def _reshapes_answer(words: Sequence[str]) -> bool:
    """Return whether a prompt asks for what was said in other words, and names nothing else."""
    rest = [word for word in words if word not in _FILLERS and word not in _REACTIONS]
    shapes = _SPEECH | _RESHAPING | (_CONTAINERS if _POINTING.intersection(words) else frozenset())
    return all(word in shapes or word.isdigit() for word in rest)


def _is_small_talk(words: Sequence[str]) -> bool:
    # With a blank at both ends, so that a phrase matches whole words only.
    text = f" {' '.join(words)} "
    return any(f" {phrase} " in text for phrase in _CHAT_TOPICS)


def _is_command(prompt: str, words: Sequence[str]) -> bool:
    """Return whether a prompt is a command line for a program, perhaps after words such as "ok, now run"."""
    opening = 0
    while opening < len(words) - 1 and words[opening].removeprefix("./") not in _TOOLS:
        if words[opening] not in _FILLERS and words[opening] not in _REACTIONS and words[opening] != "run":
            return False
        opening += 1
    command = [words[opening].removeprefix("./"), *words[opening + 1 :]]
    if command[0] not in _TOOLS or len(command) > _MAX_COMMAND_WORDS or "?" in prompt:
        return False
    # `make` and `open` are verbs as well, which a sentence goes on after.
    if len(command) <= 2:
        return True
    # After an option or a path, the line is no sentence.
    is_sure = any(word.startswith("-") or "./" in word for word in command[1:])
    return (is_sure or command[0] not in _VERBS) and not _SENTENCE_WORDS.intersection(command[1:])
