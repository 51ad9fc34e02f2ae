"""The same agent as a graph of LangGraph: one node asks the model, one calls Weft over MCP, and an edge decides.

    pip install langgraph openai mcp weft-context
    weft index .
    export OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none
    python langgraph_agent.py --model llama3.2 "How does the queue take a job?"

The page of the question is made before the model is first asked, which saves it the first call of a tool.
"""

import argparse
import asyncio
import json
import operator
import sys
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from mcp import Client, StdioServerParameters
from openai import AsyncOpenAI

INSTRUCTIONS = "Answer from the context, or look further with the tool `search`. Name files and lines."
PAGE_TOKENS = 2000
"""The budget of the first page: enough for most questions, and small beside any model's window."""


class State(TypedDict):
    """The conversation so far; every node adds to it."""

    messages: Annotated[list[Any], operator.add]


def build_graph(tools: Client, model: str) -> Any:
    """Connect the three nodes: the page, the model, and the tools that it calls."""
    client = AsyncOpenAI()

    async def weave(state: State) -> State:
        question = state["messages"][-1]["content"]
        page = await tools.call_tool("context", {"topic": question, "max_tokens": PAGE_TOKENS})
        return {"messages": [{"role": "system", "content": f"{INSTRUCTIONS}\n\n{text_of(page)}"}]}

    async def think(state: State) -> State:
        offered = [describe(tool) for tool in (await tools.list_tools()).tools if tool.name == "search"]
        reply = await client.chat.completions.create(model=model, messages=state["messages"], tools=offered)
        return {"messages": [reply.choices[0].message.model_dump(exclude_none=True)]}

    async def act(state: State) -> State:
        results = []
        for call in state["messages"][-1]["tool_calls"]:
            found = await tools.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
            results.append({"role": "tool", "tool_call_id": call["id"], "content": text_of(found)})
        return {"messages": results}

    graph = StateGraph(State)
    graph.add_node("weave", weave)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "weave")
    graph.add_edge("weave", "think")
    graph.add_conditional_edges("think", lambda state: "act" if state["messages"][-1].get("tool_calls") else END)
    graph.add_edge("act", "think")
    return graph.compile()


def text_of(result: Any) -> str:
    """Return the text of a tool's result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


def describe(tool: Any) -> Any:
    """Describe a tool of MCP as the API of OpenAI has it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    }


async def answer(question: str, model: str, store: str | None) -> str:
    """Run the graph over a Weft of its own."""
    weft = StdioServerParameters(
        command=sys.executable, args=["-m", "weft", "mcp", *(["--store", store] if store else [])]
    )
    async with Client(weft) as tools:
        end = await build_graph(tools, model).ainvoke({"messages": [{"role": "user", "content": question}]})
    return str(end["messages"][-1]["content"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question")
    parser.add_argument("--model", required=True)
    parser.add_argument("--store", help="the folder of the store; by default the nearest .weft/")
    options = parser.parse_args()
    print(asyncio.run(answer(options.question, options.model, options.store)))
