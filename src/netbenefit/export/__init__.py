"""A card where people work: in a database, a web page, a spreadsheet, another language.

Every export is written from the same description of a card's columns,
:class:`netbenefit.cards.rules.CardLogic`, and gives every row the score and the risk that the
card gives it.
"""

from netbenefit._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
