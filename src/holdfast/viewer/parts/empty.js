// What stands where nothing is yet: what this is, and what to do first.
import { html } from "../ui.js";

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
  const why = error.status === 0 ? say("unreachable") : error.status === 403 ? say("forbidden") : say("failed", { why: error.message });
  return html`<div class="empty failed" role="alert">
    <p>${why}</p>
    ${error.hint && html`<p class="faint">${error.hint}</p>`}
    ${retry && html`<button type="button" onClick=${retry}>${say("reload")}</button>`}
  </div>`;
}
