"""A table of queues that another role has made runs none of its code, and is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import colonnade
from colonnade import jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from colonnade.jobs.definition import LayoutName

PAYLOAD = {"a": "int8"}
ROLES = ("jobs_member", "jobs_stranger", "jobs_worker", "jobs_admin")
# The code that the stranger wants to run as somebody else.
CODE = """
CREATE FUNCTION jobs.code() RETURNS text LANGUAGE sql
    AS 'INSERT INTO public.jobs_ran VALUES (current_user); SELECT ''x''';
CREATE FUNCTION jobs.code_of_trigger() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM jobs.code(); RETURN new; END';
"""
TABLE = """
CREATE TABLE jobs.colonnade_queues (name text PRIMARY KEY, layout text, version int,
    settings jsonb, created_at timestamptz DEFAULT now());
INSERT INTO jobs.colonnade_queues VALUES ('q', 'rows', 3, '{"retry": {}}');
"""
MADE = {
    "view": (
        """CREATE VIEW jobs.colonnade_queues AS SELECT jobs.code() AS name, 'rows' AS layout,
        1 AS version, '{}'::jsonb AS settings, now() AS created_at""",
        "is no table",
    ),
    "trigger": (
        f"""{TABLE} CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON jobs.colonnade_queues
        FOR EACH ROW EXECUTE FUNCTION jobs.code_of_trigger()""",
        "has triggers",
    ),
    "rule": (
        f"""{TABLE} CREATE RULE r AS ON INSERT TO jobs.colonnade_queues
        DO INSTEAD SELECT jobs.code()""",
        "has rules",
    ),
    "row security": (
        f"""{TABLE} ALTER TABLE jobs.colonnade_queues ENABLE ROW LEVEL SECURITY;
        CREATE POLICY p ON jobs.colonnade_queues USING (jobs.code() IS NOT NULL)""",
        "has row security",
    ),
    "heir": (f"{TABLE} CREATE TABLE jobs.heir () INHERITS (jobs.colonnade_queues)", "has heirs"),
    "default": (
        f"""{TABLE} ALTER TABLE jobs.colonnade_queues
        ALTER created_at SET DEFAULT jobs.code()::timestamptz""",
        'belong to the role "jobs_stranger"',
    ),
}
VERBS: dict[str, Callable[[colonnade.Pool], Any]] = {
    "open": lambda pool: jobs.open_queue(pool, "q"),
    "list": jobs.list_queues,
    "migrate": jobs.migrate_queues,
    "migration": jobs.migration_ddl,
    "create": lambda pool: jobs.create_queue(pool, "q", PAYLOAD),
    "create another": lambda pool: jobs.create_queue(pool, "other", PAYLOAD),
    "drop": lambda pool: jobs.drop_queue(pool, "q"),
    "grant": lambda pool: jobs.grant_queue(pool, "q", "jobs_worker"),
}


@pytest.fixture
async def roles(pool: colonnade.Pool) -> AsyncIterator[colonnade.Pool]:
    """A superuser's pool in a database where a stranger may create schemas."""
    away = "; ".join(f"DROP ROLE IF EXISTS {role}" for role in ROLES)
    await pool.execute(away)
    await pool.execute("; ".join(f"CREATE ROLE {role}" for role in ROLES))
    await pool.execute("CREATE TABLE public.jobs_ran (role text); GRANT ALL ON jobs_ran TO PUBLIC")
    database = await pool.fetchval("SELECT quote_ident(current_database())")
    await pool.execute(f"GRANT CREATE ON DATABASE {database} TO {', '.join(ROLES)}")
    try:
        yield pool
    finally:
        await pool.execute("DROP SCHEMA IF EXISTS jobs CASCADE; DROP TABLE public.jobs_ran")
        await pool.execute(f"DROP OWNED BY {', '.join(ROLES)}; {away}")


async def run_as(pool: colonnade.Pool, role: str, script: str) -> None:
    """Run statements as another role."""
    async with pool.acquire() as connection:
        await connection.execute(f"SET ROLE {role}")
        await connection.execute(script)
        await connection.execute("RESET ROLE")


def pool_of(pool: colonnade.Pool, role: str) -> colonnade.Pool:
    """A pool whose connections are that role's."""

    async def become(connection: colonnade.Connection) -> None:
        await connection.execute(f"SET ROLE {role}")

    return colonnade.create_pool(pool._connect_args[0], min_size=1, max_size=2, setup=become)


