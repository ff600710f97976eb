"""What the three games of the Backhand series share: Backhand, Buffalo Bayou, Missouri City. It is no game: it has no
`game.py`.

Its files are those of a game, and are imported in the same order: `state`; `stub`, a part of the rules; `rules`;
`observation`; `events`; `text`; `enumeration` for the exact solver; `counting` for the bots.
Paragraphs are numbered through the series: §1 is in Backhand's page, §2 in Buffalo Bayou's, §3 in Missouri City's.
Suits never matter. All cards lie face up; only the order of the stub (the cards not yet dealt) is hidden.
"""
