// A field that filters: taken when it is left, when Enter is pressed or when something offered is chosen, so that a list is
// not asked for each letter.
import { html, useEffect, useState } from "../ui.js";
import { ProjectField } from "./projects.js";

export function Filter({ name, hint, value, projects, onSet }) {
  const [text, setText] = useState(value || "");
  useEffect(() => setText(value || ""), [value]);
  const take = (taken = text) => taken.trim() !== (value || "") && onSet(taken.trim());
  const typed = (event) => {
    setText(event.target.value);
    if (projects && projects.includes(event.target.value)) take(event.target.value);
  };
  return html`<${ProjectField} projects=${projects || []} class="filter" value=${text} aria-label=${name} title=${hint || name} placeholder=${name}
    onInput=${typed} onBlur=${() => take()} onKeyDown=${(event) => event.key === "Enter" && take()} />`;
}
