"""A client of the Model Context Protocol, the protocol's own SDK: starts a server, makes calls, prints what came back.

python client.py CALLS SERVER…, where CALLS is a file of JSON: a list of [tool, arguments]. Prints one line of JSON.
The SDK itself compares each answer with the schema that the server gave for it.
"""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(model):
    return json.loads(model.model_dump_json(by_alias=True, exclude_none=True))


async def main(calls, server):
    parameters = StdioServerParameters(command=server[0], args=server[1:], env=dict(os.environ))
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        begun = await session.initialize()
        tools = await session.list_tools()
        answers = [await session.call_tool(tool, arguments) for tool, arguments in calls]
    return {
        "begun": plain(begun),
        "tools": [plain(tool) for tool in tools.tools],
        "answers": [plain(answer) for answer in answers],
    }


with open(sys.argv[1]) as file:
    print(json.dumps(asyncio.run(main(json.load(file), sys.argv[2:]))))