async def make_strange(pool: colonnade.Pool, kind: str, role: str = "jobs_stranger") -> str:
    """Make such a table of queues; return what is said of it."""
    made, flaw = MADE[kind]
    await run_as(pool, role, f"CREATE SCHEMA jobs; {CODE} {made}")
    return flaw


async def ran(pool: colonnade.Pool) -> list[str]:
    """The roles as which the stranger's code ran."""
    return [row[0] for row in await pool.fetch_plain("SELECT role FROM public.jobs_ran")]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", MADE)
async def test_a_superuser_runs_no_code_of_a_stranger(
    roles: colonnade.Pool, kind: str, verb: str
) -> None:
    flaw = await make_strange(roles, kind)
    with pytest.raises(jobs.QueueDefinitionError, match=flaw):
        await VERBS[verb](roles)
    assert await ran(roles) == []


@pytest.mark.parametrize("verb", VERBS)
async def test_nor_does_another_role(roles: colonnade.Pool, verb: str) -> None:
    await make_strange(roles, "view")
    await roles.execute(
        "GRANT USAGE ON SCHEMA jobs TO jobs_worker; GRANT SELECT ON ALL TABLES IN"
        " SCHEMA jobs TO jobs_worker"
    )
    async with pool_of(roles, "jobs_worker") as workers:
        with pytest.raises(jobs.QueueDefinitionError, match="is no table"):
            await VERBS[verb](workers)
    assert await ran(roles) == []


@pytest.mark.parametrize("verb", VERBS)
async def test_a_table_in_a_schema_of_ours_is_refused(roles: colonnade.Pool, verb: str) -> None:
    await roles.execute("CREATE SCHEMA jobs; GRANT ALL ON SCHEMA jobs TO jobs_stranger")
    await run_as(roles, "jobs_stranger", TABLE)
    with pytest.raises(jobs.QueueDefinitionError, match='belong to the role "jobs_stranger"'):
        await VERBS[verb](roles)


@pytest.mark.parametrize("verb", VERBS)
async def test_our_table_in_a_strangers_schema_is_refused(roles: colonnade.Pool, verb: str) -> None:
    await run_as(roles, "jobs_stranger", "CREATE SCHEMA jobs")
    await roles.execute(TABLE)
    with pytest.raises(jobs.QueueDefinitionError, match="ALTER SCHEMA"):
        await VERBS[verb](roles)


async def test_nothing_is_made_in_a_strangers_schema(roles: colonnade.Pool) -> None:
    await run_as(roles, "jobs_stranger", "CREATE SCHEMA jobs")
    assert await jobs.list_queues(roles) == []
    with pytest.raises(jobs.QueueDefinitionError, match="no queue"):
        await jobs.open_queue(roles, "q")
    with pytest.raises(jobs.QueueDefinitionError, match="jobs_stranger"):
        await jobs.create_queue(roles, "q", PAYLOAD)
    assert await roles.fetchval("SELECT to_regclass('jobs.colonnade_queues')") is None


@pytest.mark.parametrize("kind", MADE)
async def test_statements_that_are_run_by_hand_refuse_too(
    roles: colonnade.Pool, layout: LayoutName, kind: str
) -> None:
    flaw = (await make_strange(roles, kind)).replace("belong to the role", "belongs to")
    with pytest.raises(colonnade.PostgresError, match=flaw.replace('"', "")) as caught:
        await roles.execute(jobs.queue_ddl("q", PAYLOAD, layout=layout))
    assert caught.value.sqlstate == "42501"
    assert await ran(roles) == []


async def test_a_role_trusts_itself_and_the_roles_that_it_is_a_member_of(
    roles: colonnade.Pool,
) -> None:
    await roles.execute("GRANT jobs_stranger TO jobs_admin; GRANT jobs_admin TO jobs_member")
    async with pool_of(roles, "jobs_stranger") as own:
        await jobs.create_queue(own, "q", PAYLOAD)
        assert len(await jobs.list_queues(own)) == 1
    async with pool_of(roles, "jobs_member") as members:
        assert await jobs.migrate_queues(members) == []
        queue = await jobs.create_queue(members, "q", PAYLOAD)
        await queue.add({"a": [1]})
        await jobs.create_queue(members, "another", PAYLOAD)
    with pytest.raises(jobs.QueueDefinitionError, match="jobs_stranger"):
        await jobs.list_queues(roles)
    await roles.execute("GRANT jobs_stranger TO CURRENT_USER")
    try:
        assert len(await jobs.list_queues(roles)) == 2
    finally:
        await roles.execute("REVOKE jobs_stranger FROM CURRENT_USER")


