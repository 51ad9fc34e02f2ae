"""The closed lists by which prose tells who is who: titles, words of kinship and of speech, kinds of places."""

from typing import Final

from weft.story.known_places import PEOPLES, words

MALE: Final = "m"
FEMALE: Final = "f"


PLAIN_TITLES: Final = {"mr": MALE, "mister": MALE, "mrs": FEMALE, "miss": FEMALE, "ms": FEMALE, "master": MALE}
"""How anyone is addressed; the same family has several of each."""

_NOBLE: Final = {
    MALE: """
        sir lord king prince duke count baron earl viscount marquis marquess emperor tsar czar sultan don ser
        comte vicomte chevalier conte marchese graf rajah maharajah nawab pasha archduke tsarevich
    """,
    FEMALE: """
        lady queen princess duchess countess baroness viscountess marchioness empress tsarina dame doña dona
        comtesse vicomtesse marquise contessa marchesa donna gräfin rani begum archduchess
    """,
}
_FOREIGN: Final = {
    MALE: "monsieur m mons herr signor señor senor mynheer meinheer sahib massa marse mars marster",
    FEMALE: """
        madame mme mademoiselle mlle frau fräulein fraulein signora signorina señora senora señorita madam
    """,
}
_FAMILIAR: Final = {
    MALE: """
        uncle father brother grandfather grandpa friar squire goodman padre fra père frère oncle brer
    """,
    FEMALE: """
        aunt mother sister grandmother grandma nurse goody mistress goodwife dame granny auntie widow tante
        citizeness
    """,
}
_RANKS: Final = words(
    """
        captain capt colonel col major general gen lieutenant lieut lt sergeant sgt corporal private admiral
        commodore commander brigadier ensign midshipman boatswain bosun cap'n doctor doktor dr professor prof
        reverend rev bishop archbishop cardinal pope abbot abbess abbé abbe
        judge justice inspector constable detective officer sheriff president senator governor minister
        ambassador chancellor maester marshal magistrate mayor chief comptroller superintendent deacon parson
        vicar rabbi imam sheikh saint st coach warden steward agent secretary elder alderman councillor
        curate farmer comrade citizen lawyer coroner pastor rector monsignor archdeacon quartermaster laird
    """
)

PITY: Final = "poor"
EPITHETS: Final = words(f"old little long big {PITY}")
"""What anybody may be called without being another for it: Poor Ruth, Little Joe."""

NOBLE_TITLES: Final = words(" ".join(_NOBLE.values()))
FAMILIAR_TITLES: Final = words(" ".join(_FAMILIAR.values())) | EPITHETS
STYLED_BY_GIVEN_NAME: Final = words(" ".join(_NOBLE.values())) | FAMILIAR_TITLES | {"saint", "st", "master"}
"""Titles that stand before a given name as often as before a surname: Sir William, Aunt Jane."""

TITLES: Final = {
    **dict.fromkeys(_RANKS | EPITHETS, ""),
    **{
        title: gender
        for table in (_FAMILIAR, _FOREIGN, _NOBLE)
        for gender, names in table.items()
        for title in names.split()
    },
    **PLAIN_TITLES,
}
"""Every title with the gender it tells, if it tells one."""

ABBREVIATED: Final = words(
    """
        mr mrs ms dr st rev capt col gen lt lieut sgt prof messrs mme mlle m mons mm hon esq jr sr mt fr ste
    """
)
"""Words whose full stop ends no sentence."""

SAME_TITLE: Final = {
    short: long
    for long, written in {
        "captain": "capt cap'n",
        "colonel": "col",
        "general": "gen",
        "doctor": "dr doktor",
        "lieutenant": "lt lieut",
        "professor": "prof",
        "reverend": "rev",
        "mr": "mister monsieur m mons herr signor señor senor mynheer meinheer",
        "mrs": "madame mme frau signora señora senora",
        "miss": "mademoiselle mlle fräulein fraulein signorina señorita",
    }.items()
    for short in written.split()
}
"""Titles that are written in several ways, or in another language."""

PARTICLES: Final = words("""
    de du des la le von van der den di da del della bin ibn al el ap ben zu af av
""")
CAPITAL_PARTICLES: Final = words("van von de du der di del della la le st.")
"""Those that are no given names, so that a capital changes nothing."""
SAINTS: Final = words("st saint")
"""Titles that are part of a given name: St. John Rivers is no John, nor is St. George."""
JOINING: Final = words("of the")
"""Lower-case words that may stand inside a name when another capital follows: Battle of the Bells."""

COUNTING: Final = words(
    "a an one two three four five six ten twenty some several many few every each another no any"
)
"""Words after which a capital is a kind's and not somebody's: two Andalusian horses."""

ASKED: Final = words("i you he she it we they the this that these those there my your his her any not")
"""Words after which a name like Will is no name: Will you?"""

SPEECH: Final = words(
    """
        said says say replied replies cried cries asked asks answered answers exclaimed exclaims observed
        remarked whispered whispers shouted shouts muttered murmured returned continued added repeated began
        interrupted called inquired enquired demanded declared rejoined responded retorted screamed sobbed
        sighed laughed growled grunted hissed roared yelled told thought insisted explained protested suggested
        agreed admitted announced warned begged pleaded snapped snarled stammered gasped chuckled nodded smiled
        spoke resumed ejaculated vociferated echoed urged concluded objected
    """
)

VERBS: Final = words(
    """
        was is had has went came sat stood took saw gave made knew felt left ran did could would fell rose spoke
        told held kept shook drew put sold wrote sang led met lost won found
    """
)
"""What follows a name at the head of a sentence, besides words in -ed."""

