"""spanview's version, for the package and for what is kept between sessions."""

__version__ = "0.1.0"
