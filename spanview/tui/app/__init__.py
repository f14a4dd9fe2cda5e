"""The application: it puts screens together and passes on what the reading thread says."""
