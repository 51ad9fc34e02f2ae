"""The closed lists by which prose tells who is who: titles, words of kinship and of speech, kinds of places."""

from typing import Final

MALE: Final = "m"
FEMALE: Final = "f"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PLAIN_TITLES: Final = {"mr": MALE, "mister": MALE, "mrs": FEMALE, "miss": FEMALE, "ms": FEMALE, "master": MALE}
"""How anyone is addressed; the same family has several of each."""

_NOBLE: Final = {
    MALE: """
        sir lord king prince duke count baron earl viscount marquis marquess emperor tsar czar sultan don ser
    """,
    FEMALE: """
        lady queen princess duchess countess baroness viscountess marchioness empress tsarina dame doña dona
    """,
}
_FOREIGN: Final = {
    MALE: "monsieur m mons herr signor señor senor sahib massa marse mars marster",
    FEMALE: """
        madame mme mademoiselle mlle frau fräulein fraulein signora signorina señora senora señorita madam
    """,
}
_FAMILIAR: Final = {
    MALE: """
        uncle father brother grandfather grandpa friar brother squire goodman
    """,
    FEMALE: """
        aunt mother sister grandmother grandma nurse goody mistress goodwife dame granny auntie
    """,
}
_RANKS: Final = _words(
    """
        captain capt colonel col major general gen lieutenant lieut lt sergeant sgt corporal private admiral
        commodore commander doctor dr professor prof reverend rev bishop archbishop cardinal pope abbot abbess
        judge justice inspector constable detective officer sheriff president senator governor minister
        ambassador chancellor maester marshal magistrate mayor chief comptroller superintendent deacon parson
        vicar rabbi imam sheikh saint st coach warden steward agent secretary elder
    """
)

NOBLE_TITLES: Final = _words(" ".join(_NOBLE.values()))
FAMILIAR_TITLES: Final = _words(" ".join(_FAMILIAR.values()))
STYLED_BY_GIVEN_NAME: Final = _words(" ".join((*_NOBLE.values(), *_FAMILIAR.values(), "saint st master")))
"""Titles that stand before a given name as often as before a surname: Sir William, Aunt Jane."""

TITLES: Final = {
    **dict.fromkeys(_RANKS, ""),
    **{
        title: gender
        for table in (_FAMILIAR, _FOREIGN, _NOBLE)
        for gender, names in table.items()
        for title in names.split()
    },
    **PLAIN_TITLES,
}
"""Every title with the gender it tells, if it tells one."""

ABBREVIATED: Final = _words(
    """
        mr mrs ms dr st rev capt col gen lt lieut sgt prof messrs mme mlle m mons hon esq jr sr mt
    """
)
"""Words whose full stop ends no sentence."""

PARTICLES: Final = _words("""
    de du des la le von van der den di da del della bin ibn al el ap ben zu af av
""")
CAPITAL_PARTICLES: Final = _words("van von de du der di del della la le st.")
"""Those that are no given names, so that a capital changes nothing."""
SAINTS: Final = _words("st saint")
"""Titles that are part of a given name: St. John Rivers is no John, nor is St. George."""
JOINING: Final = _words("of the")
"""Lower-case words that may stand inside a name when another capital follows: Battle of the Bells."""

COUNTING: Final = _words(
    "a an one two three four five six ten twenty some several many few every each another no any"
)
"""Words after which a capital is a kind's and not somebody's: two Andalusian horses."""

ASKED: Final = _words("i you he she it we they the this that these those there my your his her any not")
"""Words after which a name like Will is no name: Will you?"""

SPEECH: Final = _words(
    """
        said says say replied replies cried cries asked asks answered answers exclaimed exclaims observed
        remarked whispered whispers shouted shouts muttered murmured returned continued added repeated began
        interrupted called inquired enquired demanded declared rejoined responded retorted screamed sobbed
        sighed laughed growled grunted hissed roared yelled told thought insisted explained protested suggested
        agreed admitted announced warned begged pleaded snapped snarled stammered gasped chuckled nodded smiled
        spoke resumed ejaculated vociferated echoed urged concluded objected
    """
)

VERBS: Final = _words(
    """
        was is had has went came sat stood took saw gave made knew felt left ran did could would fell rose spoke
        told held kept shook drew put sold wrote sang led met lost won found
    """
)
"""What follows a name at the head of a sentence, besides words in -ed."""

