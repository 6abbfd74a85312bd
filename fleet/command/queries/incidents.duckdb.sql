-- DuckDB: the view that the questions here are asked of. {folder} is the archive: a folder, or s3://BUCKET/PREFIX.
-- An incident counts once, also while compaction runs; its time is in UTC, whatever the session's time zone is.
CREATE OR REPLACE VIEW incidents AS
SELECT * REPLACE (make_timestamp(epoch_us(time)) AS time)
FROM read_parquet('{folder}/incidents/date=*/*.parquet', union_by_name = true)
QUALIFY row_number() OVER (PARTITION BY id ORDER BY time) = 1;
