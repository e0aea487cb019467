"""The options of a client, and what it knows of nodes, without connections."""

from __future__ import annotations

import pytest

from colonnade.jobs.disque.cluster import Cluster
from colonnade.jobs.disque.options import Options, addresses, split
from colonnade.jobs.disque.values import Hello, NodeInfo


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("localhost", ["localhost:7711"]),
        ("a:1, b:2 ,a:1", ["a:1", "b:2"]),
        (["disque://h:3/", "[::1]:4", "::1"], ["h:3", "[::1]:4", "[::1]:7711"]),
    ],
)
def test_addresses(nodes: str | list[str], expected: list[str]) -> None:
    assert list(addresses(nodes)) == expected
    assert all(split(address)[1] > 0 for address in expected)
    assert split("[::1]:4") == ("::1", 4)


@pytest.mark.parametrize("nodes", ["", ":7711", "h:x", "h:0", "h:70000", [], ["a", ""], "h:1:"])
def test_what_is_no_address(nodes: str | list[str]) -> None:
    with pytest.raises(ValueError, match="node"):
        addresses(nodes)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ValueError, match="pass `password=`") as seen:
        addresses("disque://:secret@host:7711")
    assert "secret" not in str(seen.value)
    assert "secret" not in repr(Options(("a:1",), password="secret"))


@pytest.mark.parametrize("nodes", [3, [3], None])
def test_wrong_classes_of_addresses(nodes: object) -> None:
    with pytest.raises(TypeError, match="host:port"):
        addresses(nodes)  # type: ignore[arg-type]


def hello(node: str, *others: tuple[str, int, int]) -> Hello:
    return Hello(1, node, tuple(NodeInfo(i, "h", port, rank) for i, port, rank in others))


def test_pauses_grow_and_are_drawn() -> None:
    now = 0.0
    drawn: list[float] = []

    def draw(_low: float, high: float) -> float:
        drawn.append(high)
        return high

    cluster = Cluster(Options(("h:1", "h:2")), clock=lambda: now, draw=draw)
    drawn.clear()
    for _ in range(12):
        cluster.failed("h:1", OSError("down"))
    assert drawn[:4] == [0.05, 0.1, 0.2, 0.4]
    assert drawn[-1] == 5.0
    assert cluster.candidates() == ["h:2"]
    assert cluster.wait_s("h:1") == 5.0
    assert cluster.wait_s() == 0.0
    cluster.failed("nobody:1", OSError())
    now = 5.0
    assert set(cluster.candidates()) == {"h:1", "h:2"}
    assert "h:1: down" in cluster.reasons()


def test_nodes_come_and_go_as_the_newest_answer_says() -> None:
    cluster = Cluster(Options(("h:1",)))
    cluster.met("h:1", hello("a", ("a", 1, 1), ("b", 2, 1), ("c", 3, 100)))
    assert list(cluster.addresses) == ["h:1", "h:2", "h:3"]
    assert cluster.candidates()[-1] == "h:3"
    cluster.met("h:2", hello("b", ("a", 1, 1), ("b", 2, 1)))
    assert list(cluster.addresses) == ["h:1", "h:2"]
    # The seed stays, even if others no longer know it.
    cluster.met("h:2", hello("b", ("b", 2, 1)))
    assert cluster.addresses == ("h:1", "h:2")


def test_a_seed_with_another_name_is_not_a_second_node() -> None:
    cluster = Cluster(Options(("localhost:1",)))
    cluster.met("localhost:1", hello("a", ("a", 1, 1), ("b", 2, 1)))
    cluster.met("h:2", hello("b", ("a", 1, 1), ("b", 2, 1)))
    assert cluster.addresses == ("localhost:1", "h:2")
