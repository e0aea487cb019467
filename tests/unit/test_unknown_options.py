"""An option that no function has is refused in the name of the public function."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests

import colonnade
from colonnade import jobs, parallel, serve, sync
from colonnade.parallel import dask, ray

if TYPE_CHECKING:
    from collections.abc import Callable

NOWHERE = "postgresql://postgres@127.0.0.1:1/"
URL = "http://127.0.0.1:1/"


def refusal(call: Callable[..., Any], *args: object, **options: object) -> str:
    def run() -> None:
        asyncio.run(call(*args, **options))

    with pytest.raises(TypeError) as caught:
        run()
    return str(caught.value)


@pytest.mark.parametrize(
    "call",
    [parallel.read, parallel.plan, parallel.sync.read, parallel.sync.plan, dask.read, ray.read],
)
def test_of_parallel(call: Callable[..., Any]) -> None:
    begin = f"{call.__name__}() got an unexpected keyword argument"
    assert refusal(call, "t", NOWHERE, parts=1, into="x") == f"{begin} 'into'"
    near = refusal(call, "t", NOWHERE, parts=1, partitionby="x")
    assert near == f"{begin} 'partitionby'. Did you mean 'partition_by'?"
    other = refusal(call, "t", NOWHERE, parts=1, params=[1])
    assert other == f"{begin} 'params'. Did you mean 'args'?"


@pytest.mark.parametrize("call", [serve.read, serve.sync.read])
def test_of_a_reader(call: Callable[..., Any]) -> None:
    begin = "read() got an unexpected keyword argument"
    assert refusal(call, URL, format="csv") == f"{begin} 'format'"
    assert refusal(call, URL, parms={}) == f"{begin} 'parms'. Did you mean 'params'?"


@pytest.mark.parametrize("call", [colonnade.create_pool, sync.create_pool])
def test_of_a_pool(call: Callable[..., Any]) -> None:
    told = refusal(call, NOWHERE, databse="x")
    assert told == (
        "create_pool() got an unexpected keyword argument 'databse'. Did you mean 'database'?"
    )
    # These are for the function.
    call(NOWHERE, connect=lambda *_args, **_options: None, databse="x", min_size=0)


@pytest.mark.parametrize("kind", [jobs.Queue, jobs.sync.Queue])
def test_of_a_queue(kind: Any) -> None:
    told = refusal(kind.add, None, [], uid=3)
    assert told == "Queue.add() got an unexpected keyword argument 'uid'"


def test_a_client_of_the_other_colour() -> None:
    with httpx.Client() as blocking:
        told = refusal(serve.read, URL, client=blocking)
    wanted = "client must be an httpx.AsyncClient, not httpx.Client: colonnade.serve.sync.read"
    assert told == f"{wanted} takes it"
    told = refusal(serve.sync.read, URL, client=httpx.AsyncClient())
    wanted = "client must be an httpx.Client, not httpx.AsyncClient: colonnade.serve.read"
    assert told == f"{wanted} takes it"
    for call, kind in ((serve.read, "AsyncClient"), (serve.sync.read, "Client")):
        told = refusal(call, URL, client=requests.Session())
        assert told == f"client must be an httpx.{kind}, not requests.sessions.Session"
