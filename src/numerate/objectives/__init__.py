"""Training objectives: masking and losses as functions of tensors, registered by name in `numerate.objectives`."""

from numerate.registry import objectives as registry

__all__ = ["create", "names", "register", "registry"]

create, names, register = registry.create, registry.names, registry.register
