"""Documents of several formats, read into chunks with ids."""
