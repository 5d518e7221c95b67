// As much of OpenCode as its plugin sees. Hook calls come as JSON on stdin; their arguments, which hooks change, go back.
import { register } from "node:module";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

register("./ts_loader.mjs", import.meta.url);
const { AgentmemoryCapturePlugin } = await import(pathToFileURL(process.argv[2]));
const hooks = await AgentmemoryCapturePlugin({ worktree: process.cwd(), directory: process.cwd(), project: { id: "p" } });

const calls = JSON.parse(await text(process.stdin));
for (const [hook, ...given] of calls) await hooks[hook](...given);
process.stdout.write(JSON.stringify(calls.map(([, ...given]) => given)));
