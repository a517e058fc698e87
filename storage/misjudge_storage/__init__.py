"""The record: value types, errors, hashing, tables, migrations, the writer and the queries."""
