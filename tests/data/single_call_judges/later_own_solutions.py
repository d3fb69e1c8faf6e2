import anthropic, json
c = anthropic.Anthropic()
GEN = "claude-sonnet-4-5"

def gen(task):
    return c.messages.create(model=GEN, max_tokens=900, messages=[{"role": "user", "content": task}]).content[0].text

def check(task, solution):
    p = f"Task: {task}\nSolution: {solution}\nIs the solution correct? Reply as JSON with a boolean field `correct`."
    out = c.messages.create(model=GEN, max_tokens=200, messages=[{"role": "user", "content": p}])  # expect: JH002, JH009
    return json.loads(out.content[0].text)["correct"]

def solve(tasks):
    good = [t for t in tasks if check(t, gen(t))]
    print(f"solved {len(good)}/{len(tasks)}")