KIN: Final = {
    "spouse": words("wife husband spouse bride bridegroom consort widow widower"),
    "parent": words("""
        father mother papa mamma mama dad mum mom stepfather stepmother
    """),
    "child": words("son daughter child heir stepson stepdaughter"),
    "sibling": words("""
        brother sister twin stepbrother stepsister half-brother half-sister
    """),
    "friend": words("friend companion ally confidant confidante comrade friends"),
    "enemy": words("enemy rival foe nemesis adversary enemies"),
}

KINSFOLK: Final = words("uncle aunt cousin nephew niece").union(*KIN.values())
"""Words before a name that only persons have: his sister Rosa."""

PLACE_NOUNS: Final = words(
    """
        park house hall street road lane abbey castle lodge manor cottage square place court hill hills
        mountain mountains mount river lake sea ocean bay harbour harbor island islands isle forest wood woods
        town city village county shire bridge gate tower palace church cathedral inn tavern square gardens
        garden farm grange valley vale moor heath port keep fort fortress temple station school college
        university library market row terrace crescent parsonage rectory vicarage green common wharf stair
        stairs strait desert plains kingdom empire realm north south east west eyrie pass falls cliff cliffs
        beach coast cape point marsh fields wall light lighthouse quay dock docks parade buildings rooms hotel
        hospital prison jail avenue boulevard plaza theatre theater museum academy opera restaurant café camp alley
        arcade embankment province district territory peninsula archipelago canal creek barracks asylum workhouse
        convent monastery priory chapel cemetery churchyard downs canyon gorge gulch ravine ranch prairie bazaar
    """
)
ESTATE_NOUNS: Final = words(
    """
        park house hall abbey castle lodge manor court cottage grange farm parsonage place keep
    """
)
"""Places that are also called without this word: Netherfield, Kellynch."""
FACTION_NOUNS: Final = words(
    """
        house order guild company council church army regiment brotherhood sisterhood society league alliance
        legion clan tribe family court watch guard guards office party government parliament senate ministry
        crew band militia navy fleet union club syndicate cabal circle coven lodge committee commission bank
        agency
    """
)
"""A name that ends or begins so is a group: House Stark, Tide Office."""
KINDREDS: Final = words("house clan tribe")
"""Words that make a faction of the name behind them: House Stark."""
OBJECT_NOUNS: Final = words(
    """
        ring sword blade dagger crown stone book scroll lamp lantern amulet necklace jewel gem key mirror cup
        grail chalice staff wand spear shield bow horn map letter ship boat engine machine
    """
)
EVENT_NOUNS: Final = words(
    """
        battle war wedding rebellion revolution feast festival tournament siege massacre treaty fair ball
        funeral coronation conquest crusade plague fire flood trial uprising mutiny reformation restoration race
    """
)
INSTITUTIONS: Final = ((FACTION_NOUNS | EVENT_NOUNS) - PLACE_NOUNS) | words("empire republic")
DIGNITIES: Final = words("state constitution exhibition press bench")
"""What may have a capital for its dignity alone: the State; and a Republic or a Revolution that is not `the`."""
PLACE_HEADS: Final = words("cape mount lake port fort isle gulf strait straits mt bay")
"""Words that make a place of the name behind them: Cape Horn."""
ABOARD_SIGNS: Final = words("aboard board")
"""Words before ships: on board the Pequod."""
PLACE_SIGNS: Final = words("""
    in at into near through within across throughout towards toward around beyond via
""")
AWAY_SIGNS: Final = words("""
    from to leave left reach reached leaving reaching visit visited entered
""")

ROLES: Final = words(
    """
        papa mamma mama mother father dad daddy mum mummy mom mommy sir madam ma'am sire majesty highness
        lordship ladyship honour honor excellency grace worship sirrah milord milady gentleman gentlemen ladies
        lads boys girls grandmamma grandpapa grandma grandpa granny aunt uncle auntie sister brother cousin
        nurse citizen citizens citizeness comrade comrades
    """
)
"""How many are called and nobody by name."""

ORDINALS: Final = words("first second third fourth fifth sixth seventh eighth ninth tenth")

CALENDAR: Final = words(
    """
        north south east west
        monday tuesday wednesday thursday friday saturday sunday january february march april may june july
        august september october november december
    """
)
"""Days, months and directions, which name someone if he speaks, or as part of a longer name: the March Hare."""

NEVER: Final = (
    words(
        """
        i i'm i'll i've i'd christmas easter michaelmas lent whitsun god gods lord heaven heavens god's lord's
        providence devil hell bible testament scripture latin chapter volume book part contents illustration
        footnote preface the end oh ah o ugh pooh messrs misses captains honourable hm hum hey tis twas sh shh
        hist pshaw faugh bah pish tut whew hooray hurray huzza bravo lo fie humph heigh heigho zounds egad begad
        gosh golly goodness gracious lordy mercy jiminy hark halloa holloa gothic scriptural biblical alas
        hurrah hallo hullo hello yes no well why what ha ho hush good bye dear ay aye eh pray amen project
        gutenberg ebook etext york's p.s p.m a.m n.b mr mrs miss esq jun sen okay ok thank thanks please day
        night morning evening spring summer autumn winter madam ma'am sir act scene exit exeunt enter nobody
        somebody everybody anybody nothing something everything anything sabbath jesus christ almighty saviour
        creator koran gospel gospels psalm psalms genesis exodus renaissance monsieur madame mademoiselle
        messieurs mesdames herr frau fräulein signor signora signorina señor señora señorita sahib memsahib
        yessir nossir yes'm no'm good-bye good-by goodbye good-night good-morning good-evening farewell uh woof hi
        huh haw whoa gee phew ouch hem caw satan beelzebub jehovah allah
    """
    )
    | ROLES
    | PEOPLES
)
"""Capitalised words that name nobody in a story."""
