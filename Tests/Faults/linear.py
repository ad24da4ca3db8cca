"""Checks whether one order of concurrent calls explains their answers (Wing and Gong, with Lowe's memory).

A history is linearizable if its calls can be put into an order that a sequential model accepts, in which no call comes
before one that had ended before it began. A call without an answer may have taken effect at any time after it began, or
never. The search tries each possible next call, and remembers which sets of calls led to which state.

Two kinds of calls need not be tried at every place. A correct call that leaves the state unchanged comes as early as
possible, since no later call can detect it. An unanswered call comes as late as possible: immediately before a call
that would be wrong, or have another effect, without it. If both orders have the same result, it can wait.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

# States that one search may visit before it gives up.
NODES_MAX = 100_000
# Limits on the unanswered calls that took effect, for successive searches: usually only a few had a visible effect.
UNHEARD_MOST = (1, 3, 6, 10, None)
# The order up to a node, with the last call first.
Path = tuple[Any, int] | None


@dataclass(frozen=True)
class Operation:
    """One call: its request, its times, and its answer or None."""

    number: int
    client: int
    called: float
    returned: float
    call: Any
    answer: Any | None

    def unheard(self) -> Operation:
        return replace(self, answer=None, returned=math.inf)


class Model(Protocol):
    """The sequential specification of the answers."""

    def begin(self) -> Hashable: ...

    def step(self, state: Any, call: Any, answer: Any | None) -> list[Any]:
        """The possible states after `call` with this answer, or without one. An empty list means that the call cannot
        come here."""

    def keys(self, call: Any, answer: Any | None) -> set[str]:
        """The names of everything that the call refers to."""

    def reads(self, call: Any, answer: Any | None) -> bool:
        """Whether a call with this answer changes nothing, in any state."""


@dataclass
class Verdict:
    """`holds` is None if the search gave up."""

    holds: bool | None
    # The longest order that was found, and the calls of which none could come next.
    order: list[Operation] = field(default_factory=list)
    stuck: list[Operation] = field(default_factory=list)


@dataclass(frozen=True)
class Node:
    """The calls so far, and the state after them."""

    # A set of calls is a number with one bit for each call, in the order of their beginnings.
    done: int
    state: Any
    # An unanswered call that came last, and the state before it: the next call must depend on it.
    unheard: int | None = None
    before: Any = None
    path: Path = field(default=None, compare=False)


class Search:
    """A check of one history against one model."""

    def __init__(self, history: Iterable[Operation], model: Model) -> None:
        self.operations = sorted(history, key=lambda operation: operation.called)
        self.model = model
        self.unheard_most: int | None = None
        # Whether more unanswered calls might have made a difference.
        self.is_limited = False
        self.answered = sum(1 << index for index, each in enumerate(self.operations) if each.answer is not None)
        self.longest, self.progress = Node(0, None), -1
        self.known: dict[tuple[int, Any], list[Any]] = {}
        # For an unanswered call: the equal calls that began before it. They go first, since they are indistinguishable.
        self.equal_before = [self._equal_before(index) for index in range(len(self.operations))]

    def run(self) -> Verdict:
        verdict = Verdict(None)
        for self.unheard_most in UNHEARD_MOST:
            self.is_limited = False
            verdict = self._run()
            if verdict.holds or not self.is_limited and verdict.holds is False:
                break
        return verdict

    def _run(self) -> Verdict:
        seen: set[Node] = set()
        waiting = [Node(0, self.model.begin())]
        while waiting:
            node = self._take_readers(waiting.pop())
            if node in seen:
                continue
            seen.add(node)
            progress = (node.done & self.answered).bit_count()
            if progress > self.progress:
                self.longest, self.progress = node, progress
            if progress == self.answered.bit_count():
                return self._verdict(True)
            if len(seen) > NODES_MAX:
                return self._verdict(None)
            # The last one is tried first: answered calls, with the earliest answer first.
            waiting += reversed(list(self._branches(node)))
        return self._verdict(False)

    def _equal_before(self, index: int) -> int:
        late = self.operations[index]
        if late.answer is not None:
            return 0
        return sum(1 << other for other, each in enumerate(self.operations[:index])
                   if each.answer is None and each.call == late.call)

    def _candidates(self, done: int) -> list[int]:
        """The calls that may come next: those that began before the earliest end of any unfinished call."""
        found: list[int] = []
        earliest = math.inf
        index = (~done & (done + 1)).bit_length() - 1
        while index < len(self.operations) and self.operations[index].called <= earliest:
            if not done >> index & 1 and not self.equal_before[index] & ~done:
                found.append(index)
                earliest = min(earliest, self.operations[index].returned)
            index += 1
        found = [index for index in found if self.operations[index].called <= earliest]
        return sorted(found, key=lambda index: self.operations[index].returned)

    def _take_readers(self, node: Node) -> Node:
        while node.unheard is None:
            done, path = node.done, node.path
            for index in self._candidates(done):
                # A call that changes nothing here but something later may be needed there.
                if self._reads(index) and self._steps(index, node.state) == [node.state]:
                    done, path = done | 1 << index, (path, index)
            if done == node.done:
                break
            node = Node(done, node.state, path=path)
        return node

    def _reads(self, index: int) -> bool:
        each = self.operations[index]
        return each.answer is not None and self.model.reads(each.call, each.answer)

    def _branches(self, node: Node) -> Iterator[Node]:
        for index in self._candidates(node.done):
            is_answered = self.answered >> index & 1
            if not is_answered and self.unheard_most == (node.done & ~self.answered).bit_count():
                self.is_limited = True
                continue
            for following in self._steps(index, node.state):
                # An unanswered call that changes nothing need not have happened.
                if not is_answered and following == node.state or self._can_wait(node, index, following):
                    continue
                done, path = node.done | 1 << index, (node.path, index)
                if is_answered:
                    yield Node(done, following, path=path)
                else:
                    yield Node(done, following, index, node.state, path)

    def _can_wait(self, node: Node, index: int, following: Any) -> bool:
        """Whether the unanswered call before this one could also come after it. If two unanswered calls commute, the
        one that began first comes first."""
        if node.unheard is None or not self.answered >> index & 1 and index > node.unheard:
            return False
        return any(following in self._steps(node.unheard, other) for other in self._steps(index, node.before))

    def _steps(self, index: int, state: Any) -> list[Any]:
        found = self.known.get((index, state))
        if found is None:
            found = self.model.step(state, self.operations[index].call, self.operations[index].answer)
            self.known[index, state] = found
        return found

    def _verdict(self, holds: bool | None) -> Verdict:
        order: list[Operation] = []
        path = self.longest.path
        while path is not None:
            path, index = path
            order.insert(0, self.operations[index])
        stuck = [] if holds else [self.operations[index] for index in self._candidates(self.longest.done)]
        return Verdict(holds, order, [each for each in stuck if each.answer is not None])


def parts(history: Iterable[Operation], model: Model) -> list[list[Operation]]:
    """Splits the history by what its calls refer to: two calls are in one part if they name the same thing, or if other
    calls connect them. No call of another part reads or writes the things of a part. A history over independent objects
    is linearizable exactly if it is for each of them (Herlihy and Wing, theorem 1)."""
    leaders: dict[str, str] = {}

    def leader(key: str) -> str:
        while leaders.setdefault(key, key) != key:
            key = leaders[key]
        return key

    named = [(operation, model.keys(operation.call, operation.answer)) for operation in history]
    for operation, keys in named:
        first, *others = keys or {f"number {operation.number}"}
        for other in others:
            leaders[leader(other)] = leader(first)
    found: dict[str, list[Operation]] = {}
    for operation, keys in named:
        found.setdefault(leader(min(keys or {f"number {operation.number}"})), []).append(operation)
    return list(found.values())


def check(history: Iterable[Operation], model: Model) -> tuple[Verdict, list[Operation]]:
    """The verdict, and the part that it concerns: the first that fails, or that was not decided."""
    undecided: tuple[Verdict, list[Operation]] | None = None
    for part in parts(history, model):
        verdict = Search(part, model).run()
        if verdict.holds is False:
            return verdict, part
        if verdict.holds is None:
            undecided = undecided or (verdict, part)
    return undecided or (Verdict(True), [])


def shorten(history: list[Operation], model: Model) -> list[Operation]:
    """A shorter history that also fails: cut after the first answer without an explanation, and without the calls that
    only read, if it fails without them. Both steps keep a correct history correct, so they cannot break one."""
    ends = sorted(each.returned for each in history if each.answer is not None)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if fails(until(history, ends[middle]), model):
            high = middle
        else:
            low = middle + 1
    short = until(history, ends[low])
    readers = [each for each in short if model.reads(each.call, each.answer)]
    size = len(readers)
    while size:
        for begin in range(0, len(readers), size):
            leaving = readers[begin:begin + size]
            without = [each for each in short if each not in leaving]
            if fails(without, model):
                short = without
        readers = [each for each in readers if each in short]
        size //= 2
    return short


def until(history: list[Operation], end: float) -> list[Operation]:
    """The history at that time: later answers have not arrived yet."""
    return [each if each.returned <= end else each.unheard() for each in history if each.called <= end]


def fails(history: list[Operation], model: Model) -> bool:
    return Search(history, model).run().holds is False
