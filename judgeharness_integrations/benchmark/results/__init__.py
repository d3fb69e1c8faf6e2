"""What a judged benchmark says: tables, curation, export. Pure functions of records and rows."""
