"""A card where people work: in a database, a web page, a spreadsheet, another language.

Every export is written from the same small description of a card, :class:`netbenefit.export.logic.
Logic`, and gives every row the score and the risk that the card gives it.
"""
