"""The commands of `colonnade jobs`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from colonnade.cli.amounts import count
from colonnade.cli.failures import CommandError, say
from colonnade.cli.jobs.adding import add
from colonnade.cli.jobs.place import json_option, opened, place_options
from colonnade.cli.jobs.showing import (
    Heading,
    chosen_jobs_format,
    jobs_format_options,
    show_facts,
    show_jobs,
)
from colonnade.cli.options import Command
from colonnade.cli.statement import Query
from colonnade.errors import InsufficientPrivilegeError
from colonnade.observe.visible import visible

if TYPE_CHECKING:
    from colonnade.cli.connecting import Target
    from colonnade.cli.jobs.place import Place
    from colonnade.jobs.sync import Queue, QueueInfo

_LIMIT = click.IntRange(1, 2**63 - 1)
_LIST = [
    Heading("name", "queue", is_number=False),
    Heading("layout", "layout", is_number=False),
    Heading("max_attempts", "attempts"),
    Heading("ttl", "ttl (s)"),
    Heading("max_length", "most jobs"),
    Heading("created_at", "made", is_number=False),
]
_STATS = [
    Heading("name", "queue", is_number=False),
    *(Heading(key, key) for key in ("total", "ready", "delayed", "leased", "dead")),
    Heading("oldest_ready_s", "oldest ready (s)"),
]


@click.group(short_help="Look at queues of jobs, and fill them.")
def jobs() -> None:
    """Look at the queues of colonnade.jobs, add jobs to them, and manage dead letters."""


@jobs.command(
    "list", cls=Command, short_help="List the queues.", examples="colonnade jobs list --json\n"
)
@json_option
@place_options
def list_(*, target: Target, schema: str, as_json: bool) -> None:
    """List the queues of a schema, with their layouts and rules. It counts no jobs."""
    with opened(target, schema) as place:
        facts = [_described(info) for info in place.all()]
    if not facts and not as_json:
        say(f'there are no queues in the schema "{schema}"')
        return
    show_facts(facts, _LIST, as_json=as_json)


@jobs.command(
    cls=Command,
    short_help="Count jobs by state.",
    examples="colonnade jobs stats\ncolonnade jobs stats emails --json | jq .oldest_ready_s\n",
)
@click.argument("names", nargs=-1, metavar="[QUEUE]...")
@json_option
@place_options
def stats(*, names: tuple[str, ...], target: Target, schema: str, as_json: bool) -> None:
    """Count the jobs of queues by state, each queue in one snapshot; without QUEUE, of all.

    total is ready + delayed + leased; dead are the dead letters; the last column says for how many
    seconds the oldest ready job has been ready. To count millions of jobs takes seconds.
    """
    with opened(target, schema) as place:
        facts = (
            [_counted(name, place.queue(name)) for name in names] if names else _counted_all(place)
        )
    show_facts(facts, _STATS, as_json=as_json)


@jobs.command(
    cls=Command,
    short_help="Show the first jobs.",
    examples="colonnade jobs peek emails -n 3\ncolonnade jobs peek emails --json | jq .job_id\n",
)
@click.argument("name", metavar="QUEUE")
@click.option("-n", "--limit", type=_LIMIT, default=10, show_default=True, help="Most jobs.")
@jobs_format_options
@place_options
def peek(
    *, name: str, limit: int, form: str | None, as_json: bool, target: Target, schema: str
) -> None:
    """Show the first jobs in the order in which they are handed out, whatever their state.

    Nothing is leased and nothing changes.
    """
    chosen = chosen_jobs_format(form, as_json=as_json)
    with opened(target, schema) as place:
        query = Query(place.queue(name).layout.peek, (limit,))
        with place.pool.acquire() as connection:
            show_jobs(connection, query, chosen)


@jobs.command(
    cls=Command,
    short_help="Show dead letters.",
    examples=(
        "colonnade jobs dead emails\n"
        "colonnade jobs dead emails -n 100000 --format parquet > dead.parquet\n"
    ),
)
@click.argument("name", metavar="QUEUE")
@click.option(
    *("-n", "--limit"),
    type=_LIMIT,
    default=1000,
    show_default=True,
    help="Most dead letters.",
)
@jobs_format_options
@place_options
def dead(
    *, name: str, limit: int, form: str | None, as_json: bool, target: Target, schema: str
) -> None:
    """Show dead letters: the payload, job_reason, and in job_errors all reasons before."""
    chosen = chosen_jobs_format(form, as_json=as_json)
    with opened(target, schema) as place:
        query = Query(place.queue(name).layout.dead, (limit,))
        with place.pool.acquire() as connection:
            show_jobs(connection, query, chosen)


@jobs.command(
    cls=Command,
    short_help="Make dead letters jobs again.",
    examples="colonnade jobs requeue emails 17 18\ncolonnade jobs requeue emails --all\n",
)
@click.argument("name", metavar="QUEUE")
@click.argument("ids", nargs=-1, type=click.IntRange(-(2**63), 2**63 - 1), metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="All dead letters of the queue.")
@json_option
@place_options
def requeue(
    *,
    name: str,
    ids: tuple[int, ...],
    everything: bool,
    target: Target,
    schema: str,
    as_json: bool,
) -> int:
    """Make dead letters jobs again, with new attempts. ID is their job_id, as `dead` shows it.

    The exit status is 1 if one of the ids is not that of a dead letter; the others are requeued.
    """
    if everything == bool(ids):
        raise click.UsageError("name the ids of dead letters, or pass --all")
    with opened(target, schema) as place:
        done = place.queue(name).requeue(list(set(ids)) or None)
    _told({"requeued": done}, f"{count(done, 'dead letter')} requeued", as_json=as_json)
    missing = len(set(ids)) - done
    if missing > 0:
        are = "is not one of a dead letter" if missing == 1 else "are not ids of dead letters"
        say(f"colonnade: {missing} of the ids {are}")
    return 1 if missing > 0 else 0


@jobs.command(
    cls=Command,
    short_help="Remove all jobs of a queue.",
    examples="colonnade jobs purge emails --yes\ncolonnade jobs purge emails --dead --yes\n",
)
@click.argument("name", metavar="QUEUE")
@click.option("--dead", "is_dead", is_flag=True, help="Remove the dead letters instead.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@place_options
def purge(
    *, name: str, is_dead: bool, yes: bool, target: Target, schema: str, as_json: bool
) -> None:
    """Remove all jobs of a queue, those that workers hold too: they are not worked off, but gone.

    It asks first. The queue stays, and so do its dead letters; --dead removes these instead.
    """
    with opened(target, schema) as place:
        queue = place.queue(name)
        if not yes:
            numbers = queue.stats()
            _confirm(_asked(name, numbers.dead if is_dead else numbers.total, is_dead=is_dead))
        removed = queue.purge_dead() if is_dead else queue.purge()
    noun = "dead letter" if is_dead else "job"
    _told({"removed": removed}, f"{count(removed, noun)} removed", as_json=as_json)


@jobs.command(
    cls=Command,
    short_help="Show the queues live.",
    examples="colonnade jobs top\ncolonnade jobs top emails reports\n",
)
@click.argument("names", nargs=-1, metavar="[QUEUE]...")
@click.option("--once", is_flag=True, help="Print plain text once, as in a pipe.")
@place_options
def top(*, names: tuple[str, ...], once: bool, target: Target, schema: str) -> None:
    """Show the numbers of queues, live: jobs by state, the age of the oldest, and their course.

    The view is drawn each second; q and Ctrl-C end it. Queues are counted each second, or less
    often if counting takes long. Without QUEUE, all queues of the schema are shown.
    """
    from colonnade.cli.jobs import top as viewing

    viewing.run(target, schema, names, once=once)


jobs.add_command(add)


def _described(info: QueueInfo) -> dict[str, Any]:
    facts: dict[str, Any] = asdict(info)
    retry = facts.pop("retry")
    return {
        **facts,
        "max_attempts": info.retry.max_attempts,
        "retry": retry,
        "created_at": info.created_at.isoformat(timespec="seconds"),
    }


def _counted(name: str, queue: Queue) -> dict[str, Any]:
    return {"schema": queue.definition.schema, "name": name, **asdict(queue.stats())}


def _counted_all(place: Place) -> list[dict[str, Any]]:
    """The numbers of all queues that this role may read; the others are named."""
    facts = []
    for info in place.all():
        try:
            facts.append(_counted(info.name, place.known_queue(info.name)))
        except InsufficientPrivilegeError:
            say(f'no right to read the queue "{info.name}"')
    return facts


def _told(facts: dict[str, int], said: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts))
    else:
        say(said)


def _asked(name: str, number: int, *, is_dead: bool) -> str:
    what = count(number, "dead letter" if is_dead else "job")
    return f'Remove {what} of the queue "{visible(name)}"?'


def _confirm(question: str) -> None:
    """Raises UsageError if nobody can answer, and CommandError for a no."""
    if not sys.stdin.isatty():
        raise click.UsageError(f"{question} Nobody can answer: --yes removes without asking")
    if not click.confirm(question, err=True):
        raise CommandError("nothing was removed")
