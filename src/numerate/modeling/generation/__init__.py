"""Number-aware generation: texts, the numbers said in them, and the distributions they were taken from."""

from numerate.modeling.generation.loop import Generation, generate
from numerate.modeling.generation.rows import SaidNumber

__all__ = ["Generation", "SaidNumber", "generate"]
