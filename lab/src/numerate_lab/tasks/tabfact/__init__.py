"""TabFact: is a statement about a Wikipedia table true?"""
