"""What `--ray` shows: a folder of its own, into which another process collects meanwhile, and which goes at the end.

Ray is in that process alone. It writes to a terminal when it likes, and ends its process where the cluster is gone; the
viewer would not survive either.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from spanview.commands.beside import Beside
from spanview.commands.standard_error import say
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.commands.options import Options

_SHOWN: Final = "ray-cluster"


@contextmanager
def collected(options: Options, *, whole: bool) -> Iterator[Options]:
    """Yield options with a folder for `--ray`, once the cluster has answered.

    Args:
        whole: Whether all has to be in it that there is.

    Raises:
        CollectError: Nothing can be collected; the text says why.
    """
    with TemporaryDirectory(prefix="spanview-") as top:
        # The viewer shows the end of the path.
        folder = os.path.join(top, _SHOWN)
        os.mkdir(folder)
        words = ["collect", "--address", str(options.ray), "-o", folder, *(["-f"] if options.follow else [])]
        with Beside(words, options.environment) as collecting:
            say(f"collecting from the Ray cluster at {options.ray}")
            if collecting.wait(lambda: not whole and bool(os.listdir(folder))) not in {None, 0, 1}:
                lines = collecting.lines()
                raise CollectError((lines or [f"{options.ray}: Ray has ended the collecting process"])[-1])
            try:
                yield options._replace(ray=None, paths=(folder,), use_cache=False)
            finally:
                collecting.end()
            for line in collecting.lines():
                # The summary names a folder that is going.
                if folder not in line:
                    say(line)
