-- DataFusion: the view that the questions here are asked of. {folder} is the archive: a folder, or s3://BUCKET/PREFIX.
-- An incident counts once, also while compaction runs; its time is in UTC, whatever the session's time zone is.
CREATE EXTERNAL TABLE IF NOT EXISTS incident_files
STORED AS PARQUET
LOCATION '{folder}/incidents/';

CREATE OR REPLACE VIEW incidents AS
SELECT * REPLACE (arrow_cast(time, 'Timestamp(Microsecond, None)') AS time)
FROM incident_files
QUALIFY row_number() OVER (PARTITION BY id ORDER BY time) = 1;