async def test_a_membership_that_a_role_gives_out_proves_nothing(roles: colonnade.Pool) -> None:
    """Servers before 15 let every role do so."""
    await make_strange(roles, "default")
    own = await roles.fetchval("SELECT quote_ident(current_user)")
    given = f"SET SESSION AUTHORIZATION jobs_stranger; GRANT jobs_stranger TO {own}"
    async with roles.acquire() as connection:
        try:
            await connection.execute(given)
        except colonnade.PostgresError:
            assert connection.get_server_version() >= (15,)
        await connection.execute("RESET SESSION AUTHORIZATION")
    with pytest.raises(jobs.QueueDefinitionError, match="jobs_stranger"):
        await jobs.list_queues(roles)


async def test_nor_does_one_for_administration(roles: colonnade.Pool) -> None:
    """The creator of a role is a member of it since the server 16."""
    version = await roles.fetchval("SELECT current_setting('server_version_num')::int")
    if version < 160_000:
        pytest.skip("an older server makes nobody a member")
    await roles.execute("ALTER ROLE jobs_admin CREATEROLE")
    await run_as(roles, "jobs_admin", "CREATE ROLE jobs_created")
    try:
        database = await roles.fetchval("SELECT quote_ident(current_database())")
        await roles.execute(f"GRANT CREATE ON DATABASE {database} TO jobs_created")
        await make_strange(roles, "default", "jobs_created")
        async with pool_of(roles, "jobs_admin") as admins:
            with pytest.raises(jobs.QueueDefinitionError, match="jobs_created"):
                await jobs.create_queue(admins, "other", PAYLOAD)
            await roles.execute("GRANT jobs_created TO jobs_admin WITH INHERIT FALSE, SET FALSE")
            await roles.execute("GRANT jobs_created TO jobs_member WITH INHERIT FALSE, SET FALSE")
        await roles.execute("GRANT USAGE ON SCHEMA jobs TO jobs_member")
        async with pool_of(roles, "jobs_member") as members:
            with pytest.raises(colonnade.PostgresError, match="permission denied"):
                await jobs.create_queue(members, "other", PAYLOAD)
    finally:
        await roles.execute("DROP OWNED BY jobs_created CASCADE; DROP ROLE jobs_created")


async def test_the_databases_owner_is_trusted(roles: colonnade.Pool) -> None:
    await roles.execute("CREATE DATABASE jobs_strangers OWNER jobs_member")
    dsn = roles._connect_args[0]
    try:
        async with colonnade.create_pool(
            dsn, database="jobs_strangers", min_size=1, max_size=2
        ) as there:
            await run_as(there, "jobs_member", f"CREATE SCHEMA jobs; {TABLE}")
            assert len(await jobs.list_queues(there)) == 1
            await jobs.create_queue(there, "other", PAYLOAD)
            # The schema public is a role's whose only member is the database's owner.
            await jobs.create_queue(there, "q", PAYLOAD, schema="public")
    finally:
        await roles.execute("DROP DATABASE jobs_strangers WITH (FORCE)")


async def test_a_worker_trusts_who_gave_it_its_rights(
    roles: colonnade.Pool, layout: LayoutName
) -> None:
    """It has no other rights that could be misused; a superuser has all of them."""
    async with pool_of(roles, "jobs_stranger") as own:
        await jobs.create_queue(own, "q", PAYLOAD, layout=layout)
        await jobs.grant_queue(own, "q", "jobs_worker")
    async with pool_of(roles, "jobs_worker") as workers:
        queue = await jobs.open_queue(workers, "q")
        await queue.add({"a": [1]})
        await (await queue.get()).ack()
        assert len(await jobs.list_queues(workers)) == 1
        with pytest.raises(jobs.QueueDefinitionError, match="jobs_stranger"):
            await jobs.create_queue(workers, "other", PAYLOAD)
    with pytest.raises(jobs.QueueDefinitionError, match="jobs_stranger"):
        await jobs.open_queue(roles, "q")
