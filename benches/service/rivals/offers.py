"""The answer to a search, from rows: a dictionary for each group, as programs on rows do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from examples.service.answers import Answer, of_json, of_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from examples.service.handlers.asking import Answers, Route

_ROWS_MAX = 20


def consolidated(
    route: Route,
    answers: Answers,
    airlines: Mapping[str, str],
    facts: Mapping[str, Any],
    seconds: float,
) -> tuple[Answer, bool]:
    """The answer of a search, and whether nothing is missing.

    `facts` are the results of the queries; an exception in the place of one that failed.
    """
    if not answers.bodies:
        return of_problem(504, "No supplier answered", "no supplier answered in time"), False
    failed = {name: str(fact) for name, fact in facts.items() if isinstance(fact, BaseException)}
    delays = {} if "delays" in failed else {row[0]: row[1] for row in facts["delays"]}
    best = sorted(_groups(route, answers).items(), key=lambda item: item[1]["price"])[:_ROWS_MAX]
    asked = len(answers.bodies) + len(answers.missing)
    complete = not answers.missing and not failed
    found = {
        "origin": route.origin,
        "dest": route.dest,
        "destination": None if "destination" in failed else facts["destination"],
        "offers": _columns(best, airlines, delays),
        "rows": len(best),
        "suppliers": {
            "asked": asked,
            "answered": len(answers.bodies),
            "missing": answers.missing,
        },
        "database": {"missing": failed},
        "complete": complete,
        "seconds": round(seconds, 4),
    }
    return of_json(found), complete


def _groups(route: Route, answers: Answers) -> dict[tuple[str, int], dict[str, Any]]:
    """The cheapest price of each airline and hour, its offers and its suppliers."""
    groups: dict[tuple[str, int], dict[str, Any]] = {}
    for sender, body in zip(answers.senders, answers.bodies, strict=True):
        part = orjson.loads(body)
        for carrier, hour, price in zip(part["carrier"], part["hour"], part["price"], strict=True):
            if price > route.max_price:
                continue
            group = groups.setdefault(
                (carrier, hour), {"price": price, "offers": 0, "suppliers": set()}
            )
            group["price"] = min(group["price"], price)
            group["offers"] += 1
            group["suppliers"].add(sender)
    return groups


def _columns(
    best: Iterable[tuple[tuple[str, int], dict[str, Any]]],
    airlines: Mapping[str, str],
    delays: Mapping[str, float],
) -> dict[str, list[Any]]:
    rows = list(best)
    return {
        "carrier": [key[0] for key, _ in rows],
        "name": [airlines[key[0]] for key, _ in rows],
        "hour": [key[1] for key, _ in rows],
        "price": [group["price"] for _, group in rows],
        "offers": [group["offers"] for _, group in rows],
        "suppliers": [len(group["suppliers"]) for _, group in rows],
        "mean_delay": [delays.get(key[0]) for key, _ in rows],
    }
