// Prints the tools that the installed package declares: name and input schema. Its files have hashed names, and its
// exports letters for names, so that the list is looked for among all of them.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const dist = process.argv[2];
const file = readdirSync(dist).find((name) => name.startsWith("tools-registry-") && name.endsWith(".mjs"));
const exported = await import(pathToFileURL(join(dist, file)));
const lists = Object.values(exported)
  .filter((one) => typeof one === "function" && one.length === 0)
  .map((one) => {
    try {
      return one();
    } catch {
      return null;
    }
  })
  .filter((one) => Array.isArray(one) && one[0]?.inputSchema);
console.log(JSON.stringify(lists.sort((a, b) => b.length - a.length)[0]));
