"""Two sides merged by call path, and what differs: what takes longest now and didn't before comes first.

path      A self    B self    change
----      ------    ------    ------
a › c      10 ms     60 ms    +50 ms
a › d      40 ms         –    -40 ms    only in A
a           5 ms      5 ms         –

Where one side has more traces with a root, sums aren't comparable as they are, so they are compared per trace: divided
by the number of traces, on their side, with one of the roots that the path occurs below on either side.

root    traces of A and B    c occurs below    sums of c are divided by
----    -----------------    --------------    ------------------------
a                 10    20   a                 10 and 20
d                  0     5
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.telling import unheard
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spanview.analysis.flame import CallPath, Flame
    from spanview.analysis.telling import Tell

FIGURES: Final = ("count", "errors", "total_ns", "self_ns", "p50_ns", "p95_ns")
"""What is compared of each path."""
PERCENTILES: Final = frozenset(("p50_ns", "p95_ns"))
"""Figures that a side without the path doesn't have; all others are sums."""
MAX_NAMES: Final = 64
"""Names of a path that are printed."""
_MAX_CHARACTERS: Final = 4096
_NO_SUMS: Final = PERCENTILES | {"traces"}
_Key: TypeAlias = tuple[int, str | None, str]
Parts: TypeAlias = tuple[int, int]
"""What sums of A and of B are divided by: numbers of traces; 1 and 1 where they are compared as they are."""
_UNDIVIDED: Final = (1, 1)


class Only(StrEnum):
    """The one side that has a path."""

    A = "a"
    B = "b"


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of one side."""

    traces: int
    spans: int
    errors: int
    """Spans with status ERROR."""
    missing_parents: int
    total_ns: int
    """Sum of the traces' durations, each from its first start to its last end."""
    self_ns: int
    """Sum of the spans' self times."""
    p50_ns: int | None
    """Of the traces' durations; None, as is p95, where no trace has one."""
    p95_ns: int | None


@dataclass(frozen=True, slots=True)
class PathDiff:
    """One call path on both sides."""

    number: int
    """From 0; greater than that of the parent path."""
    parent: int
    """Number of the parent path, or `ROOT`."""
    depth: int
    """0 for a root."""
    name: str | None
    """None for missing parents."""
    service: str
    parts: Parts
    """What sums are divided by."""
    a: CallPath | None
    b: CallPath | None

    @property
    def is_per_trace(self) -> bool:
        """Whether sums are compared per trace."""
        return self.parts != _UNDIVIDED

    @property
    def only_in(self) -> Only | None:
        """The side that has it, if only one does."""
        return Only.A if self.b is None else Only.B if self.a is None else None

    def compared(self, figure: str) -> tuple[float | None, float | None]:
        """Return A's and B's figure as they are compared; a side without the path has sums of 0, and no percentiles."""
        a, b = (
            amount if amount is None or figure in PERCENTILES else _share(figure, amount, traces)
            for amount, traces in zip(self.sides(figure), self.parts, strict=True)
        )
        return a, b

    def change(self, figure: str) -> float | None:
        """Return B's figure minus A's, as compared; None where a side has none."""
        return _change(figure, *self.sides(figure), self.parts)

    def ratio(self, figure: str) -> float | None:
        """Return B's figure divided by A's, as compared; None where A's is 0, or a side has none."""
        return _ratio(figure, *self.sides(figure), self.parts)

    def rank(self, figure: str) -> tuple[float, bool]:
        """Return the sort key by which the greatest change of a figure comes first; of equal changes, the slower path.

        Unlike the change it isn't rounded.
        """
        (a, b), (of_a, of_b) = self.sides(figure), _UNDIVIDED if figure in PERCENTILES else self.parts
        change = 0 if a is None or b is None else b * of_a - a * of_b
        # Whole numbers are compared exactly, however large they are.
        return -abs(change) if of_a * of_b == 1 else -abs(change) / (of_a * of_b), change < 0

    def sides(self, figure: str) -> tuple[int | None, int | None]:
        """Return A's and B's figure, undivided."""
        absent = None if figure in PERCENTILES else 0
        return (
            absent if self.a is None else getattr(self.a, figure),
            absent if self.b is None else getattr(self.b, figure),
        )


