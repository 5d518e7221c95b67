from openai import OpenAI

from holdfast.wrap import remembering

client = remembering(OpenAI(), user="ada")

for said in ("My locker code is 4711.", "What is my locker code?"):
    answer = client.chat.completions.create(model="gpt-5", messages=[{"role": "user", "content": said}])
    print(answer.choices[0].message.content)
    client.flush_memory()  # only as both calls stand in one program: turns are kept in the background
