// Stored text, always as a text node. Values that are no text are written as JSON: an object from the server must
// never reach the renderer as a child.
import { html } from "../ui.js";

export function textOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

// What a type or table of ours is called in the language of the page; what agents made up themselves stays as it is.
export function nameIn(say, prefix, value) {
  const key = `${prefix}_${textOf(value)}`;
  const said = say(key);
  return said === key ? textOf(value) : said;
}

export const typeName = (type, say) => nameIn(say, "type", type);

// A run of text in a line.
export function Text({ value, kind = "" }) {
  return html`<bdi class=${kind}>${textOf(value)}</bdi>`;
}

// A block of text with its line breaks; `code` in a fixed-width font.
export function Block({ value, code = false, label, marked }) {
  const kind = code ? "block code" : "block";
  return html`<div class=${kind} dir="auto" tabindex=${code ? 0 : undefined} role=${code ? "region" : undefined}
    aria-label=${code ? label : undefined}>${marked ? inThree(textOf(value), marked) : textOf(value)}</div>`;
}

// A text with the part from `start` to `end` marked. The server counts whole characters, a string here their halves.
function inThree(text, { start, end }) {
  const chars = Array.from(text);
  if (!(end > start) || (start === 0 && end >= chars.length)) return text;
  const part = (from, to) => chars.slice(from, to).join("");
  return [part(0, start), html`<mark class="passage">${part(start, end)}</mark>`, part(end)];
}

// Short labels such as concepts and files.
export function Tags({ values, onOpen }) {
  const texts = (Array.isArray(values) ? values : []).map(textOf);
  if (!texts.length) return null;
  return html`<ul class="tags">
    ${texts.map((text) => html`<li key=${text}>
      ${onOpen ? html`<button type="button" class="tag" onClick=${() => onOpen(text)}>${text}</button>` : html`<span class="tag">${text}</span>`}
    </li>`)}
  </ul>`;
}