@dataclass(frozen=True, slots=True)
class Diff:
    """Two sides, path by path."""

    a: Totals
    b: Totals
    paths: Sequence[PathDiff]
    """By their numbers."""
    numbers: tuple[Sequence[int], Sequence[int]]
    """For A and for B: the number here of each of its call paths."""
    per_trace: Mapping[str, tuple[float, float | None]] | None
    """Where sums are compared per trace: the change and the ratio of those of `Totals`. Call paths' shares add up to
    them, and for `total_ns` those of the roots."""

    @property
    def is_per_trace(self) -> bool:
        """Whether sums are compared per trace: the sides have different numbers of traces with the same roots."""
        return self.per_trace is not None

    def change(self, figure: str) -> float | None:
        """Return B's total of a figure, a field of `Totals`, minus A's, as compared; None where a side has none."""
        if self.per_trace is not None and figure in self.per_trace:
            return self.per_trace[figure][0]
        return _change(figure, getattr(self.a, figure), getattr(self.b, figure), _UNDIVIDED)

    def ratio(self, figure: str) -> float | None:
        """Return B's total of a figure divided by A's, as compared; None where A's is 0, or a side has none."""
        if self.per_trace is not None and figure in self.per_trace:
            return self.per_trace[figure][1]
        return _ratio(figure, getattr(self.a, figure), getattr(self.b, figure), _UNDIVIDED)

    def by_change(self) -> list[PathDiff]:
        """Return the paths by how much their self time has changed, the most first; of equal changes the slower first.

        Then by the change of the total and of the count, then by number.
        """
        return sorted(self.paths, key=rank_of_change)

    def line(self, path: PathDiff) -> list[PathDiff]:
        """Return a path and its ancestors, from the root on, but at most the last `MAX_NAMES`."""
        line = [path]
        while len(line) < MAX_NAMES and line[-1].parent != ROOT:
            line.append(self.paths[line[-1].parent])
        return line[::-1]


def rank_of_change(path: PathDiff) -> tuple[float, bool, float, float, int]:
    """Return the sort key by which the greatest change comes first."""
    return *path.rank("self_ns"), path.rank("total_ns")[0], path.rank("count")[0], path.number


def diff(a: Flame, b: Flame, tell: Tell = unheard, *, are_traces: bool = False) -> Diff:
    """Match the call paths of two sides by their names and services; the sides may be of different stores.

    Args:
        are_traces: Whether each is one chosen trace. If both have one root, these are matched whatever they are called,
            and so is what is below them: `batch 0 → batch 1`.
    """
    numbers: dict[_Key, int] = {}
    of_a, of_b = list[int](), list[int]()
    roots = _roots(a, b) if are_traces else None
    names = {} if roots is None else {0: " → ".join(dict.fromkeys(root.name or "" for root in roots))}
    for merged, own, share in ((a, of_a, 0.25), (b, of_b, 0.5)):
        for path in merged.paths:
            # Parents come before their children on each side, and so in the merged paths.
            named = path if roots is None or path.parent != ROOT else roots[0]
            key = (ROOT if path.parent == ROOT else own[path.parent], named.name, named.service)
            own.append(numbers.setdefault(key, len(numbers)))
        tell(share)
    sides = [dict(zip(own, merged.paths, strict=True)) for own, merged in ((of_a, a), (of_b, b))]
    paths: list[PathDiff] = []
    divisors = _Divisors(a, b)
    for number, (parent, name, service) in enumerate(numbers):
        depth = 0 if parent == ROOT else paths[parent].depth + 1
        both = sides[0].get(number), sides[1].get(number)
        parts = divisors.of_path(*both)
        paths.append(PathDiff(number, parent, depth, names.get(number, name), service, parts, *both))
    per_trace = _per_trace(paths, divisors) if divisors.are_needed else None
    return Diff(_totals(a), _totals(b), paths, (of_a, of_b), per_trace)


