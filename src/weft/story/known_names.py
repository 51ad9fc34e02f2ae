"""Names that are known before any book is read: given names with their gender, and what is short for what."""

from typing import Final

from weft.story.vocabulary import FEMALE, MALE

_SHORT_FOR: Final = """
    abby:abigail al:albert/alfred/alan/alexander alec:alexander alex:alexander/alexandra alexis:alexey/alexei
    alf:alfred alyosha:alexey/alexei/aleksey andryusha:andrey/andrei andy:andrew annie:anne/ann/anna art:arthur
    barney:barnabas bart:bartholomew bea:beatrice becky:rebecca bell:isabella bella:isabella/arabella
    ben:benjamin beppo:giuseppe bert:albert/robert/herbert bess:elizabeth bessie:elizabeth bessy:elizabeth
    beth:elizabeth betsy:elizabeth betty:elizabeth bill:william billy:william bob:robert bobby:robert
    bram:abraham bran:brandon cassie:cassandra cathy:catherine/katherine charley:charles
    charlie:charles/charlotte chris:christopher/christine chuck:charles cissy:cecilia connie:constance
    dan:daniel danny:daniel dave:david davy:david dick:richard dolly:dorothy/dorothea
    dora:dorothy/theodora dot:dorothy dounia:avdotya dunya:avdotya ed:edward/edmund/edgar eddie:edward/edmund
    eliza:elizabeth ellie:eleanor/ellen emmy:emma/emily fan:frances/fanny fanny:frances/stephanie fedya:fyodor
    flo:florence frank:francis/franklin fred:frederick/alfred freddy:frederick fritz:friedrich
    gabby:gabriel/gabrielle georgie:george/georgiana ginny:virginia/ginevra gretchen:margarete/margaret
    grisha:grigory grushenka:agrafena gus:augustus hal:henry/harold hank:henry harry:henry/harold/harriet
    hattie:harriet heinz:heinrich hetty:henrietta/hester jack:john jake:jacob jamie:james jeff:jeffrey
    jem:james/jeremy jenny:jane/jennifer jerry:gerald/jeremiah jim:james jimmy:james jo:josephine/joseph
    joe:joseph joey:joseph johnny:john jon:jonathan josh:joshua judy:judith kate:katherine/catherine
    kathy:katherine katya:katerina/ekaterina kay:katherine ken:kenneth kit:christopher kitty:catherine/katherine
    kolya:nikolay/nikolai kostya:konstantin larry:lawrence/laurence laurie:laurence/theodore len:leonard
    lena:helena lily:lilian lise:elise liz:elizabeth liza:elizabeth/lizaveta/elizaveta lizaveta:elizaveta
    lizzie:elizabeth lizzy:elizabeth lottie:charlotte lou:louis/louisa lulu:louise madge:margaret
    maggie:margaret maisie:margaret mamie:mary masha:marya/maria matt:matthew mattie:martha/matilda meg:margaret
    mick:michael mike:michael milly:millicent/mildred minnie:wilhelmina misha:mihail/mikhail
    mitenka:dmitri/dmitry mitya:dmitri/dmitry moll:mary molly:mary nan:anne/ann nancy:anne/ann
    nastya:anastasia/nastasya nat:nathaniel/nathan natasha:natalya/natalia ned:edward/eddard/edmund
    nell:eleanor/ellen/helen nellie:eleanor/ellen/helen nelly:eleanor/ellen/helen nick:nicholas noll:oliver
    nora:eleanor/honora paddy:patrick pam:pamela pat:patrick/patricia patty:martha/patricia peg:margaret
    peggy:margaret penny:penelope pepe:jose/josé pete:peter petya:pyotr phil:philip/phillip pip:philip
    polly:mary ralphy:ralph ray:raymond reg:reginald rick:richard rob:robert robbie:robert robin:robert
    rodya:rodion ron:ronald ronny:ronald rosie:rose sadie:sarah sal:sarah sally:sarah
    sam:samuel/samantha sammy:samuel sandy:alexander sasha:alexander/alexandra/alexandr
    seryozha:sergey/sergei sid:sidney sonia:sofya/sophia sonya:sofya/sophia sophy:sophia steve:stephen/steven
    sue:susan sukey:susan susie:susan suzy:susan tanya:tatyana/tatiana ted:edward/theodore teddy:edward/theodore
    tess:theresa/teresa tilly:matilda tim:timothy timmy:timothy toby:tobias toinette:antoinette tom:thomas
    tommy:thomas tony:anthony val:valentine/valerie vanya:ivan varya:varvara vasya:vasily vicky:victoria
    volodya:vladimir walt:walter wat:walter will:william willie:william wills:william willy:william
    winnie:winifred zach:zachary
"""
NICKNAMES: Final = {
    nickname: frozenset(formal.split("/"))
    for nickname, _, formal in (entry.partition(":") for entry in _SHORT_FOR.split())
}
"""Short names with the names they may stand for."""

