"""Columns that several tables have: times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC datetime, also on SQLite, which keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None or value.tzinfo is not None:
            return value
        return value.replace(tzinfo=UTC)


def utc_now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def created() -> Any:
    return Field(default_factory=utc_now, sa_type=UtcDateTime, nullable=False)


def moment() -> Any:
    return Field(default=None, sa_type=UtcDateTime, nullable=True)
