// Against a real server: HOLDFAST_URL, HOLDFAST_SECRET, and CLIENT, the compiled index.js.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, test } from "node:test";

const { CLIENT, HOLDFAST_URL: url, HOLDFAST_SECRET: token } = process.env;
const { Holdfast, HoldfastError, HoldfastTimeout, HoldfastUnreachable } = await import(CLIENT);
const memory = new Holdfast({ url, token });
const proxies = [];
after(() => proxies.forEach((one) => (one.closeAllConnections(), one.close())));

/** A server between client and Holdfast. `interfere` may answer instead, or see what is answered; it notes what it saw. */
async function between(interfere) {
  const seen = [];
  const proxy = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    seen.push({ method: request.method, path: request.url, headers: request.headers });
    const forward = () =>
      fetch(url + request.url, {
        method: request.method,
        headers: Object.fromEntries(
          ["authorization", "content-type", "idempotency-key"]
            .filter((name) => request.headers[name])
            .map((name) => [name, request.headers[name]]),
        ),
        body: parts.length ? Buffer.concat(parts) : undefined,
      });
    if (await interfere(seen.length, response, forward)) return;
    const answer = await forward();
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  proxies.push(proxy);
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const options = { url: `http://127.0.0.1:${proxy.address().port}`, token, pauseMs: 1 };
  return { seen, options, through: new Holdfast(options) };
}

const refusal = (status, extra = {}) => (_, response) => {
  response.writeHead(status, { "content-type": "application/json", ...extra.headers });
  response.end(JSON.stringify({ error: "no", code: "busy", hint: "wait", retryable: true, ...extra.body }));
  return true;
};

test("a fact is kept, found, part of a context, and forgotten", async () => {
  const kept = await memory.remember("The harbour lamp is lit at dusk", { project: "harbour", type: "decision" });
  assert.equal(kept.content, "The harbour lamp is lit at dusk");
  const [hit] = await memory.search("when is the lamp lit", { project: "harbour" });
  assert.equal(hit.id, kept.id);
  assert.match(await memory.context("harbour"), /lit at dusk/);
  assert.ok((await memory.forget(kept.id)) >= 1);
  assert.deepEqual(await memory.search("when is the lamp lit", { project: "harbour" }), []);
});

test("a batch has one result for each fact, also for one that cannot be kept", async () => {
  const results = await memory.rememberBatch([{ content: "The mole is closed in winter" }, { content: "" }]);
  assert.deepEqual(results.map((one) => one.success), [true, false]);
});

test("a session is begun, observed, listed and ended", async () => {
  await memory.sessions.start({ sessionId: "ts-1", project: "harbour", cwd: "/w" });
  const at = new Date().toISOString();
  const event = { sessionId: "ts-1", hookType: "user_prompt_submit", timestamp: at, data: { prompt: "Paint it white" } };
  assert.ok((await memory.observe(event)).observationId);
  assert.ok((await memory.sessions.list()).some((one) => one.id === "ts-1"));
  await memory.sessions.end("ts-1");
  assert.ok((await memory.sessions.forget("ts-1")) >= 1);
});

test("a snapshot is made, verified, searched, compared and removed", async () => {
  await memory.remember("Oil comes by barge on the first Monday");
  const { id } = await memory.snapshots.create({ label: "from TypeScript" });
  assert.equal((await memory.snapshots.verify(id)).sound, true);
  assert.equal((await memory.snapshots.search(id, "when does the oil come")).results.length, 1);
  assert.ok((await memory.snapshots.list()).some((one) => one.id === id));
  assert.ok(await memory.snapshots.show(id));
  const second = await memory.snapshots.create({ label: "another" });
  assert.ok(await memory.snapshots.diff({ a: id, b: second.id }));
  await assert.rejects(memory.snapshots.restore({ id }), { code: "invalid" });
  assert.ok((await memory.snapshots.restore({ id, yes: true })).success);
  assert.equal((await memory.snapshots.delete(second.id)).success, true);
});

test("every other operation is called by its name", async () => {
  const { lesson } = await memory.call("lesson_save", { content: "Trim the wick before the storm" });
  assert.match(lesson.content, /wick/);
  assert.equal((await memory.call("memories", { limit: 1 })).memories.length, 1);
});

