"""The sections of a report, one module a subject: values of `report.document`, made of a summary. Pure."""
