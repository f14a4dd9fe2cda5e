"""The viewer: screens, widgets, messages and one table of keys."""
