"""Records of numbers, texts and times: any field masked and predicted with an honest spread, see docs/records.md."""

from numerate.records.record_model import RecordModel
from numerate.records.schema import FieldError, Schema

__all__ = ["FieldError", "RecordModel", "Schema"]
