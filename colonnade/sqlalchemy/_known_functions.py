"""The functions that a rewritten select may call.

Any other function that the caller does not vouch for may be an aggregate, which would see only a
part of the rows, or volatile, which would return another value for each call.
"""

# ruff: noqa: SIM905 - long lists of names read best as plain words

from __future__ import annotations

# Functions of one row that are immutable or stable: equal arguments give equal results within one
# statement.
SCALAR_FUNCTIONS = frozenset(
    """
    abs age array_append array_cat array_dims array_length array_lower array_ndims
    array_position array_positions array_prepend array_remove array_replace array_to_json
    array_to_string array_upper ascii asin atan atan2 bit_length btrim cardinality cast cbrt
    ceil ceiling char_length character_length chr coalesce concat concat_ws convert_from
    convert_to cos current_catalog current_database current_date current_role current_schema
    current_time current_timestamp current_user date_bin date_part date_trunc decode degrees div
    encode exp extract floor format generate_series greatest hstore initcap isempty isfinite
    json_array_elements json_array_elements_text json_array_length json_build_array
    json_build_object json_each json_each_text json_extract_path json_extract_path_text
    json_object_keys json_typeof jsonb_array_elements jsonb_array_elements_text
    jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
    jsonb_extract_path jsonb_extract_path_text jsonb_object_keys jsonb_path_exists
    jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_set jsonb_strip_nulls
    jsonb_typeof justify_days justify_hours justify_interval least left length ln localtime
    localtimestamp log log10 lower lower_inc lower_inf lpad ltrim make_date make_interval
    make_time make_timestamp make_timestamptz md5 mod now nullif num_nonnulls num_nulls
    octet_length overlay pi plainto_tsquery position power quote_ident quote_literal
    quote_nullable radians regexp_count regexp_like regexp_match regexp_matches regexp_replace
    regexp_split_to_array regexp_split_to_table regexp_substr repeat replace reverse right round
    row row_to_json rpad rtrim session_user sha256 sign sin split_part sqrt starts_with
    string_to_array strpos substr substring tan timezone to_char to_date to_json to_jsonb
    to_number to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim trunc
    ts_headline ts_rank ts_rank_cd unistr unnest upper upper_inc upper_inf user
    websearch_to_tsquery width_bucket
    """.split()
)
# Aggregates and window functions. Within a subquery they are allowed: they see the subquery's rows.
AGGREGATES = frozenset(
    """
    any_value array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop
    covar_samp cube cume_dist dense_rank every first_value grouping_sets json_agg
    json_object_agg jsonb_agg jsonb_object_agg lag last_value lead max min mode nth_value ntile
    percent_rank percentile_cont percentile_disc range_agg range_intersect_agg rank regr_avgx
    regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy rollup
    row_number stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance xmlagg
    """.split()
)
# SQL keywords and types that may precede a parenthesis without being a function.
SYNTAX = frozenset(
    """
    all and any array as between by case char character cross decimal distinct else end except
    exists filter from full group having ilike in inner intersect interval is join lateral left
    like limit not null numeric on or order outer over right select similar some then time
    timestamp to union using values varchar varying when where with within
    """.split()
)
