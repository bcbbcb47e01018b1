"""Models of records (JSON, CSV, DataFrames) that predict any field with calibrated intervals, see docs/records.md."""

from numerate.records.record_model import RecordModel
from numerate.records.schema import FieldError, Schema

__all__ = ["FieldError", "RecordModel", "Schema"]