test("what the server refuses has its code, hint and status, and is not sent again", async () => {
  const { seen, through } = await between(() => false);
  await assert.rejects(through.call("memory", { id: "no/such memory?" }), (error) => {
    assert.ok(error instanceof HoldfastError);
    assert.deepEqual([error.code, error.status, error.retryable], ["not_found", 404, false]);
    return error.hint.length > 0;
  });
  assert.deepEqual(seen.map((one) => one.path), ["/agentmemory/memories/no%2Fsuch%20memory%3F"]);
  await assert.rejects(new Holdfast({ url, token: "wrong" }).search("x"), { code: "unauthorized", status: 401 });
});

test("no argument leads to another path", async () => {
  for (const id of ["", ".", ".."]) await assert.rejects(memory.call("memory", { id }), TypeError);
});

test("a write whose answer was lost is sent again under its key and carried out once", async () => {
  const { seen, through } = await between(async (number, response, forward) => {
    if (number > 1) return false;
    await (await forward()).text();
    response.destroy();
    return true;
  });
  const kept = await through.remember("The third key is with the harbour master");
  assert.equal(kept.version, 1);
  assert.equal(new Set(seen.map((one) => one.headers["idempotency-key"])).size, 1);
  assert.equal(seen.length, 2);
});

test("each write has a key of its own, or the caller's", async () => {
  const { seen, through } = await between(() => false);
  await through.remember("One key");
  await through.remember("Another key", {}, { idempotencyKey: "mine" });
  await through.search("key");
  const keys = seen.map((one) => one.headers["idempotency-key"]);
  assert.ok(keys[0] && keys[0] !== "mine");
  assert.deepEqual(keys.slice(1), ["mine", undefined]);
});

test("a failure that passes is tried again, so often and no more", async () => {
  const busy = refusal(503);
  const { seen, through } = await between((number, ...rest) => number < 3 && busy(number, ...rest));
  assert.ok(Array.isArray(await through.search("lamp")));
  assert.equal(seen.length, 3);
  const never = await between(busy);
  await assert.rejects(never.through.search("lamp"), { code: "busy", status: 503 });
  assert.equal(never.seen.length, 4);
});

test("a page of a proxy is an error with its status", async () => {
  const { options } = await between((_, response) => response.writeHead(200).end("<html>sign in</html>"));
  await assert.rejects(new Holdfast({ ...options, attempts: 1 }).search("x"), { code: "unknown", status: 200 });
});

test("the token does not follow a redirect", async () => {
  const other = await between(() => false);
  const { options } = await between((_, response) => response.writeHead(307, { location: other.options.url }).end());
  await assert.rejects(new Holdfast({ ...options, attempts: 1 }).search("x"), HoldfastUnreachable);
  assert.deepEqual(other.seen, []);
});

test("nobody there, and nobody who answers", async () => {
  await assert.rejects(new Holdfast({ url: "http://127.0.0.1:9", attempts: 1 }).search("x"), HoldfastUnreachable);
  const { options } = await between(() => true);
  await assert.rejects(new Holdfast({ ...options, attempts: 1, timeoutMs: 20 }).search("x"), HoldfastTimeout);
  assert.throws(() => new Holdfast({ url: "file:///etc/passwd" }), TypeError);
});

test("a signal ends a call, before it, while it waits for an answer, and between attempts", async () => {
  const reason = new Error("enough");
  await assert.rejects(memory.search("x", {}, { signal: AbortSignal.abort(reason) }), reason);
  const asking = new AbortController();
  const silent = await between(() => (asking.abort(reason), true));
  await assert.rejects(silent.through.search("x", {}, { signal: asking.signal }), reason);
  const pausing = new AbortController();
  const busy = refusal(503, { body: { retryAfter: 3_600 } });
  const { through, seen } = await between((number, response) => {
    response.on("finish", () => setImmediate(() => pausing.abort(reason)));
    return busy(number, response);
  });
  await assert.rejects(through.search("x", {}, { signal: pausing.signal }), reason);
  assert.equal(seen.length, 1);
});

test("events come as they happen and go on from a place", async () => {
  const stop = new AbortController();
  const events = memory.events({ signal: stop.signal });
  assert.equal((await events.next()).value.type, "hello");
  const kept = await memory.remember("Gulls nest under the eastern gallery");
  const first = (await events.next()).value;
  assert.equal(first.type, "memory");
  stop.abort();
  assert.equal((await events.next()).done, true);
  await memory.remember("Ships greet with two short blasts");
  const later = memory.events({ since: first.place });
  const missed = (await later.next()).value;
  assert.equal(missed.type, "memory");
  await later.return();
  assert.ok(kept.id);
});
