"""A client of the Model Context Protocol, the protocol's own SDK: starts a server, makes calls, prints what came back.

python client.py CALLS SERVER…, where CALLS is JSON: a list of [tool, arguments]. Prints one line of JSON.
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(calls, server):
    parameters = StdioServerParameters(command=server[0], args=server[1:], inherit_environment=True) \
        if "inherit_environment" in StdioServerParameters.model_fields \
        else StdioServerParameters(command=server[0], args=server[1:])
    async with stdio_client(parameters) as (reading, writing), ClientSession(reading, writing) as session:
        begun = await session.initialize()
        tools = await session.list_tools()
        answers = []
        for tool, arguments in calls:
            result = await session.call_tool(tool, arguments)
            answers.append(json.loads(result.model_dump_json(by_alias=True)))
    return {
        "begun": json.loads(begun.model_dump_json(by_alias=True)),
        "tools": [json.loads(tool.model_dump_json(by_alias=True)) for tool in tools.tools],
        "answers": answers,
    }


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1]), sys.argv[2:]))))
