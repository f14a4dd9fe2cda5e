"""Pictures, parsed: what is no XML fails the test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

SVG: Final = "{http://www.w3.org/2000/svg}"


def parsed(picture: str | bytes) -> Element:
    """Return the root of a picture; fail where it isn't one, or asks for something that isn't in it."""
    root = ET.fromstring(picture)  # noqa: S314 - our own
    assert root.tag == f"{SVG}svg"
    text = picture if isinstance(picture, str) else picture.decode()
    assert not re.search(r"@import|@font-face|href=|<script|\son\w+=|url\((?!#)|<!DOCTYPE|<foreignObject", text)
    return root


def texts(root: Element) -> list[str]:
    """Return what is to be read in a picture, in the order of the file."""
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def titles(root: Element) -> list[str]:
    """Return what is said of the rows of a picture."""
    return [each.text or "" for each in root.iter(f"{SVG}title")]


def shapes(root: Element, kind: str) -> list[str]:
    """Return the outlines of one class, those with further classes included."""
    return [each.get("d", "") for each in root.iter(f"{SVG}path") if kind in (each.get("class") or "").split()]