class _Divisors:
    """What sums are divided by, root by root.

    They are divided where a root of both sides has more traces on one of them, or where those that one side alone has
    come to more traces on one of them. If one side alone has further roots, that changes nothing for the others.
    """

    def __init__(self, a: Flame, b: Flame) -> None:
        roots: dict[tuple[str | None, str], int] = {}
        self._numbers = [
            [roots.setdefault((root.name, root.service), len(roots)) for root in side.roots] for side in (a, b)
        ]
        self._traces, self._total_ns = ([[0] * len(roots) for _ in "ab"] for _ in "ab")
        for side, numbers, traces, total_ns in zip((a, b), self._numbers, self._traces, self._total_ns, strict=True):
            for root, number in zip(side.roots, numbers, strict=True):
                traces[number] += root.traces
                total_ns[number] += root.total_ns
        counts = [*zip(*self._traces, strict=True)]
        alone = [sum(count) for count in zip(*(each for each in counts if 0 in each), strict=True)]
        self.are_needed = any(a != b for a, b in counts if a and b) or (
            len(alone) > 1 and 0 not in alone and alone[0] != alone[1]
        )
        """Whether sums are compared per trace."""

    def of_path(self, *sides: CallPath | None) -> Parts:
        """Return what the sums of a path are divided by."""
        if not self.are_needed:
            return _UNDIVIDED
        return self._parts(
            {
                numbers[root]
                for side, numbers in zip(sides, self._numbers, strict=True)
                if side is not None
                for root in side.roots
            }
        )

    def durations(self) -> Iterator[tuple[int, int, Parts]]:
        """Yield for each root the sums of its traces' durations, and what they are divided by."""
        for root, (a, b) in enumerate(zip(*self._total_ns, strict=True)):
            yield a, b, self._parts({root})

    def _parts(self, roots: Iterable[int]) -> Parts:
        a, b = (sum(traces[root] for root in roots) for traces in self._traces)
        # A side without such a trace has nothing to divide, or only spans without a usable trace id.
        return a or 1, b or 1


def _per_trace(paths: Sequence[PathDiff], divisors: _Divisors) -> dict[str, tuple[float, float | None]]:
    """Return what the shares of sums add up to, as `Diff` has it."""
    spans = [path for path in paths if path.name is not None]
    missing = [path for path in paths if path.name is None]

    def added(chosen: Iterable[PathDiff], figure: str) -> tuple[float, float | None]:
        sides = ((path.sides(figure), path.parts) for path in chosen)
        return _added(figure, ((a or 0, b or 0, parts) for (a, b), parts in sides))

    return {
        "spans": added(spans, "count"),
        "errors": added(spans, "errors"),
        "missing_parents": added(missing, "count"),
        "total_ns": _added("total_ns", divisors.durations()),
        "self_ns": added(spans, "self_ns"),
    }


def _added(figure: str, sums: Iterable[tuple[int, int, Parts]]) -> tuple[float, float | None]:
    """Return by how much B's shares together are more than A's, and what they are divided by A's."""
    alike: dict[Parts, tuple[int, int]] = {}
    for a, b, parts in sums:
        before = alike.get(parts, (0, 0))
        alike[parts] = before[0] + a, before[1] + b
    of_a = sum((Fraction(a, parts[0]) for parts, (a, _) in alike.items()), Fraction())
    of_b = sum((Fraction(b, parts[1]) for parts, (_, b) in alike.items()), Fraction())
    change = of_b - of_a
    return round(change) if figure.endswith("_ns") else float(change), float(of_b / of_a) if of_a else None


def _roots(a: Flame, b: Flame) -> tuple[CallPath, CallPath] | None:
    """Return the roots of two traces, where each has one."""
    of_a, of_b = ([path for path in side.paths if path.parent == ROOT] for side in (a, b))
    are_single = len(of_a) == len(of_b) == 1 and of_a[0].count == of_b[0].count == 1
    return (of_a[0], of_b[0]) if are_single and None not in (of_a[0].name, of_b[0].name) else None


