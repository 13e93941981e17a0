"""Takes out of a tweet what says nothing of its sentiment: links, mentions and function words, but none that VADER reads."""

from __future__ import annotations

import re
import string

from vaderSentiment.vaderSentiment import BOOSTER_DICT, NEGATE, SPECIAL_CASES

from pasps import bolt
from topologies.twitter.profiles import Profile
from topologies.twitter.sentiment import emojis, lexicon
from topologies.twitter.tweet_text import LINK, MENTION, MOST_CHARACTERS

FUNCTION_WORDS = frozenset(
    """
    a an the
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
    itself they them their theirs themselves one who whom whose which what this that these those
    someone something somewhere anyone anything anywhere everyone everything everywhere nobody nothing nowhere none noone
    am is are was were be been being do does did has have had having can could may might must shall should will would cannot
    i'm i've i'd i'll you're you've you'd you'll he's she's it's we're we've we'd we'll they're they've they'd they'll that's
    isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't wouldn't shouldn't
    about above across after against along among around as at before behind below beneath beside besides between beyond by down
    during except for from in into near of off on onto out over per since through throughout to toward towards under until up upon
    via with within without
    and but or nor so yet if because although though while whereas unless whether than then else
    all any both each either every few many more most much neither no other others several some such same own another
    again also already always almost even ever here how just less least never not now often once only perhaps quite rather
    still there therefore thus together too very well when whenever where wherever why
    """.split()
)
"""English words of the closed classes: articles, pronouns, auxiliaries, prepositions, conjunctions, quantifiers, plain adverbs."""

REACH = 3
"""How far before and behind a negation or an intensifier VADER looks, in words."""

_RULES = {"but", "this", "so", "no", "or", "nor", "never", "least", "without", "doubt"}
"""Words in VADER's rules that stand in no table of its own."""
_MODIFIERS = frozenset({*NEGATE, *BOOSTER_DICT, *_RULES})
STOP_WORDS = frozenset(word for word in FUNCTION_WORDS if word not in _MODIFIERS and word not in lexicon())

_PHRASES = [phrase for phrase in (*SPECIAL_CASES, *BOOSTER_DICT, "at least") if " " in phrase]
_IN_PHRASE = re.compile(r"\b(?:" + "|".join(re.escape(phrase) for phrase in _PHRASES) + r")\b")
"""What VADER reads as a whole, such as "to die for"."""
_SIGNS = frozenset(
    sign for sign, told in emojis().items() if _IN_PHRASE.search(told) or not _MODIFIERS.isdisjoint(told.replace("-", " ").split())
)
"""Emojis that are a phrase or a negation to VADER: it reads their descriptions, such as "snowman without snow"."""
_AROUND = string.punctuation + "\u2026\u201c\u201d\u2018\u2019"
"""Also an ellipsis and typographic quotation marks."""


def without_stop_words(text: str) -> str:
    """The text without links, mentions and stop words; the words that stay are as they were, in their order.

    VADER's score is that of the text with its stop words: those near a negation or an intensifier stay, because VADER counts
    words from there, and all stay where it reads a phrase as a whole, or capitals against the rest.
    """
    # phones write don't with a typographic apostrophe, which VADER does not know
    words = MENTION.sub("", LINK.sub("", text[:MOST_CHARACTERS])).replace("\u2019", "'").split()
    whole = " ".join(words)
    plain = [word.strip(_AROUND).lower() for word in words]
    if _IN_PHRASE.search(" ".join(plain)) or not _SIGNS.isdisjoint(whole):
        return whole
    near: set[int] = set()
    for place, word in enumerate(plain):
        if word in _MODIFIERS or "n't" in word:
            near.update(range(place - REACH, place + REACH + 1))
    kept = " ".join([word for place, word in enumerate(words) if plain[place] not in STOP_WORDS or place in near or _is_read(word)])
    return whole if kept.isupper() and not whole.isupper() else kept


def _is_read(word: str) -> bool:
    # VADER counts ! and ?, and knows signs such as ":o"
    return "!" in word or "?" in word or word.lower() in lexicon()


@bolt(outputs=["event", "text", "user", "words"])
def stop_words(event: int, text: str, user: Profile) -> tuple[int, str, Profile, str]:
    """Adds the words that matter; the text goes on as it came, since it is what is stored."""
    return event, text, user, without_stop_words(text)
