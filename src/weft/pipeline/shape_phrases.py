"""Keep the phrases by which a question shows its shape, as a table that is easy to extend.

The notation is small: a blank is any white space, `..` stands for up to five words, `(a|b)` for one of several,
`?` for something that may be left out, and `<word>` for a group of `WORDS`; `<name>` is a word spelt as only code
is.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Shape(StrEnum):
    """A thing that a question asks for, apart from its subject."""

    HISTORY = "history"
    RECENT = "recent"
    RELEASES = "releases"
    VERSION = "version"
    TESTS = "tests"
    DEFINITION = "definition"
    CALLERS = "callers"
    PARAMETER = "parameter"
    OVERVIEW = "overview"
    MANIFEST = "manifest"
    AUTOMATION = "automation"
    SETTINGS = "settings"
    ENVIRONMENT = "environment"
    TRACEBACK = "traceback"
    QUOTATION = "quotation"
    OPENING = "opening"
    ENDING = "ending"
    EVENT = "event"
    FLOW = "flow"
    PLACE = "place"
    FILE = "file"
    EXAMPLE = "example"
    ERRORS = "errors"
    COMMIT = "commit"
    ORDER = "order"
    SUMMARY = "summary"
    COUNT = "count"


class Speaker(StrEnum):
    """The side of a conversation with an assistant whose words a question asks for."""

    PERSON = "user"
    ASSISTANT = "assistant"
    ANYONE = ""


WORDS: Final[Mapping[str, str]] = {
    # What a repository may be called by somebody who does not know it yet.
    "thing": "project|repo|repository|code( )?base|library|package|software|tool|toolkit|framework|program|crate"
    "|gem",
    # What may follow it, unless the question goes on about a part ("the package index").
    "stop": r"(?=\s*(?:$|[?.,;:!)]|\b(?:and|in|for|about|all|do|does|doing|good|used|really|to|at|here|now)\b))",
    # The end of the question.
    "over": r"(?=\s*(?:$|[?.!]))",
    "changed": "added|introduced|removed|dropped|deleted|deprecated|renamed|fixed|changed|replaced|reverted|moved"
    "|rewritten|refactored|swapped|exchanged|upgraded|shipped|released|landed|merged|bumped|switched|made|patched",
    "change": "add|introduce|remove|drop|delete|deprecate|rename|fix|change|replace|revert|move|rewrite|refactor"
    "|ship|land|merge|bump|switch|arrive|appear|come|go away|become|break|get",
    "commit": "commits?|pull[- ]requests?|prs?|merge[- ]requests?|patch(es)?|changesets?|revisions?",
    "release": "versions?|releases?",
    "covers": "cover|covers|covering|check|checks|checking|exercise|exercises|exercising|verify|verifies|verifying"
    "|assert|asserts|prove|proves|guard|guards|ensure|ensures|pin|hit|touch|touches|test|tests|use|uses|reproduce",
    "calls": "calls?|invokes?|uses?|references?|imports?|instantiates?|consumes?|subclass(es)?|inherits? from"
    "|depends? on|relies on",
    "called": "called|used|invoked|referenced|imported|instantiated|consumed|subclassed|triggered",
    "implemented": "implemented|defined|declared|coded|located|handled|enforced|decided|done|computed|written"
    "|set up"
    "|created|parsed|checked",
    "language": "python|go|golang|node(js|\\.js)?|rust|java|jdk|php|ruby|typescript|interpreter|compiler"
    "|c\\+\\+|runtime",
    "tool": "ruff|mypy|flake8|black|pylint|isort|pyright|pytest|tox|nox|coverage|eslint|prettier|tsconfig"
    "|typescript|jest|vitest|webpack|rollup|vite|babel|golangci(-lint)?|clippy|rustfmt|cargo|gradle|maven|checkstyle|spotless"
    "|rubocop|docker|compose|make|cmake|pre-commit|renovate|dependabot|linters?|formatters?|type ?checkers?",
    "book": "story|novel|book|tale|narrative|text|plot|play|poem|saga|memoir|whole thing|chapter( \\w+)?|part \\w+"
    "|everything|it( all)?",
    # "how do front ends talk" goes on with another verb.
    "end": r"(?=\s*(?:$|[?.,;:!)]|\b(?:and|for|with|in|on|at|when|up|off|there|here|then|after)\b))",
    "opens": "opens?|begins?|starts?|commences?",
    "ends": "ends?|closes?|finish(es)?|concludes?|ended|finished|concluded",
    "raised": "raised?|raises|throws?|thrown|created?|constructed|returned|set|signall?ed|reported",
    "adding": "add|adding|write|writing|create|creating|implement|implementing|register|registering|define"
    "|introduce|introducing|extend|extending|plug in|hook in",
    "piece": "scenes?|lines?|sentences?|words?|chapters?|pages?|paragraphs?|passages?|images?|events?|thing|things"
    "|moments?|thoughts?|sight",
}

PHRASES: Final[Mapping[Shape, tuple[str, ...]]] = {
    # Commits are wanted: a change is asked for, when it was made, by whom, why, or in which release.
    Shape.HISTORY: (
        "(which|what|whose|the|any|this|that|by|first|last|latest|recent|earliest|original|offending) (<commit>)",
        "(<commit>) (that|which|who|message|hash|sha|log|history|did|introduced|removed|added|fixed|#?\\d+)",
        "(which|what) changes? (<changed>|that|broke|caused|made|did)",
        "git (log|blame|history|bisect)|(change|commit|revision|edit) history|history of (the|this|that)",
        "(since )?when (was|were|did|has|have|had)|since when|how long ago|how long has",
        "since (which|what) (<release>)|(in|from|as of|with|by) (which|what) (<release>)",
        "(which|what|first|earliest|last) (<release>) .. (<changed>|<change>|has|have|contain|contains"
        "|include|with)",
        "(which|what|first|earliest|last) (<release>) (<changed>|that|to|with|has|where|which)",
        "(<changed>) (in|by|with|since) (which|what|whom)",
        "who (<changed>|wrote|authored|committed|broke|last touched|touched|maintains|made)",
        "why (was|were|did|has|have|had|do|does) .. (<changed>)",
        # "Where is the flag added?" asks for code.
        "(?<!where\\s)(?<!how\\s)(has|have|was|were|is) (this|that|it|the ..) (been )?(already )?(<changed>)"
        "( yet| already| since)?",
        "(has|have) .. been (<changed>)",
        "what (changed|has changed|have changed|was changed|got changed|is new|was new|was the reason for)",
    ),
    # The newest changes of something.
    Shape.RECENT: (
        "(last|latest|most recent|recent|newest|lately) .. (commits?|changes?|changed|modified"
        "|modifications?|edits?)",
        "(last|recently|lately) (changed|modified|touched|edited|updated|worked on)",
        "(changed|modified|touched|updated|happened|been going on|new) (last|recently|lately|most recently)",
        "what('s| is| has been| have you been) (going on|new|happening)<over>|recent activity",
    ),
    # Change logs are worth a little more; commits are not necessarily wanted.
    Shape.RELEASES: (
        "change( )?logs?|release notes?|what'?s new|breaking changes?|migration guide|since (v)?\\d+",
        "(which|what|first|last|latest|newest|earliest|next|previous|newer|new|that|since|in|by|of) (<release>)",
        # "How do I fix that?" and "I made a folder" ask for no change that others made.
        "(was|were|been|got|is|are|it) (<changed>)|released|deprecat(es|ed|ion|ions)|security (fix(es)?|advisory)",
        "upgrad(e|es|ed|ing)|no longer|used to",
    ),
    # What a certain release brought, or which one is the newest.
    Shape.VERSION: (
        "(latest|newest|last|most recent|current|next|upcoming) ((stable|major|minor) )?(<release>)",
        "(which|what) (<release>) (is|are) (this|it|out|current|the|we)|what('s| is) new<over>",
        "(new|news|changes?|<changed>|different|happened|notes|broke|fixes|features) .. (in|for|of|with|since) "
        "((<release>) )?v?\\d+(\\.\\d+)*",
        "(<release>|change( )?log|notes) (of |for )?v?\\d+(\\.\\d+)*",
        "v?\\d+(\\.\\d+)+ (<release>|notes|change( )?log)",
        "what (does|did|will) ((<release>) )?v?\\d+(\\.\\d+)+ (<change>|bring|include|contain)",
    ),
    # Test code is what is asked for, and not how to run it or how to write some.
    Shape.TESTS: (
        "(which|what) ((unit|integration|regression|existing|automated|other) )?(tests?|specs?"
        "|test cases?) (<covers>)",
        "(which|what) ((unit|integration|regression|existing|automated) )?(tests?|specs?|test cases?) "
        "(is|are|do|does|would|should|exist|fails?|breaks?|there|for|that|make|makes|protects?|demonstrates?)",
        "(tests?|test cases?|specs?) (that |which |to )?(<covers>)",
        "(tests?|test cases?|specs?|test coverage|test suite|test files?) (for|of|around|about|against|behind)",
        "(how|where) (is|are|was|were) .. (tested|covered|exercised)|(is|are) .. (tested|covered by)",
        "(is|are) there (any |a |some )?((unit|integration|regression) )?(tests?|specs?)|tested (by|in|anywhere)",
        "(find|show|list|see|give) (me )?(the |all |any )?((unit|integration|regression) )?(tests?|specs?)",
    ),
    # The place where something with a name is written down.
    Shape.DEFINITION: (
        "where (is|are|was|were|does|do|did|can|could|in) .. (<implemented>|live|lives|come from|reside|find|set)",
        "where (is|are|does|do|can i find) <name>",
        "(definition|implementation|declaration|signature|source|source code|body|docstring) (of|for)",
        "how (is|are) .. (implemented|defined|coded)|how (does|do) .. work",
        "(show|give|print|find|open|see) (me )?(the )?(code|source|implementation|definition|signature|body|class"
        "|function|method)",
        "(which|what) (file|module|class|function|method|package|line) .. (defines?|implements?|contains?|holds?"
        "|declares?|handles?|has|have|does|is)",
        "what (does|is|are) <name>|what (arguments|parameters) (does|do)|what .. <name> (do|return|returns|mean)",
    ),
    # Everything that refers to something with a name.
    Shape.CALLERS: (
        "(who|what|whoever) (else )?(<calls>|is using|is calling|would break|breaks)",
        "(which|what) ((?!do|did|is)\\w+ )?((?!do|did|is)\\w+ )?(<calls>|are calling|are using)",
        # "Where is a callable invoked" is about no name.
        "(where|from where|how often|by whom|by what|when) (is|are|was|does|do)(?! an? (?-i:[a-z]+) (<called>))"
        " .. (<called>|get called)",
        "(callers?|callees?|usages?|uses|call( )?sites?|calling sites?|users|consumers|dependents"
        "|invocations) (of|for)",
        "references? to|(calls|call) to|(all|every|other|any) (places?|spots?|points?|sites?"
        "|code) .. (call|calls|use"
        "|uses|invoke|invokes|refer|refers|is <called>|are <called>)",
        "if i (change|remove|rename|delete|touch|break)|impact of (changing|removing|renaming|deleting)",
    ),
    # What is given to something: a parameter, and the value that it has if it is left out.
    Shape.PARAMETER: (
        "parameters?|arguments?|keyword|options?|defaults?( value)?",
        "(may|can|could|should|must|to) be (passed|given|handed)|(is|are) (passed|accepted)|accepts?|pass(ing)?",
    ),
    # What the whole is, for somebody who sees it for the first time.
    Shape.OVERVIEW: (
        "what('s| is| are) (this|these)( (<thing>|code|all|thing))?<stop>",
        "what('s| is| are) (this|the|your) ((whole|entire) )?(<thing>) (all )?(about|for|good for"
        "|used for|trying to)",
        "what (does|do|can|will|would) (this|the) (<thing>|code) (do|offer|provide|solve|give|help|bring|let)",
        "what (kind|sort|type) of (a )?(<thing>|app|application|code|system|product)",
        "what (problem|problems|need|needs|use case) (does|do|is|are) (this|the|it) .. (solve|address"
        "|solving|for|meet)",
        "(purpose|goal|aim|point|idea|mission|gist|scope|essence) (of|behind) (this|the) ((whole"
        "|entire) )?(<thing>)"
        "<stop>",
        "(overview|summary|description|introduction|outline|gist) (of|to|for) (this|the) ((whole"
        "|entire) )?(<thing>)"
        "<stop>",
        "(describe|explain|summari[sz]e|introduce|present) (me )?(this|the) ((whole|entire) )?(<thing>)<stop>",
        "(introduce me to|tell me about|give me the gist of) (this|the) (<thing>)<stop>",
        "(high[- ]level|short|quick|brief|general) (overview|summary|introduction|description)",
        "(who|what|why) (would|should|is|might) .. (use|need|want) (this|the) (<thing>)<stop>",
        "what am i looking at|(who|what) is (this|the) (<thing>) (for|meant for|aimed at)|elevator pitch",
    ),
    # What stands in the manifest: dependencies, supported versions, how to install, the licence.
    Shape.MANIFEST: (
        "(runtime|third[- ]party|direct|external|install|build|dev|development|optional|required|hard"
        "|core|package) "
        "(dependenc(y|ies)|packages?|librar(y|ies)|requirements)",
        "what (are|is) (the|its|this) ((<thing>)'?s? )?((main|only) )?(dependenc(y|ies)|requirements"
        "|prerequisites)",
        "(which|what|how many) ((other|external) )?(packages?|librar(y|ies)|dependenc(y|ies)"
        "|modules) (does|do|is|are|has"
        "|have|must|will|gets?) .. (need|needs|needed|require|required|depend|depends|pull|pulled"
        "|install|installed"
        "|use|have)",
        "what does (it|this|this (<thing>)|the (<thing>)) (depend|rely) on|(list|show) (me )?(the|all"
        "|its) dependencies",
        "(minimum|minimal|lowest|oldest|earliest|newest|supported|required|which|what|latest) ((<release>) of )?"
        "(<language>)( (interpreter|compiler|<release>|do|does|is|are|should|must|can))?",
        "(supports?|works?|runs?|compatible|compatibility|needs?|requires?|dropp?(s|ed)?) .. (<language>) v?\\d+",
        "(<language>) v?\\d+(\\.\\d+)* .. (support|supported|works?|compatible|enough|needed|required|dropped)",
        "(<language>) (<release>)|(supported|required|minimum) (<release>|interpreters?|platforms?)",
        "(how|where) (do|can|should|could|would|to) (i |we |you |one |users )?(get and )?install",
        "(fresh|plain|clean|default|minimal) install(ation)?|need(s|ed)? to be installed"
        "|needed to install|before installing|pip install|npm install|cargo add|go get",
        "(which|what|under) .. licen[cs]ed?|package version",
    ),
    # What runs by itself for every change.
    Shape.AUTOMATION: (
        "ci|ci/cd|continuous (integration|delivery|deployment)|github (actions?|workflows?)|gitlab (ci"
        "|pipelines?)",
        "build (matrix|pipeline)|test matrix|release (pipeline|workflow)|automated (checks|builds?)"
        "|status checks?",
        "(has|have|needs?|must) to (pass|run|succeed) .. (<commit>|merge|merged|merging)",
        "(run|running|execute|start|launch) ((the|its|all|all the|this project's) )?"
        "((unit|integration|whole|full) )?(tests?|test suite|checks|linters?)( suite)?(<stop>|(<over>))",
        "(how|where) (do|can|should|to|would) .. (build|compile) (it|this|the (<thing>|docs|documentation))",
        "(pull request|pr|build|merge request) .. (green|red|accepted|mergeable|to be merged|can be merged)",
    ),
    # What the files of settings say: about tools, checks and the build.
    Shape.SETTINGS: (
        "(which|what) (config|configuration|settings?) .. (enables?|disables?|sets?|turns?|controls?"
        "|configures?|says?|defines?|decides?)",
        "(which|what|where|how) .. (<tool>) .. (configured|enabled|disabled|turned on|turned off|set up|pinned)",
        "(config|configuration|settings) (of|for) (the )?(<tool>)",
        "(<tool>) .. (config|configuration|settings|rules?|options|plugins?|strict|strictness|target|level)",
        "(which|what) (lint(er)?s?|lint(ing)? rules?|formatters?|type ?checkers?|(<tool>)) .. (is|are|does|do"
        "|runs?|used?|apply|applies)",
        "(which|what|how) .. (line length|coverage (is|threshold)|target version|build target|compiler flags?"
        "|test environments?|(pre-commit )?hooks? (run|runs|are))",
    ),
    # Variables of the environment that something reads.
    Shape.ENVIRONMENT: (
        "(env|environment)[- ]?variables?|env vars?|(by|through|via|from|in) the environment<over>",
    ),
    # Something is to be added: one of its kind that is there already, and where that is made known.
    Shape.EXAMPLE: (
        "how (do|can|could|would|should|to|must) (i |we |you |one )?(go about )?(<adding>) (a|an|another|my|our"
        "|new|custom|one|more|support)",
        "(want|like|need|needs|wants|trying|plan|planning|going|have) to (<adding>)",
        "(<adding>) (a|an|another|my|our) (new|custom|further|second)|(add|adding) support for",
        "(closest|nearest|smallest|simplest|existing|similar|good|best) ((?!do|did|is)\\w+ )?(template|precedent)",
        "(template|example|precedent|model|one) to (copy|follow|imitate|start from)",
        "where (does|do|must|should|has|have|would) .. (registered|plugged in|hooked up|wired|made known)",
    ),
    # The errors that something leads to, and where they are raised.
    Shape.ERRORS: (
        "(which|what) ((type|kind|class) of )?(exceptions?|errors?) .. (<raised>|results?|gets?|occurs?|happens?"
        "|comes?|appears?)",
        "(exceptions?|errors?) .. (is|are|gets?|be|was) (<raised>)",
        "where (is|are|does|do) .. (raised|thrown|raise|throw)",
    ),
    # How a story begins.
    Shape.OPENING: (
        "(how|where|when|(with|on|in|by) (what|which) ..) (does|do|did) .. (<book>) .. (<opens>)",
        "(how|where|when|(with|on|in|by) (what|which) ..) (does|do|did) ((the|this) )?(<book>) (<opens>)",
        "(the|this) (<book>) (<opens>|began|opened|started)|(opening|beginning|start|outset) of (the"
        "|this) (<book>)",
        "(opening|first|initial|very first) (<piece>)|very (first|beginning|start)|(at"
        "|in) the (very )?(outset|opening)"
        "|(at|in|from) the (very )?(beginning|start)|open(ing)? of the (<book>)|first (words|introduced)",
    ),
    # How a story ends.
    Shape.ENDING: (
        # The same forms as for a beginning.
        "(where|when|(with|on|in|by) (what|which) ..) (does|do|did) ((the|this) )?(<book>) (<ends>)",
        "how (does|do|did|will|is) .. (?<!her\\s)(?<!his\\s)(?<!the\\s)(?<!their\\s)(<ends>|wrapped"
        "|resolved)<end>",
        "(what|which|where|who) .. (when|as|once) (it|the (<book>)) (<ends>)",
        "(the|this) (<book>) (<ends>)|(ending|conclusion|finale|epilogue|close|end) (of|to) (the"
        "|this) (<book>)|the ending",
        "(last|final|closing|very last|concluding) (<piece>)|very (last|end)|(happens?|happened)"
        " .. (in|at) the (very )?end|(at|by|towards?) the (very )?end of (the|this) (<book>)",
        "how (does|do|did) .. (turns?|turned) out|what (finally )?becomes? of|how (it|things|everything) "
        "(all )?ends?",
    ),
    # How somebody in a story dies, marries or is born.
    Shape.EVENT: (
        "die|dies|died|dead|death|killed|killer|murdered|murderer|(meet|meets|met) (his|her|their) end|perish(ed)?"
        "|drown(ed|s)?|buried|funeral|suicide|poisoned|strangled|stabbed|hanged|pass(es|ed)? away",
        "married|marry|marries|marriage|wedding|bride|bridegroom|elopes?|eloped|divorced?|engaged|engagement"
        "|betrothed|jilt(s|ed)?|whom? .. (wife|husband)",
        "born|birth of|gave birth|newborn",
    ),
    # One function after the other.
    Shape.FLOW: (
        "what (happens|goes on|takes place|is done|runs) .. (between|inside|from|on the way"
        "|under the hood|internally)",
        "trace|(walk|talk|step|run|take|lead|guide) (me |us )?through|step[- ]by[- ]step|step by step"
        "|life( )?cycle of",
        "(in )?(which|what) order|(call|execution|control|request|code) (flow|path|chain|graph|sequence"
        "|order|tree)",
        "how (does|do|is|are) .. (flow|travel|routed|passed|propagate|propagated|get|go|end up"
        "|make its way|processed) "
        ".. (from|through|to|between)",
        "(sequence|chain|series) of (calls|functions|steps|methods|events)",
        "(which|what) (functions?|methods?|steps?) .. (run|runs|called|involved|executed|does|happen)",
        "what does <name> call|from .. (until|till|all the way to)",
    ),
    # What was said in conversations, one after the other.
    Shape.ORDER: (
        "(order|sequence) (in which|that|of) .. (i|we|my|our|events?|topics?)",
        "(in )?(which|what) order (did|have|had|were|was)|chronolog(y|ical|ically)|timeline|what happened",
        "(what|which) .. (came|happened|came up|did (i|we) \\w+) (first|last|next|before|after)",
        "(walk|take|run|lead) (me |us )?through (how|the (order|sequence|timeline|evolution|progress|course))",
    ),
    # What was said about something, in short.
    Shape.SUMMARY: (
        "summary|summari[sz](e|es|ed|ing)|recap|sum up|wrap( )?up",
        "what (have|did|had) (i|we|you) .. (discuss(ed)?|cover(ed)?|talk(ed)?|go over|gone over|agreed?|decided?"
        "|learn(ed)?|work(ed)? on)",
        "how (has|have|did|does|do) (my|our|the) .. (progress|progressed|develop|developed|evolve|evolved|improve"
        "|improved|changed?)",
    ),
    # All that was said about something, to be counted or added up.
    Shape.COUNT: (
        "how (many|much|often)|(total|overall|combined) (number|count|amount|of)|in total|altogether"
        "|number of (times|different)",
        "(list|name|what are) (all|every|each)( of)? (the|my|our) .. (i|we)( have|'ve)? \\w+(ed|t|d)?",
        "(which|what) (different|distinct|other)",
    ),
}

HINTS: Final[Mapping[Shape, tuple[str, ...]]] = {
    shape: tuple(hints.split("|"))
    for shape, hints in (
        (
            Shape.HISTORY,
            "commit|request|pr|patch|git|histor|when|since|long|version|release|who|which|what|why"
            "|been|was|revision|has|have",
        ),
        (Shape.RECENT, "last|latest|recent|newest|lately|going on|what's new|what is new|happening"),
        (Shape.VERSION, "version|release|new|0|1|2|3|4|5|6|7|8|9"),
        (Shape.TESTS, "test|spec|covered|exercised"),
        (
            Shape.OVERVIEW,
            "this|these|purpose|goal|overview|summar|describe|explain|kind of|sort of|type of|project"
            "|repo|librar|tool|package|software|looking at|pitch|framework|program|codebase|code base"
            "|introduc|crate|description",
        ),
        (
            Shape.MANIFEST,
            "depend|require|install|version|release|package|librar|licen|prerequisite|python|go|node"
            "|rust|java|php|ruby|typescript|interpreter|compiler|support|c++|runtime|modules|jdk",
        ),
        (
            Shape.EXAMPLE,
            "add|writ|creat|implement|regist|defin|introduc|extend|plug|hook|template|exampl|copy|wired|known",
        ),
        (Shape.ERRORS, "error|exception|raise|throw"),
        (
            Shape.SETTINGS,
            "config|setting|enabled|disabled|turned|switched|pinned|lint|format|check|length|coverage|target|flag"
            "|environment|hook|option|rule|strict|plugin",
        ),
        (
            Shape.AUTOMATION,
            "ci|continuous|github|gitlab|build|matrix|check|pass|green|pipeline|workflow|merge|test|lint|compile",
        ),
        (Shape.OPENING, "open|begin|start|first|initial|outset|beginning|commence|began"),
        (
            Shape.EVENT,
            "die|dea|kill|murder|end|perish|drown|burie|funeral|suicide|poison|strangl|stab|hang|pass|marr|wed"
            "|husband|wife|bride|elope|divorc|engage|betroth|jilt|born|birth",
        ),
        (Shape.ENDING, "end|clos|finish|conclu|last|final|epilogue|turn|become|resolved|wrap"),
        (
            Shape.FLOW,
            "happens|goes on|takes place|trace|through|step|cycle|order|flow|path|chain|sequence"
            "|series|functions|methods|call|until|till|way|travel|routed|from|is done|runs|between",
        ),
        (Shape.ORDER, "order|sequence|chronolog|time|came|happened|first|last|next|before|after|through"),
        (Shape.SUMMARY, "summ|recap|sum up|wrap|what|how"),
        (Shape.COUNT, "how|total|altogether|number|all|every|each|different|distinct|other|combined|overall"),
    )
}
"""Letters of which a question must hold some before the phrases of a shape are tried, which takes far longer."""

ASSISTANT_SAID: Final = re.compile(
    r"\b(?:did|had|have) you\b|\byou(?:'ve| have| had)? (?:\w+ly )?(?:said|told|recommended|suggested|advised"
    r"|proposed|explained|mentioned|gave|wrote|offered|answered|listed|described|provided|showed|pointed)\b"
    r"|\byour (?:\w+ )?(?:advice|recommendations?|suggestions?|answers?|explanations?|proposals?|replies|reply)\b",
    re.IGNORECASE,
)
OF_CONVERSATIONS: Final = frozenset({Shape.ORDER, Shape.SUMMARY, Shape.COUNT})
"""Shapes that ask for the course of conversations, or for all that was said about something."""
FIRST_PERSON: Final = re.compile(r"\b(?:I|I'm|I've|my|me|mine|we|our|us)\b")
