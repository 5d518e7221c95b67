// Lets node import the clients' TypeScript as their hosts do: types are dropped, nothing is checked.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const { transform } = createRequire(new URL("../../.tools/npm/package.json", import.meta.url))("sucrase");
const onlyTypes = { transforms: ["typescript"], disableESTransforms: true };

export function resolve(specifier, context, next) {
  // TypeScript imports by the name a file will have once compiled.
  const compiled = context.parentURL?.endsWith(".ts") && /^\.\.?\/.*\.js$/.test(specifier);
  return next(compiled ? specifier.replace(/\.js$/, ".ts") : specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const source = await readFile(new URL(url), "utf8");
  return { format: "module", shortCircuit: true, source: transform(source, onlyTypes).code };
}
