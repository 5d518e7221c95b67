// What stands where nothing is yet: what this is, and what to do first.
import { html } from "../ui.js";
import { shortReason } from "./act.js";

export function Empty({ title, text, command, children }) {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${text && html`<p>${text}</p>`}
    ${command && html`<pre tabindex="0" aria-label=${title}><code>${command}</code></pre>`}
    ${children}
  </div>`;
}

// A failed load: why, and a button to try again.
export function Failed({ error, say, retry }) {
  return html`<div class="empty failed" role="alert">
    <p>${shortReason(error, say)}</p>
    ${error.hint && html`<p class="faint">${error.hint}</p>`}
    ${retry && html`<button type="button" onClick=${retry}>${say("reload")}</button>`}
  </div>`;
}
