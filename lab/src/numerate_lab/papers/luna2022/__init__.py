"""LUNA (2022): number plugins and number pre-training."""