_GIVEN: Final = {
    MALE: """
        abraham adam adolf adolphe alan albert alec alexander alexei alexey alfred alphonse ambrose andrei
        andrew anthony antoine antonio archibald armand arthur augustus barnaby bartholomew basil benedict
        benjamin bernard boris carlos cecil cedric charles christopher claude clement conrad cornelius cuthbert
        cyril daniel david dennis diego dmitri dominic donald duncan ebenezer edgar edmund eduard edward edwin
        elijah emile enrico ernest ernst eugene ezekiel felix ferdinand fernando fitzwilliam francis francisco
        frank franz françois fred frederick friedrich fyodor gabriel gaston geoffrey george gerald giacomo
        gilbert giovanni giuseppe godfrey gregory guido guillaume gustav gustave guy hans harold harry hector
        heinrich henry herbert herman hermann horace horatio hubert hugh humphrey ichabod ignatius igor isaac
        ivan jabez jack jacob jacques james jasper jeremiah jerome jim joe john jonathan joseph joshua josiah
        juan jules julian julius justin karl kenneth konrad konstantin lambert laurence lawrence leonard leopold
        lewis lorenzo louis lucas lucien ludwig luigi luke manuel marcel marcus mark marmaduke martin matthew
        maurice maximilian michael miguel mikhail mortimer moses nathan nathaniel ned nicholas nigel nikolai
        noah norman obadiah octavius oliver oscar otto pablo pascal patrick paul pedro percival percy peter
        philip phillip pierre pietro pyotr ralph raoul raymond reginald reuben richard robert rodolphe rodrigo
        roger roland rudolf rudolph rufus rupert samuel sancho sebastian septimus sergei seth silas silvester
        simon solomon stanley stephen swithin sylvester thaddeus theodore thomas timothy titus tobias tom ulrich
        valentine vasily vincent vladimir walter wilfred wilhelm will william zachary émile
    """,
    FEMALE: """
        abigail ada adela adelaide adele adèle agatha agnes agnès alexandra alice alicia amelia amy angela
        angelina anna anne annie antoinette antonia arabella augusta aurelia barbara beatrice belinda bella
        bertha betsy blanche bridget camilla carlotta carmen caroline cassandra catherine cecilia celia charity
        charlotte christina claire clara clarissa clementine constance cordelia cornelia daphne deborah diana
        dora dorothea dorothy edith edna effie ekaterina eleanor elena elinor elisabeth elise eliza elizabeth
        ellen ellinor elsa elsie elspeth emily emma emmeline estella esther ethel eugenia eugénie eunice
        euphemia eva evelyn fanny felicia fiona flora florence frances frieda gabrielle georgiana geraldine
        gertrude gilda giulia grace gretchen griselda gwendolen hannah harriet harriett helen heloise henrietta
        hester hetty hilda honoria ida imogen inez irene irina isabel isabella isabelle jane janet jemima jenny
        jessica jessie joan joanna josephine judith julia juliana julie juliet juliette justine kate katerina
        katharine katherine katya kitty laura lavinia leonora letitia lilian lizaveta lizzy louisa louise lucia
        lucille lucinda lucretia lucy lydia mabel madeleine magdalena margaret marguerite maria marianne marie
        marietta marina marjorie marta martha mary masha matilda maud mercedes mildred millicent minerva minna
        miriam molly monica muriel nancy naomi natalia natalya natasha nathalie nell nelly nora octavia odette
        olga olivia ophelia pamela patience paula pauline pearl penelope philippa phoebe phyllis polina polly
        priscilla prudence rachel rebecca rosa rosalie rosalind rosaline rosamond rose rosina roxana ruth sabina
        sally sarah selina sibyl sofya sonia sonya sophia sophie stella susan susanna susannah suzanne sylvia
        tatiana theresa thérèse ulrica ursula valeria vera veronica victoria viola violet virginia wilhelmina
        winifred yvonne zoe
    """,
}
GIVEN_NAMES: Final = {name: gender for gender, names in _GIVEN.items() for name in names.split()}
"""Common given names with the gender they tell."""
