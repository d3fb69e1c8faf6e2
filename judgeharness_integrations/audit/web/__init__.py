"""The web page of the audit: served on loopback to one person with a token."""
