// A field that filters: taken when it is left or Enter is pressed, so that a list is not asked for each letter.
import { html, useEffect, useState } from "../ui.js";

export function Filter({ name, hint, value, onSet }) {
  const [text, setText] = useState(value || "");
  useEffect(() => setText(value || ""), [value]);
  const take = () => text.trim() !== (value || "") && onSet(text.trim());
  return html`<input class="filter" value=${text} aria-label=${name} title=${hint || name} placeholder=${name} onInput=${(event) => setText(event.target.value)}
    onBlur=${take} onKeyDown=${(event) => event.key === "Enter" && take()} />`;
}
