"""Changes and shares told in German, French or Spanish, as an English skeleton: `von U0 auf U1 gestiegen`.

The rules of changes are patterns of English words and slots. Only the words that tell a change are translated: verbs
and nouns of rising and falling, `from ... to`, `by`, and words that set a number apart. Other words stay as they are.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.sentences import Sentence
from numerate.apps.consistency.sentences.slots import ANY, one
from numerate.apps.consistency.sentences.traits import stems

if TYPE_CHECKING:
    from numerate.apps.consistency.sentences.quantities import Quantity

__all__ = ["CUES", "in_english"]

CUES = stems(
    "auf_ um_ sank sinkt gesunken stieg gestiegen steigt gewachsen wuchs rückgang anstieg zuwachs zunahme erhöh"
    " verringer"
    " von_ davon prozent passé passe_ passant passent hausse baisse augment progress recul diminu grimp chut sur_"
    " parmi_ soit_"
    " pasó pasaron subió subieron subido bajó bajaron bajado aumento aumentó aumentaron incremento creció"
    " crecieron cayó"
    " cayeron descend disminu redujo reducción las_ los_ der_ des_"
)
"""One of these words is in each sentence that may be translated."""
_PERCENT = regex(r" ?(?:prozent|v\. ?h\.|pour cent|por ciento)\b")
_POINTS = regex(r" (?:prozentpunkte?n?|points? de pourcentage|puntos? porcentual(?:es)?)\b")
_FOLD = str.maketrans("äöüàâáçéèêëîïíñôóùûúß", "aouaaaceeeeiiinoouuus")
_SLOT = one(ANY)
_GAP = rf"[^;:()\ue000-\uf8ff]|{_SLOT}"
_NEXT = r"[^;:()\ue000-\uf8ff]{0,40}? (?:al?|auf|hasta) (?:[a-z]+ )?[\ue000-\ue009]"
_UP = (
    r"stieg(?:en)?|steigt|steigen|kletterten?|wuchs(?:en)?|wachst|erhohten? sich|erhoht(?:en)? sich|legten? zu"
    r"|nahm(?:en)? zu"
    r"|(?:a|ont|avait|avaient) (?:augmente|progresse|grimpe|bondi)|augmente(?:nt)?|augmentait|progresse(?:nt)?"
    r"|augmentant"
    r"|subio|subieron|(?:ha|han) (?:subido|aumentado|crecido)|aumento\b(?= (?:un|de))|aumentaron|crecio|crecieron"
    r"|se incremento"
)
_DOWN = (
    r"sank(?:en)?|sinkt|sinken|fiel(?:en)?|schrumpften?|verringerten? sich|ging(?:en)? zuruck|nahm(?:en)? ab"
    r"|(?:a|ont|avait|avaient) (?:recule|baisse|diminue|chute)|recule(?:nt)?|diminue(?:nt)?|baissent|reculant|diminuant"
    r"|bajo(?= (?:un|de))|bajaron|(?:ha|han) (?:bajado|caido|disminuido|descendido)|cayo|cayeron|descendio"
    r"|descendieron|disminuyo"
    r"|disminuyeron|se redujo"
)
_RISES = (
    r"plus|anstieg|zuwachs|zunahme|steigerung|wachstum|erhohung|hausse|augmentation|progression|croissance|bond|gain"
    r"|aumento|incremento|subida|alza|crecimiento"
)
_FALLS = (
    r"minus|ruckgang|abnahme|verlust|senkung|verringerung|nachlass|rabatt|baisse|remise|rabais|descuento|recul"
    r"|diminution|chute|reduction"
    r"|caida|descenso|bajada|reduccion|disminucion"
)
_OF = r"(?:von|um|d[eu']|del|de la)"
_RISEN = r"(?:gestiegen|gewachsen|gewachsen|geklettert|zugenommen|erhoht|angestiegen|gesteigert)"
_FALLEN = r"(?:gesunken|gefallen|zuruckgegangen|geschrumpft|abgenommen|verringert|gesenkt|reduziert)"
_AUXILIARY = r"(?:ist|sind|war|waren|hat sich|haben sich|hat|haben|wurden?)(?: [a-z]+){0,3}?"
_WORDS = [
    (regex(pattern), english)
    for pattern, english in (
        (rf"\b{_AUXILIARY} um (?={_SLOT}(?:{_GAP}){{0,90}}\b{_RISEN}\b)", "rose by "),
        (rf"\b{_AUXILIARY} um (?={_SLOT}(?:{_GAP}){{0,90}}\b{_FALLEN}\b)", "fell by "),
        (rf"\b{_AUXILIARY} von (?={_SLOT}(?:{_GAP}){{0,90}}\b{_RISEN}\b)", "rose von "),
        (rf"\b{_AUXILIARY} von (?={_SLOT}(?:{_GAP}){{0,90}}\b{_FALLEN}\b)", "fell von "),
        (rf" {_RISEN}\b| {_FALLEN}\b", ""),
        (rf"\b(?:ein(?:e[nmrs]?)?|une?|un|en|el|la|le) (?:[a-z]+ )?(?:{_RISES}) {_OF} (?={_SLOT})", "an increase of "),
        (rf"\b(?:ein(?:e[nmrs]?)?|une?|un|en|el|la|le) (?:[a-z]+ )?(?:{_FALLS}) {_OF} (?={_SLOT})", "a decline of "),
        (rf"\b(?:{_UP}) (?:um|de|d['’]|un|en un|hasta un) (?={_SLOT})(?!{_SLOT}{_NEXT})", "rose by "),
        (rf"\b(?:{_DOWN}) (?:um|de|d['’]|un|en un) (?={_SLOT})(?!{_SLOT}{_NEXT})", "fell by "),
        (rf"\b(?:{_UP})\b", "rose"),
        (rf"\b(?:{_DOWN})\b", "fell"),
        (rf"\bum (?={_SLOT})", "by "),
        (r"\b(?:das entspricht|dies entspricht|das sind|das ist|das bedeutet|also|soit"
         r"|ce qui (?:represente|correspond a|fait)"
         r"|c['’]est-a-dire|lo que (?:supone|representa|equivale a)|es decir|o sea)\b", "or"),
        (r"\b(?:pass(?:e|ee|es|ees|ant|ent|ait|aient|a|erent)|paso|pasaron|pasando|ha pasado|han pasado) (?=del? )",
         "went "),
        (rf"\bvon ((?:[a-z]+ )?{_SLOT}(?:{_GAP}){{0,45}}?)\bauf (?=(?:[a-z]+ )?{_SLOT})", r"from \1to "),
        (rf"\bdel? ((?:[a-z]+ )?{_SLOT}(?:{_GAP}){{0,45}}?)\b(?:al?|hasta) (?=(?:[a-z]+ )?{_SLOT})", r"from \1to "),
        (rf"\b(?:von (?:den|diesen|insgesamt|ihren|unseren)|sur (?:les|ces|leurs)|parmi les|de (?:las|los|estas|estos))"
         rf" (?={_SLOT})|^von (?={_SLOT})", "of the "),
        (rf"(?<=[\ue000-\ue009][\ue100-\uf8ff]) (?:der|des|von|sur) (?={_SLOT})", " of the "),
        (r"\b(?:pro jahr|jahrlich|jeweils|par an|chaque annee|al ano|anual\w*|cada ano)\b", "per year"),
        (r"\b(?:wahrend|tandis que|alors que|pendant que|mientras(?: que)?)\b", "while"),
        (r"\b(?:aber|jedoch|mais|pero)\b", "but"),
        (r"\b(?:und|et|y)\b", "and"),
        (r"\b(?:gegenuber|verglichen mit|im vergleich zu[mr]?|contre|par rapport a|frente al?|respecto al?)\b",
         "compared with"),
        (rf"\b(?:un )?({_SLOT}) (?:menos|de menos|de moins|weniger)\b", r"\1 less"),
        (rf"\b(?:un )?({_SLOT}) (?:mas|de mas|de plus|mehr)\b", r"\1 more"),
        (rf"\(\+ (?={_SLOT})", "("),
        (r"\bim jahr |\bim ([a-z]+) (?=[\ue000-\ue009])|\ben (?=[\ue004\ue005])", "in "),
    )
]  # fmt: skip


def in_english(sentence: Sentence) -> Sentence | None:
    """The sentence with an English skeleton of its change; None if it has no words of another language.

    Example:
        >>> from numerate.reading import find
        >>> text = "Die Zahl ist um 12 Prozent von 50 auf 56 gestiegen."
        >>> english = in_english(Sentence(text, 0, find(text)))
        >>> [each.text for each in english.quantities], "rose by" in english.skeleton
        (['12 Prozent', '50', '56'], True)
    """
    if not sentence.words & CUES:
        return None
    other = Sentence(sentence.text, sentence.offset, sentence.numerals, sentence.words)
    other._quantities = [_with_percent(sentence, each) for each in sentence.quantities]
    skeleton = other.skeleton.translate(_FOLD)
    english = _POINTS.sub(" percentage points", skeleton)
    for pattern, words in _WORDS:
        english = pattern.sub(words, english)
    if english == skeleton:
        return None
    other._skeleton = english
    return other


def _with_percent(sentence: Sentence, quantity: Quantity) -> Quantity:
    """A quantity with the word for per cent behind it, which the reader does not know."""
    if quantity.group != "plain" or quantity.unit is not None:
        return quantity
    end = quantity.end - sentence.offset
    match = _PERCENT.match(sentence.text.lower(), end)
    if match is None:
        return quantity
    text = quantity.text + sentence.text[end : match.end()]
    return dataclasses.replace(
        quantity, text=text, end=quantity.end + len(match[0]), value=quantity.value / 100, group="percent",
        step=2 * quantity.half / 100,
    )  # fmt: skip
