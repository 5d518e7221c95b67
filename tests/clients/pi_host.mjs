// As much of the pi coding agent as its extension sees. Steps come as JSON on stdin, what came of them goes to stdout.
import { register } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

register("./ts_loader.mjs", import.meta.url);
const { default: extension } = await import(pathToFileURL(process.argv[2]));

const handlers = {};
const tools = {};
const commands = {};
const shown = { status: [], notes: [] };
const ctx = {
  ui: {
    setStatus: (key, value) => shown.status.push([key, value]),
    notify: (message, level) => shown.notes.push([message, level]),
  },
  sessionManager: { getSessionFile: () => "/sessions/pi-session-1.jsonl" },
};

extension({
  on: (event, handler) => (handlers[event] = handler),
  registerTool: (tool) => (tools[tool.name] = tool),
  registerCommand: (name, command) => (commands[name] = command),
});

const perform = {
  emit: (name, event) => handlers[name](event, ctx),
  tool: (name, params) => tools[name].execute("call-1", params),
  command: (name, args) => commands[name].handler(args, ctx),
};

const results = [];
for (const [kind, name, given] of JSON.parse(await text(process.stdin))) {
  results.push((await perform[kind](name, given)) ?? null);
}
process.stdout.write(JSON.stringify({ results, shown, parameters: Object.values(tools).map((tool) => tool.parameters) }));
