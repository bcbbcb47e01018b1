"""Number-aware generation: continues prompts in words and numbers, and returns the numbers with their distributions."""

from numerate.modeling.generation.loop import Generation, generate
from numerate.modeling.generation.rows import GeneratedNumber

__all__ = ["GeneratedNumber", "Generation", "generate"]
