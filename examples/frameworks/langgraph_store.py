from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from holdfast import Holdfast
from holdfast.integrations.langgraph_store import HoldfastStore


def greet(state: MessagesState, *, store: BaseStore) -> dict:
    store.put(("users", "ada"), "drink", {"text": "Ada likes green tea"})
    found = store.search(("users", "ada"), query="what does she drink?")
    return {"messages": [("ai", found[0].value["text"])]}


with Holdfast() as memory:
    graph = StateGraph(MessagesState).add_node("greet", greet).add_edge(START, "greet").add_edge("greet", END)
    print(graph.compile(store=HoldfastStore(memory)).invoke({"messages": []})["messages"][-1].content)
