"""An agent in eighty lines: the SDK of OpenAI for the model, the SDK of MCP for Weft's tools, and a loop.

    pip install openai mcp weft-context
    weft index .
    export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none
    python plain_agent.py --model llama3.2 "How does the queue take a job?"

Any server with an API like OpenAI's will do. Weft runs as a process of its own, as it does for every MCP client.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from openai import AsyncOpenAI

INSTRUCTIONS = (
    "Answer questions about this project. Look things up with the tools before you answer, and name the files and "
    "lines that your answer rests on. Say so if the tools have nothing."
)
TOOLS = ("context", "search", "fetch")
"""Weft has more tools; these three read, and fewer choices make small models choose better."""
MOST_TURNS = 8
"""An agent that has not answered by then is going in circles."""


async def answer(question: str, model: str, store: str | None) -> str:
    """Let the model call tools until it answers."""
    weft = StdioServerParameters(
        command=sys.executable, args=["-m", "weft", "mcp", *(["--store", store] if store else [])]
    )
    async with Client(weft) as tools:
        offered = [describe(tool) for tool in (await tools.list_tools()).tools if tool.name in TOOLS]
        messages: list[Any] = [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": question},
        ]
        client = AsyncOpenAI()
        for _ in range(MOST_TURNS):
            reply = await client.chat.completions.create(model=model, messages=messages, tools=offered)
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                print(f"-> {call.function.name} {call.function.arguments}", file=sys.stderr)
                result = await tools.call_tool(call.function.name, json.loads(call.function.arguments))
                text = "\n".join(part.text for part in result.content if part.type == "text")
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
    return "No answer after so many turns."


def describe(tool: Any) -> Any:
    """Describe a tool of MCP as the API of OpenAI has it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--model", required=True)
    parser.add_argument("--store", help="the folder of the store; by default the nearest .weft/")
    options = parser.parse_args()
    print(asyncio.run(answer(options.question, options.model, options.store)))
