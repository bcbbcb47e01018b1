"""Number-aware generation: continues prompts in words and numbers, and returns the numbers with their distributions."""

from numerate.modeling.generation.loop import Generation, generate
from numerate.modeling.generation.rows import GeneratedNumber
from numerate.modeling.generation.tensor_prompts import generate_ids

__all__ = ["GeneratedNumber", "Generation", "generate", "generate_ids"]