KIN: Final = {
    "spouse": _words("wife husband spouse bride bridegroom consort widow widower"),
    "parent": _words("""
        father mother papa mamma mama dad mum mom stepfather stepmother
    """),
    "child": _words("son daughter child heir stepson stepdaughter"),
    "sibling": _words("""
        brother sister twin stepbrother stepsister half-brother half-sister
    """),
    "friend": _words("friend companion ally confidant confidante comrade friends"),
    "enemy": _words("enemy rival foe nemesis adversary enemies"),
}

PLACE_NOUNS: Final = _words(
    """
        park house hall street road lane abbey castle lodge manor cottage square place court hill hills
        mountain mountains mount river lake sea ocean bay harbour harbor island islands isle forest wood woods
        town city village county shire bridge gate tower palace church cathedral inn tavern square gardens
        garden farm grange valley vale moor heath port keep fort fortress temple station school college
        university library market row terrace crescent parsonage rectory vicarage green common wharf stair
        stairs strait desert plains kingdom empire realm north south east west eyrie pass falls cliff cliffs
        beach coast cape point marsh fields wall light lighthouse quay dock docks parade buildings rooms hotel
        hospital prison jail
    """
)
ESTATE_NOUNS: Final = _words(
    """
        park house hall abbey castle lodge manor court cottage grange farm parsonage place keep
    """
)
"""Places that are also called without this word: Netherfield, Kellynch."""
FACTION_NOUNS: Final = _words(
    """
        house order guild company council church army regiment brotherhood sisterhood society league alliance
        legion clan tribe family court watch guard guards office party government parliament senate ministry
        crew band militia navy fleet union club syndicate cabal circle coven lodge committee commission bank
        agency
    """
)
"""A name that ends or begins so is a group: House Stark, Tide Office."""
KINDREDS: Final = _words("house clan tribe")
"""Words that make a faction of the name behind them: House Stark."""
OBJECT_NOUNS: Final = _words(
    """
        ring sword blade dagger crown stone book scroll lamp lantern amulet necklace jewel gem key mirror cup
        grail chalice staff wand spear shield bow horn map letter ship boat engine machine
    """
)
EVENT_NOUNS: Final = _words(
    """
        battle war wedding rebellion revolution feast festival tournament siege massacre treaty fair ball
        funeral coronation conquest crusade plague fire flood trial uprising mutiny reformation restoration race
    """
)
PLACE_HEADS: Final = _words("cape mount lake port fort isle gulf strait straits mt bay")
"""Words that make a place of the name behind them: Cape Horn."""
KNOWN_PLACES: Final = _words(
    """
        england scotland ireland wales britain france germany italy spain portugal holland belgium switzerland
        austria prussia russia poland denmark norway sweden finland iceland greenland greece turkey egypt persia
        arabia india china japan africa asia europe america australia canada mexico brazil peru chile cuba
        jamaica jerusalem london paris rome venice vienna berlin dublin edinburgh madrid lisbon moscow
        petersburg amsterdam brussels naples florence athens constantinople cairo calcutta boston philadelphia
        chicago atlantic pacific mediterranean baltic thames seine rhine danube nile mississippi tokyo peking
        bombay bulgaria hungary bohemia saxony bavaria normandy brittany flanders sicily corsica malta cyprus crete
        syria palestine morocco algiers tunis abyssinia siberia tartary tibet siam burma ceylon java sumatra borneo
        philippines hawaii alaska california texas florida virginia ohio illinois missouri kentucky tennessee
        louisiana alabama georgia carolina pennsylvania massachusetts connecticut maine vermont indiana iowa
        kansas nebraska oregon nevada utah colorado wisconsin minnesota michigan maryland delaware arkansas
        cornwall devon kent sussex surrey essex norfolk suffolk oxford cambridge bath bristol liverpool manchester
        birmingham glasgow munich hamburg frankfurt dresden cologne geneva zurich lyons bordeaux marseilles
        milan turin genoa pisa padua barcelona seville cadiz warsaw prague budapest bucharest antwerp ghent
        copenhagen stockholm oslo montreal quebec toronto baltimore broadway piccadilly manhattan brooklyn
        argentina venezuela bolivia paraguay uruguay ecuador colombia
    """
) | {"united states", "great britain", "new york", "new england", "new orleans", "new zealand"}
"""Places that every book means when it names them, unless somebody in it speaks by that name."""
ABOARD_SIGNS: Final = _words("aboard board")
"""Words before ships: on board the Pequod."""
PLACE_SIGNS: Final = _words("""
    in at into near through within across throughout towards toward around beyond via
""")
AWAY_SIGNS: Final = _words("""
    from to leave left reach reached leaving reaching visit visited entered
""")

