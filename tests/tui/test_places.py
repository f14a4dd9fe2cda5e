"""Which places the title names, where there are several."""

from __future__ import annotations

from builders import Builder
from spanview.tui.app.opening import Opening
from viewers import Growing, looking_at

RAY, OWN, SERVE = DEFAULTS = ("/tmp/ray/logs/spans", "/tmp/spans", "/tmp/ray/logs/serve/spans")  # noqa: S108


def filled(*paths: str) -> Growing:
    """Return a span in each of some files."""
    data = Growing()
    for number, path in enumerate(paths, 1):
        data.add(Builder().span("job", trace=number), path=path)
    return data


async def test_the_title_names_the_places_that_have_spans() -> None:
    """Where spans come to another place it is named too, or the places are counted where there is no room."""
    async with looking_at(data=filled(f"{OWN}/7.txt"), opening=Opening(DEFAULTS)) as look:
        assert f" {OWN} " in look.header
        assert "ray" not in look.header
        await look.grow(Builder().span("job", trace=2), path=f"{RAY}/8.txt")
        await look.until(lambda: f" {RAY}  {OWN} " in look.header)
    async with looking_at(
        data=filled(f"{OWN}/7.txt", f"{RAY}/8.txt"), opening=Opening(DEFAULTS), size=(60, 24)
    ) as look:
        assert " 2 places " in look.header


async def test_places_without_spans_or_behind_a_pattern() -> None:
    """While nothing is there, and where nobody can say which PATH a file comes from, all that was given is named."""
    async with looking_at(data=filled(), opening=Opening(("a", "b"))) as look:
        assert " a  b " in look.header
    async with looking_at(data=filled("runs/7.txt", "b/8.txt"), opening=Opening(("ru*", "b", "c"))) as look:
        assert " ru*  b  c " in look.header
