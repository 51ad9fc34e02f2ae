"""Stories in German, French, Spanish, Italian, Russian, Chinese and Japanese: people, cases, nouns and ties."""

import pytest

from weft.story import TIES, Prose, Story, extract_story
from weft.text.chapters import is_story

FRENCH = """Chapitre premier

— Bonjour, dit Jeanne Morel en entrant. La pluie tombait depuis le matin.

— Bonjour, Jeanne, répondit Lucien. Lucien Morel était le frère de Jeanne. Il vivait avec sa femme Claire.

— Où est Claire ? demanda Jeanne.

— Elle dort, dit Lucien.
"""
GERMAN = """Erstes Kapitel

»Guten Morgen«, sagte Anna Brandt und stellte den Korb auf den Tisch. Die Katze schlief unter dem Ofen.

»Guten Morgen, Anna«, antwortete Karl. Karl Brandt war der Bruder von Anna. Er hatte die Mühle vom Vater bekommen.

»Wo ist Greta?«, fragte Anna. »Die Frau vom Müller hat das Brot gebracht.«

»Greta ist in Lindau«, sagte Karl. Seine Frau Greta war müde. Der Hund bellte, und Herr Voss kam herein.

»Der Winter kommt«, sagte Herr Voss. Die Mühle stand still, der Hund schlief, das Brot war warm.
"""
SPANISH = """Capítulo primero

—Buenos días —dijo Elena Robles al entrar. Llovía desde la mañana.

—Buenos días, Elena —respondió Tomás. Tomás Robles era el hermano de Elena. Vivía con su esposa Carmen.

—¿Dónde está Carmen? —preguntó Elena.

—Duerme —dijo Tomás. Don Julián entró. Carmen era la hija de don Julián. Don Julián miró a Carmen.
"""
ITALIAN = """Capitolo primo

«Buongiorno», disse Lucia Ferri entrando. Pioveva dal mattino.

«Buongiorno, Lucia», rispose Marco. Marco Ferri era il fratello di Lucia. Viveva con sua moglie Giulia.

«Dov'è Giulia?» chiese Lucia.

«Dorme», disse Marco. Giulia era la figlia del signor Bassi. Il signor Bassi entrò. Il signor Bassi guardò Giulia.
"""
RUSSIAN = """Глава первая

— Здравствуй, — сказала Анна, входя. Дождь шёл с утра.

— Здравствуй, Анна, — ответил Иван. Иван был братом Анны. Он жил там со своей женой Марией.

— Где Мария? — спросила Анна. Она посмотрела на Ивана.

— Спит, — сказал Иван. Он дал Марии книгу. Ивану было грустно. С Иваном говорили мало. Марию никто не видел.

Анне стало холодно. У Анны болела голова. Иван молчал.
"""
CHINESE = """第一章

“早上好。”李明说。雨从早上一直下着。

“早上好，李明。”王芳说。王芳看着窗外。

“父亲在哪里？”李明问。

“在家。”王芳说。
"""
JAPANESE = """第一章

「おはよう」と太郎は言った。雨が朝から降っていた。

「おはよう、太郎」と花子は言った。花子は窓を見た。

「父はどこ」と太郎は聞いた。田中さんが入ってきた。

「冬が来る」と田中さんは言った。
"""


def told(text: str) -> Story:
    return extract_story([Prose("a", text, 1), Prose("b", text.split("\n\n", 1)[1], 2)])


def ties(story: Story) -> set[tuple[str, frozenset[str]]]:
    return {
        (tie.type, frozenset(story.entities[index].name for index in (tie.source, tie.target)))
        for tie in story.ties
        if tie.type in TIES
    }


@pytest.mark.parametrize(
    ("text", "people"),
    [
        (FRENCH, {"Jeanne Morel", "Lucien Morel", "Claire"}),
        (GERMAN, {"Anna Brandt", "Karl Brandt", "Greta", "Herr Voss"}),
        (SPANISH, {"Elena Robles", "Tomás Robles", "Carmen", "Don Julián"}),
        (ITALIAN, {"Lucia Ferri", "Marco Ferri", "Giulia", "Bassi"}),
        (RUSSIAN, {"Анна", "Иван", "Мария"}),
        (CHINESE, {"李明", "王芳"}),
        (JAPANESE, {"太郎", "花子", "田中"}),
    ],
    ids=["French", "German", "Spanish", "Italian", "Russian", "Chinese", "Japanese"],
)
def test_the_people_are_found_and_no_nouns_or_cases_beside_them(text: str, people: set[str]) -> None:
    found = {entity.name for entity in told(text).entities if entity.kind == "character"}
    assert found == people


def test_german_nouns_behind_contractions_and_words_of_kinship_are_no_names() -> None:
    story = told(
        "1\n\n„Guten Morgen“, sagte Bram. Orla sah aufs Meer. „Ja“, antwortete Orla. "
        "Bram ging mit seiner Schwester Orla nach Hause. Sie sah aufs Meer. Bram ging nach Hause."
    )
    assert {entity.name for entity in story.entities} == {"Bram", "Orla"}
    assert ties(story) == {("sibling", frozenset({"Bram", "Orla"}))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FRENCH, {("sibling", "Lucien Morel", "Jeanne Morel"), ("spouse", "Lucien Morel", "Claire")}),
        (GERMAN, {("sibling", "Karl Brandt", "Anna Brandt"), ("spouse", "Karl Brandt", "Greta")}),
        (
            SPANISH,
            {
                ("sibling", "Tomás Robles", "Elena Robles"),
                ("spouse", "Tomás Robles", "Carmen"),
                ("parent", "Don Julián", "Carmen"),
            },
        ),
        (
            ITALIAN,
            {
                ("sibling", "Marco Ferri", "Lucia Ferri"),
                ("spouse", "Marco Ferri", "Giulia"),
                ("parent", "Bassi", "Giulia"),
            },
        ),
        (RUSSIAN, {("sibling", "Иван", "Анна"), ("spouse", "Иван", "Мария")}),
    ],
    ids=["French", "German", "Spanish", "Italian", "Russian"],
)
def test_kinship_and_marriage_are_read_in_five_languages(text: str, expected: set[tuple[str, str, str]]) -> None:
    # The sister of a husband is a relative of his wife, which no sentence says.
    stated = {tie for tie in ties(told(text)) if tie[0] != "relative"}
    assert stated == {(kind, frozenset(people)) for kind, *people in expected}


@pytest.mark.parametrize(
    ("text", "second"),
    [
        (FRENCH, "Chapitre deux"),
        (GERMAN, "Zweites Kapitel"),
        (SPANISH, "Capítulo segundo"),
        (ITALIAN, "Capitolo secondo"),
        (RUSSIAN, "Глава вторая"),
        (CHINESE, "第二章"),
        (JAPANESE, "第二章"),
    ],
    ids=["French", "German", "Spanish", "Italian", "Russian", "Chinese", "Japanese"],
)
def test_a_text_of_two_chapters_with_dialogue_is_a_story(text: str, second: str) -> None:
    assert is_story(f"{text}\n{second}\n\n{text.split(chr(10) * 2, 1)[1]}")
