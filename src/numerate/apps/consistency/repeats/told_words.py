"""Words around a quantity that say whether it is the one that was told before."""

from __future__ import annotations

from numerate.apps.consistency.sentences.patterns import regex

__all__ = ["ALL_OF_IT", "APART", "CHANGED", "CONTRASTED", "MARKET", "STOP"]

ALL_OF_IT = regex(r" [a-z]+ of (?:the|our|its|their) (?P<whole>[a-z]+(?: [a-z]+)?)")
"""Behind `the 21` or `all 21`, what they belong to: `all 21 rooms of the hotel`."""
STOP = frozenset([
    "about", "above", "after", "again", "against", "along", "also", "although", "among", "around", "because",
    "been", "before", "being", "below", "between", "both", "came", "come", "cost", "costs", "could", "does", "down",
    "during", "each", "even", "ever", "every", "first", "from", "full", "further", "gave", "given", "gives", "have",
    "having", "here", "hers", "high", "house", "however", "hundred", "into", "itself", "just", "last", "later",
    "least", "less", "like", "made", "make", "makes", "many", "million", "billion", "thousand", "more", "most",
    "much", "must", "near", "nearly", "next", "only", "onto", "other", "others", "over", "part", "people",
    "percent", "said", "same", "says", "second", "several", "shall", "should", "since", "some", "still", "such",
    "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "three", "through", "time",
    "times", "today", "together", "total", "towards", "under", "until", "upon", "used", "using", "very", "want",
    "well", "were", "what", "when", "where", "which", "while", "will", "with", "within", "without", "would", "year",
    "years", "month", "months", "week", "weeks", "days", "hours", "hour", "minutes", "metres", "meters", "metre",
    "meter", "kilometres", "kilometers", "tonnes", "litres", "euros", "dollars", "pounds", "number", "numbers",
    "four", "five", "eight", "seven", "nine",
])  # fmt: skip
CHANGED = regex(
    r"\b(?:from|increas\w*|decreas\w*|reduc\w*|rais\w*|rose|rise|risen|fell|fall\w*|drop\w*|grew|grow\w*|compared"
    r"|previous\w*|former\w*|earlier|originally|initial\w*|instead|another|versus|vs|while|whereas|than|moved|changed?"
    r"|postponed|revised|corrected|second|third|other|others|each|per|respectively|budgeted|planned|estimated|forecast"
    r"|expected|later|remaining|alone|including|without|before|after|year-ago|year earlier|last year|up|down|target\w*"
    r"|goal|guidance|between|against|record|average|median|mean|and (?:another|a further)|of which|of whom|of these"
    r"|of them|only|excluding|net|gross|adjusted|until|titrat\w*|now|new|old|first|next|dose escalat\w*|switched|cut"
    r"|extended|maximum|minimum|at least|if|or|group|control|placebo|arm|half)\b"
)
CONTRASTED = regex(
    r"\b(?:from|increas\w*|decreas\w*|reduc\w*|rais(?:ed|es|ing)|rose|fell|compared|previous\w*|former\w*|earlier"
    r"|originally|initial\w*|instead|another|versus|vs|whereas|than|neighbou?ring|adjacent|adjoining|nearby|rival"
    r"|sister|second|third|moved|changed?|postponed|revised|corrected|other|others|each|per|budgeted|planned|estimated"
    r"|forecast|expected|remaining|target\w*|up|down|between|average|median|excluding|only|against|of these|of them"
    r"|of which)\b"
)
"""Words that tell two quantities apart, next to one of them."""
APART = regex(
    r"\b(?:upstairs|downstairs|upper|lower|north\w*|south\w*|east\w*|west\w*|left|right|inner|outer|men|women|boys|girls"
    r"|male|female|morning|afternoon|evening|summer|winter|spring|autumn|home|away|red|blue|green"
    r"|white|black|domestic|foreign|import\w*|export\w*|apple|pear|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|january|february|april|june|july|august|september|october|november|december)\b"
)
"""Words that tell one thing from another of its kind."""
MARKET = regex(
    r"\b(?:previous\w*|earlier|narrow\w*|widen\w*|higher|lower|rose|fell|risen|fallen|range|per"
    r"|a share|clos(?:ed|ing)|each|following|gallon|barrel|bid)\b"
)
"""Words of prices and rates, of which a text has many that are like each other."""