def _totals(side: Flame) -> Totals:
    spans = [path for path in side.paths if path.name is not None]
    return Totals(
        traces=side.traces,
        spans=sum(path.count for path in spans),
        errors=sum(path.errors for path in spans),
        missing_parents=sum(path.count for path in side.paths if path.name is None),
        total_ns=sum(side.durations),
        self_ns=sum(path.self_ns for path in spans),
        p50_ns=nearest_rank(side.durations, 50),
        p95_ns=nearest_rank(side.durations, 95),
    )


def _share(figure: str, amount: int, traces: int) -> float:
    """Return a sum per trace; nanoseconds are rounded, exactly, however large they are."""
    if traces == 1 or not figure.endswith("_ns"):
        return amount if traces == 1 else amount / traces
    whole, rest = divmod(amount, traces)
    # Halves are rounded to even: swapping the sides changes only the sign.
    return whole + (2 * rest > traces - whole % 2)


def _change(figure: str, a: int | None, b: int | None, parts: Parts) -> float | None:
    if a is None or b is None:
        return None
    of_a, of_b = _UNDIVIDED if figure in _NO_SUMS else parts
    return _share(figure, b * of_a - a * of_b, of_a * of_b)


def _ratio(figure: str, a: int | None, b: int | None, parts: Parts) -> float | None:
    of_a, of_b = _UNDIVIDED if figure in _NO_SUMS else parts
    return None if not a or b is None else (b * of_a) / (a * of_b)


def totals_to_json(merged: Diff) -> dict[str, Any]:
    """Return the changes and the ratios of the totals as the version before called them."""
    a, b = asdict(merged.a), asdict(merged.b)
    per_trace = None
    if merged.per_trace is not None:
        delta, ratio = ({figure: each[of] for figure, each in merged.per_trace.items()} for of in (0, 1))
        per_trace = {"delta": delta, "ratio": ratio}
    return {**_changes_to_json({figure: (a[figure], b[figure]) for figure in a}), "per_trace": per_trace}


def _changes_to_json(
    figures: Mapping[str, tuple[int | None, int | None]], parts: Parts = _UNDIVIDED
) -> dict[str, dict[str, Any]]:
    return {
        "delta": {figure: _change(figure, *sides, parts) for figure, sides in figures.items()},
        "ratio": {figure: _ratio(figure, *sides, parts) for figure, sides in figures.items()},
    }


def to_json(merged: Diff, path: PathDiff, figures: Sequence[str] = FIGURES) -> dict[str, Any]:
    """Return one path as the version before wrote it, with those of `FIGURES` that are known of it."""
    compared = {figure: path.sides(figure) for figure in figures}
    sums = {figure: sides for figure, sides in compared.items() if figure not in PERCENTILES}
    return {
        "number": path.number,
        "parent": None if path.parent == ROOT else path.parent,
        "depth": path.depth,
        "name": path.name,
        "service": path.service,
        "missing": path.name is None,
        "path": names_of(merged, path),
        "only_in": path.only_in,
        "a": _figures(path.a, figures),
        "b": _figures(path.b, figures),
        **_changes_to_json(compared),
        "per_trace": _changes_to_json(sums, path.parts) if merged.is_per_trace else None,
    }


def _figures(path: CallPath | None, figures: Sequence[str]) -> dict[str, Any] | None:
    return None if path is None else {figure: getattr(path, figure) for figure in figures}


def names_of(merged: Diff, path: PathDiff) -> list[str | None]:
    """Return as many of the last names of a path as are short enough together: it repeats those of its ancestors."""
    names: list[str | None] = []
    characters = 0
    for above in reversed(merged.line(path)):
        characters += len(above.name or "")
        if characters > _MAX_CHARACTERS:
            break
        names.append(above.name)
    return names[::-1]
