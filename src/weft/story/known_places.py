"""How the closed lists are written down."""

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as text."""
    return frozenset(text.split())


KNOWN_PLACES: Final = words(
    """
        abyssinia africa alabama alaska aleppo alexandria algiers alsace america amsterdam andalusia annapolis
        antigua antwerp arabia aragon argentina arizona arkansas asia athens atlantic auckland australia austria
        bagdad baghdad baltic baltimore barbados barcelona basel batavia bath bavaria beirut belgium benares
        berlin bermuda birmingham bloomsbury bohemia bolivia bologna bombay bordeaux borneo boston brazil
        brighton bristol britain brittany broadway brooklyn bruges brussels bucharest budapest bulgaria burgundy
        burma cadiz cairo calais calcutta california cambridge canada cannes carolina castile catalonia caucasus
        ceylon charleston chelsea chicago chile china cincinnati cologne colombia colorado congo connaught
        connecticut constantinople copenhagen cornwall corsica crete crimea croatia cuba cumberland cyprus
        dakota damascus danube delaware delhi denmark denver detroit devon dieppe dover dresden dublin ecuador
        edinburgh egypt england essex eton europe exeter finland flanders florence florida france frankfurt
        gascony geneva genoa georgia germany ghent gibraltar glasgow granada greece greenland greenwich
        guatemala guiana haiti hamburg hampstead harvard havana hawaii heidelberg holborn holland honduras
        hungary iceland idaho illinois india indiana innsbruck iowa ireland italy jamaica japan java jerusalem
        kansas karachi kensington kent kentucky khartoum kiev kyoto labrador lahore lausanne leeds leinster
        leipzig leyden liberia lima lisbon liverpool lombardy london lorraine louisiana louvain lucerne lucknow
        lyons madras madrid maine malta manchester manhattan manila manitoba mantua margate marseilles maryland
        massachusetts mayfair mecca medina mediterranean melbourne memphis messina mexico michigan milan
        milwaukee minnesota mississippi missouri monaco montana montenegro montreal moravia morocco moscow
        munich munster nagasaki nairobi naples nashville natchez navarre nebraska nevada newcastle newfoundland
        nicaragua nile norfolk normandy northumberland norway nuremberg odessa ohio oklahoma oregon orleans
        osaka oslo oxford pacific padua palermo palestine panama paraguay paris patagonia peking pennsylvania
        persia peru petersburg philadelphia philippines picardy piccadilly piedmont pisa plymouth poland
        portsmouth portugal prague provence prussia quebec rangoon ravenna rhine riga romania rome rotterdam
        rouen roumania russia salzburg saratoga savannah savoy saxony scotland seattle sebastopol seine serbia
        servia seville shanghai sheffield siam siberia sicily silesia simla singapore smyrna soho soudan
        southampton spain stockholm stuttgart sudan suffolk sumatra surinam surrey sussex sweden switzerland
        syria tangier tartary tasmania teheran tennessee texas thames tibet tiflis tokyo toronto toulon
        transvaal transylvania trieste trinidad tunis turin turkey tuscany ukraine ulster uruguay utah
        valparaiso vancouver venezuela venice vermont verona versailles vienna virginia wales warsaw weimar
        westminster westmoreland westphalia whitechapel windsor winnipeg wisconsin wyoming yale yokohama
        zanzibar zurich
    """
) | {
    *("united states", "great britain", "new york", "new england", "new orleans", "new zealand", "new jersey"),
    *("new mexico", "san francisco", "los angeles", "buenos ayres", "buenos aires", "hong kong", "monte carlo"),
}
"""Places that every book means when it names them, unless somebody in it speaks by that name."""

PEOPLES: Final = words(
    """
        african africans american americans anabaptist anabaptists anarchist anarchists anglican anglo-indian
        anglo-indians arab arabian arabic arabs asian asiatic asiatics australian austrian austrians baptist
        belgian belgians benedictine benedictines bengali boer boers bohemian bolshevik bolsheviks brahmin
        brahmins brazilian british buddhist calvinist canadian canadians capuchin capuchins carmelite carmelites
        catholic catholics celt celtic chinaman chinamen chinese christian christians confederate confederates
        cordelier cordeliers corsair corsairs cossack cossacks creole creoles cuban dane danish democrat
        democrats dervish dervishes dominican dominicans dutch dutchman dutchmen egyptian elizabethan english
        englishman englishmen englishwoman eurasian european europeans finnish flemish florentine franciscan
        franciscans french frenchman frenchmen frenchwoman gaelic genoese georgian german germans gipsies gipsy
        greek greeks gypsies gypsy hebrew hindoo hindoos hindu hindus huguenot huguenots hungarian icelandic
        indian indians injuns irish irishman irishmen irishwoman israelite italian italians janissaries
        janissary jansenist japanese jesuit jesuits jew jewish jews lascar lascars londoner lutheran mahometan
        mahometans malay malays manichean methodist mexican mexicans mohammedan mohammedans moor moorish moors
        mormon mormons moslem moslems mulatto muslim mussulman neapolitan negro negroes norman normans norwegian
        norwegians pagan papist parisian parisians parsee persian peruvian pole poles polish portuguese
        presbyterian protestant protestants prussian prussians puritan puritans quaker quakers radicals
        republican republicans roman romans russian russians sanskrit savoyard saxon saxons scotch scotchman
        scotchmen scotsman scottish sikh sikhs socialist socialists socinian spaniard spaniards spanish swede
        swedish swiss tartar tartars tatar teuton theatin tories tory turk turkish turks unitarian venetian
        victorian welsh welshmen whig whigs yankee yankees zulu
    """
)
"""Peoples and confessions: what many are at once."""
