"""From PATHs to files: what is read, what is refused, and what isn't there.

below a folder            given as a PATH           what becomes of it
--------------            ---------------           ------------------
regular file              regular file              read, once
folder                    folder                    searched
hidden file or folder                               left out; read where it is given itself
symbolic link                                       refused
                          symbolic link             followed
FIFO, socket, device      FIFO, socket, device      refused, and not opened
                          what isn't there          missing
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from spanview.model.problems import ProblemKind
from spanview.sources.discover import Listing, discover

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in an empty folder, so that PATHs are short."""
    monkeypatch.chdir(tmp_path)


def make(*paths: str) -> None:
    """Make files, and folders where a path ends with a slash."""
    for path in paths:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if not path.endswith("/"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(path)


def shown(listing: Listing) -> list[str]:
    """Return the paths of the files as they are shown."""
    return [found.shown for found in listing.files]


def test_folders_are_searched_in_order() -> None:
    """Files come sorted by name, a folder's own before those in folders below it; hidden ones are left out."""
    make("top/b.json", "top/a.json", "top/.hidden", "top/.git/c.json", "top/low/d.json", "top/low/er/e.json", "top/z/")
    listing = discover(["top"])
    assert shown(listing) == ["top/a.json", "top/b.json", "top/low/d.json", "top/low/er/e.json"]
    assert listing.directories == [os.path.realpath(each) for each in ("top", "top/low", "top/low/er", "top/z")]
    assert (listing.missing, listing.problems) == ([], [])


def test_files_have_size_and_identity() -> None:
    """What is known of a file is what the system says of it."""
    make("a.json")
    (found,) = discover(["a.json"]).files
    status = os.stat("a.json")
    assert (found.device, found.inode, found.size, found.modified_ns) == (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
    )
    assert found.real == os.path.realpath("a.json")


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["top", "top/a.json"], ["top/a.json", "top/b.json"]),
        (["top/b.json", "top"], ["top/b.json", "top/a.json"]),
        (["./top/../top/a.json", "top/a.json"], ["./top/../top/a.json"]),
        (["link", "top"], ["link/a.json", "link/b.json"]),
        (["-", "top/a.json"], ["top/a.json"]),
    ],
    ids=" ".join,
)
def test_each_file_is_listed_once(paths: list[str], expected: list[str]) -> None:
    """A file that several PATHs lead to is shown as the first of them has it; standard input is left out."""
    make("top/a.json", "top/b.json")
    os.symlink("top", "link")
    assert shown(discover(paths)) == expected


def test_hidden_files_are_read_where_they_are_given() -> None:
    """Whoever names a hidden file or folder wants it."""
    make(".hidden/a.json", ".b.json")
    assert shown(discover([".hidden", ".b.json"])) == [".hidden/a.json", ".b.json"]


def test_links_are_followed_where_given_and_refused_where_found() -> None:
    """A PATH may be a link or lead through one; a link that turns up in a folder is refused, dangling or not."""
    make("real/a.json", "top/b.json")
    os.symlink("real", "given")
    os.symlink("../real", "top/folder")
    os.symlink("../real/a.json", "top/file")
    os.symlink("nowhere", "top/dangling")
    assert shown(discover(["given"])) == ["given/a.json"]
    assert shown(discover(["given/a.json"])) == ["given/a.json"]
    listing = discover(["top"])
    assert shown(listing) == ["top/b.json"]
    assert [(problem.kind, problem.file) for problem in listing.problems] == [
        (ProblemKind.REFUSED, f"top/{name}") for name in ("dangling", "file", "folder")
    ]
    assert all("symbolic link" in problem.detail for problem in listing.problems)


def test_odd_entries_are_refused_unopened() -> None:
    """A FIFO and a socket are refused where they are found and where they are given; opening the FIFO would block."""
    make("top/a.json")
    os.mkfifo("top/fifo")
    with socket.socket(socket.AF_UNIX) as server:
        # The path of a socket has to be short.
        server.bind("top/socket")
        listing = discover(["top", "top/fifo", "top/socket", "/dev/null"])
    assert shown(listing) == ["top/a.json"]
    assert [(problem.file, problem.detail.split(" is not")[0]) for problem in listing.problems] == [
        ("top/fifo", "a FIFO"),
        ("top/socket", "a socket"),
        ("top/fifo", "a FIFO"),
        ("top/socket", "a socket"),
        ("/dev/null", "a device"),
    ]
    assert {problem.kind for problem in listing.problems} == {ProblemKind.REFUSED}


def test_globs_are_expanded_unless_a_file_is_called_so() -> None:
    """A glob stands for what it matches, sorted; a path that exists is taken by its name."""
    make("b.json", "a.json", "low/c.json", "[ab].json", "[x].txt", "x.txt")
    assert shown(discover(["?.json"])) == ["a.json", "b.json"]
    assert shown(discover(["**/c.json"])) == ["low/c.json"]
    assert shown(discover(["[ab].json"])) == ["[ab].json"]
    assert discover(["*.none"]).missing == ["*.none"]


@pytest.mark.parametrize("path", ["nowhere", "a.json/below", "dangling", "", "nowhere/*.json"])
def test_missing_paths_are_listed(path: str) -> None:
    """What isn't there is missing and no problem: with --follow it is waited for."""
    make("a.json")
    os.symlink("nowhere", "dangling")
    listing = discover([path])
    assert (listing.missing, listing.files, listing.problems) == ([path], [], [])


def test_circles_of_links_and_impossible_names_are_problems() -> None:
    """A PATH that the system can't make sense of is a problem, no error."""
    os.symlink("one", "two")
    os.symlink("two", "one")
    listing = discover(["one", "nul\0", "n" * 5000])
    assert [problem.kind for problem in listing.problems] == [ProblemKind.UNREADABLE] * 3


def test_names_that_are_no_text_are_listed() -> None:
    """A name that isn't UTF-8 is a file like any other."""
    make("top/a.json")
    with open(b"top/\xff.json", "wb"):
        pass
    assert shown(discover(["top"])) == ["top/a.json", "top/\udcff.json"]