ROLES: Final = _words(
    """
        papa mamma mama mother father dad daddy mum mummy mom mommy sir madam ma'am sire majesty highness
        lordship ladyship honour honor excellency grace worship sirrah milord milady gentleman gentlemen ladies
        lads boys girls grandmamma grandpapa grandma grandpa granny aunt uncle auntie sister brother cousin
        nurse
    """
)
"""How many are called and nobody by name."""

PEOPLES: Final = _words(
    """
        spaniard spaniards portuguese swede swedish dane danish norwegian norwegians finnish icelandic pole poles
        polish hungarian austrian austrians prussian prussians bohemian swiss belgian belgians greeks turk turks
        arab arabs arabian arabic moor moors moorish jew jews hebrew israelite negro negroes mulatto yankee yankees
        mexican mexicans cuban peruvian brazilian canadian canadians australian africans african asian asiatic
        americans russians italians romans frenchwoman englishwoman irishman irishmen irishwoman scotchman
        scotchmen scotsman welshmen dutchman dutchmen chinaman chinamen hindoo hindu hindoos lascar lascars malay
        malays savoyard venetian parisian londoner florentine neapolitan genoese flemish norman normans saxon
        saxons teuton celt celtic gaelic sanskrit indians injuns europeans asiatics christians catholics
        protestants mahometan mohammedan mussulman jesuit jesuits quaker quakers puritan puritans methodist
        presbyterian lutheran calvinist anglican buddhist pagan papist
    """
)
"""Peoples and confessions: what many are at once."""

CALENDAR: Final = _words(
    """
        north south east west
        monday tuesday wednesday thursday friday saturday sunday january february march april may june july
        august september october november december
    """
)
"""Days, months and directions, which name someone if he speaks, or as part of a longer name: the March Hare."""

NEVER: Final = (
    _words(
        """
        i i'm i'll i've i'd christmas easter michaelmas lent whitsun god gods lord heaven heavens god's lord's
        providence devil hell bible testament scripture latin english french german italian spanish greek irish
        scotch scottish welsh british american roman russian dutch chinese indian european turkish persian
        japanese egyptian christian catholic protestant jewish muslim englishman englishmen frenchman frenchmen
        german germans chapter volume book part contents illustration footnote preface the end oh ah o ugh pooh
        messrs misses captains honourable hm hum hey tis twas sh shh hist pshaw faugh bah pish tut whew hooray
        hurray huzza bravo lo fie humph heigh heigho zounds egad begad gosh golly goodness gracious lordy mercy
        jiminy hark halloa holloa gothic scriptural biblical
        alas hurrah hallo hullo hello yes no well why what ha ho hush good bye dear ay aye eh pray amen project
        gutenberg ebook etext york's p.s p.m a.m n.b mr mrs miss esq jun sen okay ok thank thanks please day
        night morning evening spring summer autumn winter madam ma'am sir act scene exit exeunt enter nobody
        somebody everybody anybody nothing something everything anything
    """
    )
    | ROLES
    | PEOPLES
)
"""Capitalised words that name nobody in a story."""

