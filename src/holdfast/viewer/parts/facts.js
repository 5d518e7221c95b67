// Names and values; those without a value are left out. rows: [key of the name, value].
import { html } from "../ui.js";

export function Facts({ rows, say }) {
  return html`<dl class="facts">${rows.filter(([, value]) => value).map(([name, value]) => html`<dt key=${name}>${say(name)}</dt><dd>${value}</dd>`)}</dl>`;
}
