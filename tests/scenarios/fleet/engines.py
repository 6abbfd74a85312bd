"""Asks every question of fleet/command/queries in three query engines, and prints their answers:
engines.py FOLDER QUERIES_FOLDER

FOLDER is the archive. Each engine runs in a process of its own, so that one that crashes is an error of that engine
alone. What an engine cannot answer is {"error": "…"} in place of an answer; none is left out.
"""

import datetime
import decimal
import glob
import json
import os
import re
import subprocess
import sys
import time

# The engine's name here, and the one in the name of its view's file.
ENGINES = {"duckdb": "duckdb", "chdb": "clickhouse", "datafusion": "datafusion"}
QUESTIONS = 10
LIMIT_SECONDS = 600
DIGITS = 9


def duckdb_engine():
    """Runs a statement: the names of its columns, and its rows."""
    import duckdb

    connection = duckdb.connect()

    def run(statement):
        result = connection.execute(statement)
        return [column[0] for column in result.description or []], result.fetchall()

    return run


def chdb_engine():
    """ClickHouse as a library."""
    from chdb.session import Session

    session = Session()

    def run(statement):
        if statement.lstrip().upper().startswith("CREATE"):
            session.query(statement)
            return [], []
        answer = json.loads(session.query(statement, "JSONCompact").data())
        # A float without a fraction is printed as a whole number.
        is_float = ["Float" in column["type"] for column in answer["meta"]]
        convert = lambda value, floats: float(value) if floats and value is not None else value
        rows = [[convert(*cell) for cell in zip(row, is_float)] for row in answer["data"]]
        return [column["name"] for column in answer["meta"]], rows

    return run


def datafusion_engine():
    """DataFusion."""
    from datafusion import SessionContext

    context = SessionContext()

    def run(statement):
        table = context.sql(statement).to_arrow_table()
        return table.column_names, [list(row) for row in zip(*(column.to_pylist() for column in table.columns))]

    return run


MAKERS = {"duckdb": duckdb_engine, "chdb": chdb_engine, "datafusion": datafusion_engine}


def statements(path):
    """The statements of a file, each without its comment; a statement ends where a line ends with a semicolon."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^\s*--.*\n", "", file.read(), flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";[ \t]*(?:\n|\Z)", text) if part.strip()]


def plain(value):
    """A value as every engine should have it."""
    if isinstance(value, (float, decimal.Decimal)):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, datetime.date):
        # A moment is a date too; only one at midnight may pass as such.
        is_day = not isinstance(value, datetime.datetime) or value.time() == datetime.time()
        return value.strftime("%Y-%m-%d") if is_day else value.isoformat()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"{value!r} is of a kind that has no common form")


def ask(run, path):
    """The answer to a question."""
    try:
        (statement,) = statements(path)
        began = time.perf_counter()
        columns, rows = run(statement)
        seconds = time.perf_counter() - began
        rows = [[plain(value) for value in row] for row in rows]
        return {"columns": columns, "rows": rows, "seconds": round(seconds, 3)}
    except Exception as error:  # whatever an engine raises
        return failure(error)


def failure(error):
    return {"error": f"{type(error).__name__}: {error}"}


def answers(engine, folder, queries):
    """All answers of an engine."""
    paths = questions(queries)
    try:
        run = MAKERS[engine]()
        quoted = folder.replace("'", "''")
        for statement in statements(os.path.join(queries, f"incidents.{ENGINES[engine]}.sql")):
            run(statement.replace("{folder}", quoted))
    except Exception as error:  # also an import's
        return {name: failure(error) for name in paths}
    return {name: ask(run, path) for name, path in paths.items()}


def questions(queries):
    """The questions, by name."""
    paths = sorted(glob.glob(os.path.join(glob.escape(queries), "[0-9][0-9]-*.sql")))
    if len(paths) != QUESTIONS:
        sys.exit(f"{queries}: {len(paths)} questions, not {QUESTIONS}")
    return {os.path.basename(path).removesuffix(".sql"): path for path in paths}


def apart(engine, folder, queries):
    """All answers of an engine, from a process of its own."""
    command = [sys.executable, os.path.abspath(__file__), folder, queries, engine]
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS, check=True)
        return json.loads(ended.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        return {name: failure(error) for name in questions(queries)}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, queries = (os.path.abspath(path) for path in sys.argv[1:3])
    if len(sys.argv) == 4:
        print(json.dumps(answers(sys.argv[3], folder, queries)))
        return
    questions(queries)
    print(json.dumps({engine: apart(engine, folder, queries) for engine in ENGINES}))


if __name__ == "__main__":
    main()