_SHORT_FOR: Final = """
    abby:abigail al:albert/alfred/alan/alexander alec:alexander alex:alexander/alexandra alf:alfred andy:andrew
    annie:anne/ann/anna nan:anne/ann nancy:anne/ann art:arthur barney:barnabas bart:bartholomew becky:rebecca
    bea:beatrice ben:benjamin bella:isabella/arabella bell:isabella bert:albert/robert/herbert bess:elizabeth
    bessie:elizabeth bessy:elizabeth beth:elizabeth betsy:elizabeth betty:elizabeth bill:william billy:william
    bob:robert bobby:robert bram:abraham bran:brandon cassie:cassandra cathy:catherine/katherine
    charley:charles charlie:charles/charlotte chris:christopher/christine chuck:charles cissy:cecilia
    connie:constance dan:daniel danny:daniel dany:daenerys dave:david davy:david dick:richard
    dolly:dorothy/dorothea dora:dorothy/theodora dot:dorothy ed:edward/edmund/edgar eddie:edward/edmund
    eliza:elizabeth ellie:eleanor/ellen emmy:emma/emily fan:frances/fanny fanny:frances/stephanie flo:florence
    frank:francis/franklin fred:frederick/alfred freddy:frederick gabby:gabriel/gabrielle
    georgie:george/georgiana ginny:virginia/ginevra gus:augustus hal:henry/harold hank:henry
    harry:henry/harold/harriet hattie:harriet hetty:henrietta/hester jack:john jake:jacob jamie:james jim:james
    jimmy:james jem:james/jeremy jenny:jane/jennifer jeff:jeffrey jerry:gerald/jeremiah joe:joseph
    jo:josephine/joseph joey:joseph johnny:john jon:jonathan josh:joshua judy:judith kate:katherine/catherine
    kathy:katherine kay:katherine ken:kenneth kit:christopher kitty:catherine/katherine larry:lawrence/laurence
    laurie:laurence/theodore len:leonard lena:helena lily:lilian lise:elise liz:elizabeth liza:elizabeth
    lizzie:elizabeth lizzy:elizabeth lou:louis/louisa lottie:charlotte lulu:louise madge:margaret
    maggie:margaret maisie:margaret mamie:mary matt:matthew mattie:martha/matilda meg:margaret mick:michael
    mike:michael milly:millicent/mildred minnie:wilhelmina moll:mary molly:mary nat:nathaniel/nathan
    ned:edward/eddard/edmund nell:eleanor/ellen/helen nellie:eleanor/ellen/helen nelly:eleanor/ellen/helen
    nick:nicholas nora:eleanor/honora noll:oliver paddy:patrick pam:pamela pat:patrick/patricia
    patty:martha/patricia peg:margaret peggy:margaret penny:penelope pete:peter phil:philip/phillip
    pip:philip/pippin polly:mary ralphy:ralph ray:raymond reg:reginald rick:richard/rickard rob:robert
    robbie:robert robin:robert ron:ronald ronny:ronald rosie:rose sadie:sarah sally:sarah sal:sarah
    sam:samuel/samwise/samantha sammy:samuel sandy:alexander sid:sidney sophy:sophia steve:stephen/steven
    sue:susan susie:susan sukey:susan suzy:susan ted:edward/theodore teddy:edward/theodore tess:theresa/teresa
    tilly:matilda tim:timothy timmy:timothy toby:tobias tom:thomas tommy:thomas tony:anthony
    val:valentine/valerie vicky:victoria walt:walter wat:walter will:william willie:william willy:william
    wills:william winnie:winifred zach:zachary
"""
NICKNAMES: Final = {
    nickname: frozenset(formal.split("/"))
    for nickname, _, formal in (entry.partition(":") for entry in _SHORT_FOR.split())
}
"""Short names with the names they may stand for."""

_GIVEN: Final = {
    MALE: """
        adam albert alexander alfred andrew anthony arthur benjamin charles christopher daniel david edgar
        edmund edward ernest francis frank fred frederick geoffrey george gerald gilbert harold harry henry
        herbert hugh isaac jack jacob james jim joe john joseph laurence lawrence leonard lewis louis mark
        martin matthew michael nathaniel ned nicholas oliver oscar patrick paul peter philip phillip ralph
        richard robert roger samuel simon stephen theodore thomas tobias tom walter will william
    """,
    FEMALE: """
        abigail agatha agnes alice amelia amy anna anne annie beatrice bridget caroline catherine cecilia
        charlotte clara constance deborah dorothea dorothy edith eleanor elinor eliza elizabeth ellen emily
        emma esther eva evelyn fanny flora florence frances georgiana grace hannah harriet helen henrietta
        isabella jane janet jenny joan josephine judith julia kate katherine kitty laura lizzy louisa louise
        lucy lydia mabel margaret maria marianne martha mary matilda mildred miriam molly nancy nelly olivia
        penelope phoebe polly rachel rebecca rosa rosamond rose ruth sally sarah selina sophia susan susanna
        sylvia theresa ursula victoria violet virginia winifred
    """,
}
GIVEN_NAMES: Final = {name: gender for gender, names in _GIVEN.items() for name in names.split()}
"""Common given names with the gender they tell."""
