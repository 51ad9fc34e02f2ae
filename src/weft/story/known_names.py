"""Names that are known before any book is read: given names with their gender, and what is short for what."""

from typing import Final

from weft.story.vocabulary import FEMALE, MALE

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
    laurie:laurence/theodore len:leonard lena:helena lily:lilian lise:elise liz:elizabeth liza:elizabeth/lizaveta/elizaveta
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
    alyosha:alexey/alexei/aleksey alexis:alexey/alexei andryusha:andrey/andrei dunya:avdotya dounia:avdotya
    fedya:fyodor grisha:grigory grushenka:agrafena katya:katerina/ekaterina kolya:nikolay/nikolai kostya:konstantin
    lizaveta:elizaveta masha:marya/maria misha:mihail/mikhail mitya:dmitri/dmitry
    mitenka:dmitri/dmitry nastya:anastasia/nastasya natasha:natalya/natalia petya:pyotr rodya:rodion
    sasha:alexander/alexandra/alexandr seryozha:sergey/sergei sonya:sofya/sophia sonia:sofya/sophia
    tanya:tatyana/tatiana vanya:ivan varya:varvara vasya:vasily volodya:vladimir
    beppo:giuseppe pepe:jose/josé gretchen:margarete/margaret fritz:friedrich heinz:heinrich toinette:antoinette
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
