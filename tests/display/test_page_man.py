"""Pages as man pages: their macros, and what groff makes of each page."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from spanview.display.page_man import man_page
from spanview.docs import PAGES, summary_of, text_of

PAGE = """\
# Title

What it is about.

.First `-q 'x\\y'` line
second *line*, [link](a.md).

## Part one

- one `a`

  more of one
  - inner
- two

1. first

<!-- recipe: x -->
```sh
'quoted
.dot
```

<!-- table -->
| key | | where |
|---|---|---|
| `-f` | follow | here |
<!-- /table -->

### Smaller
"""
EXPECTED = """\
.TH "SPANVIEW-TITLE" "7" "" "spanview 1"
.ad l
.SH NAME
spanview\\-title \\- What it is about.
.SH DESCRIPTION
.PP
\\&.First \\fB\\-q 'x\\ey'\\fR line second \\fIline\\fR, link.
.SH Part one
.IP \\(bu 2
one \\fBa\\fR
.IP
more of one
.RS
.IP \\(bu 2
inner
.RE
.IP \\(bu 2
two
.IP 1. 4
first
.PP
.RS 4
.nf
\\&'quoted
\\&.dot
.fi
.RE
.TP
\\fIkey\\fR
\\fIwhere\\fR
.TP
\\fB\\-f\\fR
follow \\(em here
.SS Smaller
"""


def test_macros() -> None:
    """Headings, paragraphs, lists, code and tables; no line of text is taken for a request."""
    assert man_page(PAGE, "spanview-title", 7, "spanview 1") == EXPECTED


@pytest.mark.parametrize("page", PAGES)
def test_each_page_is_set_without_a_warning(page: str) -> None:
    """Groff has nothing to complain of, and every word of the page is there."""
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed here")
    text = man_page(text_of(page), f"spanview-{page}", 7, "spanview")
    # Lines of code may be longer than the page is wide.
    words = (groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-Wbreak")
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    plain = re.sub(r".\x08|\x1b\[[0-9;]*m", "", done.stdout)
    assert " ".join(summary_of(page).replace("`", "").split()[:3]) in " ".join(plain.replace("`", "").split())
