"""The pipeline's results computed again by DuckDB, straight from the log files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

COLUMNS = """{v: 'INT', kind: 'VARCHAR', topology: 'VARCHAR', node: 'VARCHAR', worker: 'VARCHAR',
  seq: 'BIGINT', "start": 'BIGINT', "end": 'BIGINT', source: 'INT', target: 'INT',
  tuples: 'BIGINT', bytes: 'BIGINT', system: 'BOOLEAN', task: 'INT', component: 'VARCHAR',
  executor: 'VARCHAR', cpu_ms: 'DOUBLE', shell_cpu_ms: 'DOUBLE', executed: 'BIGINT',
  emitted: 'BIGINT', acked: 'BIGINT', failed: 'BIGINT', execute_ms: 'DOUBLE',
  process_ms: 'DOUBLE', complete_ms: 'DOUBLE', host: 'VARCHAR', port: 'INT', edges: 'INT',
  tasks: 'INT', dropped_reports: 'BIGINT', dropped_lines: 'BIGINT', heap_mb: 'DOUBLE',
  cores: 'INT', mhz: 'DOUBLE', cpu_percent: 'DOUBLE', memory_mb: 'DOUBLE',
  memory_used_mb: 'DOUBLE', rx_bytes: 'BIGINT', tx_bytes: 'BIGINT', machine: 'VARCHAR',
  queue_percent: 'DOUBLE', queue_overflow: 'BIGINT'}"""


def connect(logs: Path) -> duckdb.DuckDBPyConnection:
    """A connection with the view ``log``: every line of every log file."""
    db = duckdb.connect()
    db.execute(
        f"CREATE TABLE log AS SELECT * FROM read_json('{logs}/**/*.jsonl', "
        f"format='newline_delimited', columns={COLUMNS})"
    )
    return db


def rows(db: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return sorted(db.execute(query).fetchall(), key=repr)


EDGES = """
WITH win AS (SELECT topology, node, worker, max(seq) AS last_seq FROM log
             WHERE kind = 'window' GROUP BY ALL),
line AS (SELECT log.* FROM log JOIN win USING (topology, node, worker) WHERE seq <= last_seq),
span AS (SELECT topology, task, node, worker, any_value(component) AS component,
                min("start") AS first_start
         FROM line WHERE kind = 'task' GROUP BY ALL),
heard AS (SELECT topology, task, "start" - "start" % {slice} AS slice,
                 sum("end" - "start") AS observed_ms
          FROM line WHERE kind = 'task' GROUP BY ALL),
placed AS (
  SELECT e.topology, e."start" - e."start" % {slice} AS slice, e.source, e.target,
         coalesce(e.system, false) AS system, e.tuples, e.bytes,
         e.node AS target_node, e.worker AS target_worker,
         s.node AS source_node, s.worker AS source_worker, s.component AS source_component
  FROM (SELECT * FROM line WHERE kind = 'edge') e
  ASOF LEFT JOIN (
    SELECT topology, task, node, worker, component,
           CASE WHEN row_number() OVER (PARTITION BY topology, task ORDER BY first_start) = 1
                THEN 0 ELSE first_start END AS since
    FROM span) s
  ON e.topology = s.topology AND e.source = s.task AND (e."start" + e."end") // 2 >= s.since)
SELECT p.topology, p.slice, source, target, system, source_node, source_worker, target_node,
       target_worker, source_component, max(t.component) AS target_component,
       CASE WHEN source_node = target_node AND source_worker = target_worker THEN 'local'
            WHEN source_node = target_node THEN 'inter-worker'
            WHEN source_node IS NULL THEN 'unknown' ELSE 'inter-node' END AS reach,
       sum(tuples)::BIGINT AS tuples, sum(bytes)::BIGINT AS bytes,
       max(h.observed_ms)::BIGINT AS observed_ms
FROM placed p
JOIN heard h ON h.topology = p.topology AND h.slice = p.slice AND h.task = p.target
JOIN (SELECT DISTINCT topology, task, component FROM span) t
  ON t.topology = p.topology AND t.task = p.target
GROUP BY ALL
"""
EDGE_COLUMNS = (
    "topology, slice, source, target, system, source_node, source_worker, target_node, "
    "target_worker, source_component, target_component, reach, tuples, bytes, observed_ms"
)

TASKS = """
WITH win AS (SELECT topology, node, worker, max(seq) AS last_seq, max(host) AS host,
                    max(port) AS port
             FROM log WHERE kind = 'window' GROUP BY ALL)
SELECT topology, "start" - "start" % {slice} AS slice, task, node, worker,
       any_value(component) AS component, any_value(executor) AS executor,
       any_value(win.host) AS host, any_value(win.port) AS port,
       sum("end" - "start")::BIGINT AS observed_ms,
       round(sum(cpu_ms + coalesce(shell_cpu_ms, 0)), 6) AS cpu_ms,
       sum(executed)::BIGINT AS executed, sum(emitted)::BIGINT AS emitted,
       sum(acked)::BIGINT AS acked, sum(failed)::BIGINT AS failed,
       round(sum(execute_ms * executed) / sum(executed) FILTER (execute_ms IS NOT NULL), 6),
       round(sum(complete_ms * acked) / sum(acked) FILTER (complete_ms IS NOT NULL), 6)
FROM (SELECT * FROM log WHERE kind = 'task') JOIN win USING (topology, node, worker)
WHERE seq <= last_seq GROUP BY topology, slice, task, node, worker
"""
TASK_COLUMNS = (
    "topology, slice, task, node, worker, component, executor, host, port, observed_ms, "
    "round(cpu_ms, 6), executed, emitted, acked, failed, round(execute_ms, 6), "
    "round(complete_ms, 6)"
)
