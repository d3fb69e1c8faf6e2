"""The field names of the public release: pairs read from them, and written with them."""
