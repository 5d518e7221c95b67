from holdfast import Holdfast
from holdfast.integrations.langchain_retriever import HoldfastRetriever
from holdfast.user_memory import UserMemory

with Holdfast() as memory:
    UserMemory(memory, "ada").keep("Ada uses Emacs as her editor")
    retriever = HoldfastRetriever(memory=memory, user="ada", k=3)
    for document in retriever.invoke("which editor does she use?"):
        print(document.page_content)
