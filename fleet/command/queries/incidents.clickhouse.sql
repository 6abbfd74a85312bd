-- ClickHouse: the view that the questions here are asked of. {folder} is the archive, a folder (on a server, one
-- below user_files); for a bucket, write s3('https://…/incidents/date=*/*.parquet', …) in place of file(…).
-- An incident counts once, also while compaction runs; its time is in UTC, whatever the session's time zone is.
CREATE OR REPLACE VIEW incidents AS
SELECT *
FROM file('{folder}/incidents/date=*/*.parquet', 'Parquet')
QUALIFY row_number() OVER (PARTITION BY id ORDER BY time) = 1
SETTINGS schema_inference_mode = 'union';
