CREATE SCHEMA IF NOT EXISTS "jobs";
CREATE TABLE IF NOT EXISTS "jobs"."colonnade_queues" (
    name pg_catalog.text PRIMARY KEY,
    layout pg_catalog.text NOT NULL,
    version integer NOT NULL,
    settings pg_catalog.jsonb NOT NULL,
    created_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()
);
CREATE SEQUENCE "jobs"."old_ids";
CREATE SEQUENCE "jobs"."old_adds";
CREATE TABLE "jobs"."old_ring" (
    slot smallint PRIMARY KEY,
    turned_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now()
);
INSERT INTO "jobs"."old_ring" (slot) VALUES (0);
CREATE TABLE "jobs"."old" (
    job_slot smallint NOT NULL,
    job_add bigint NOT NULL DEFAULT pg_catalog.currval('"jobs"."old_adds"'::pg_catalog.regclass),
    job_id bigint NOT NULL DEFAULT pg_catalog.nextval('"jobs"."old_ids"'::pg_catalog.regclass),
    job_errors pg_catalog.text[],
    "a" int8,
    "b" text
) PARTITION BY LIST (job_slot);
CREATE INDEX ON "jobs"."old" (job_add, job_id);
CREATE TABLE "jobs"."old_r" (
    job_slot smallint NOT NULL,
    job_priority smallint NOT NULL DEFAULT 0,
    job_place bigint NOT NULL,
    job_add bigint NOT NULL,
    job_first bigint NOT NULL,
    job_last bigint NOT NULL,
    job_count integer NOT NULL,
    job_ready_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.statement_timestamp(),
    job_expires_at pg_catalog.timestamptz DEFAULT pg_catalog.statement_timestamp() OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => 3600),
    job_waits_until pg_catalog.timestamptz NOT NULL DEFAULT '-infinity'::pg_catalog.timestamptz,
    job_attempts smallint NOT NULL DEFAULT 0,
    job_token bigint,
    job_done bigint[],
    job_trace pg_catalog.text
) PARTITION BY LIST (job_slot);
ALTER TABLE "jobs"."old_r" ADD PRIMARY KEY (job_waits_until, job_priority, job_place, job_first, job_add, job_slot);
CREATE TABLE "jobs"."old_s0" PARTITION OF "jobs"."old" (job_slot DEFAULT 0) FOR VALUES IN (0) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r0" PARTITION OF "jobs"."old_r" FOR VALUES IN (0) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s1" PARTITION OF "jobs"."old" (job_slot DEFAULT 1) FOR VALUES IN (1) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r1" PARTITION OF "jobs"."old_r" FOR VALUES IN (1) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s2" PARTITION OF "jobs"."old" (job_slot DEFAULT 2) FOR VALUES IN (2) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r2" PARTITION OF "jobs"."old_r" FOR VALUES IN (2) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s3" PARTITION OF "jobs"."old" (job_slot DEFAULT 3) FOR VALUES IN (3) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r3" PARTITION OF "jobs"."old_r" FOR VALUES IN (3) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s4" PARTITION OF "jobs"."old" (job_slot DEFAULT 4) FOR VALUES IN (4) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r4" PARTITION OF "jobs"."old_r" FOR VALUES IN (4) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s5" PARTITION OF "jobs"."old" (job_slot DEFAULT 5) FOR VALUES IN (5) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r5" PARTITION OF "jobs"."old_r" FOR VALUES IN (5) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s6" PARTITION OF "jobs"."old" (job_slot DEFAULT 6) FOR VALUES IN (6) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r6" PARTITION OF "jobs"."old_r" FOR VALUES IN (6) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE TABLE "jobs"."old_s7" PARTITION OF "jobs"."old" (job_slot DEFAULT 7) FOR VALUES IN (7) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
CREATE TABLE "jobs"."old_r7" PARTITION OF "jobs"."old_r" FOR VALUES IN (7) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500);
CREATE UNLOGGED TABLE "jobs"."old_stg" (LIKE "jobs"."old" INCLUDING DEFAULTS) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE "jobs"."old_stg" DROP COLUMN IF EXISTS job_slot, DROP COLUMN IF EXISTS job_add, DROP COLUMN IF EXISTS job_id, DROP COLUMN IF EXISTS job_errors, ADD COLUMN job_call bigint NOT NULL DEFAULT pg_catalog.txid_current() CHECK (job_call OPERATOR(pg_catalog.=) pg_catalog.txid_current()), ADD COLUMN job_ordinal bigint GENERATED ALWAYS AS IDENTITY, ADD PRIMARY KEY (job_call, job_ordinal);
CREATE TABLE "jobs"."old_dead" (
    job_id bigint PRIMARY KEY,
    job_priority smallint NOT NULL,
    job_attempts smallint NOT NULL,
    job_key pg_catalog.text,
    job_trace pg_catalog.text,
    job_reason pg_catalog.text NOT NULL,
    job_errors pg_catalog.text[],
    job_died_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(),
    "a" int8,
    "b" text
);
INSERT INTO "jobs"."colonnade_queues" (name, layout, version, settings) VALUES ( 'old', 'segments', 5, '{"max_length": null, "retry": {"delay": 0, "delay_max": 3600.0, "factor": 2.0, "jitter": 0.2, "max_attempts": 3}, "ttl": 3600}');
