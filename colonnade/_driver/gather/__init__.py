"""Many queries of one pool, asked together: their values, their order, their workers."""
