// A list and what is open of it, side by side; on a phone one takes the place of the other.
import { html } from "../ui.js";
import { Failed } from "./empty.js";

// pages: of usePages; nothing: what stands where the list is empty; opened: what stands on the right, null for `hint`.
export function Split({ pages, nothing, opened, hint, say, children }) {
  // While the server is away, what was loaded stays in view; the banner says so.
  if (pages.error && (pages.error.status !== 0 || !pages.rows.length)) return html`<${Failed} error=${pages.error} say=${say} retry=${pages.reload} />`;
  return html`<div class=${`split ${opened ? "open" : ""}`}>
    <div class="card pane">${!pages.rows.length && !pages.loading ? nothing : children}</div>
    <div class="card pane reading">${opened || html`<div class="empty"><p>${hint}</p></div>`}</div>
  </div>`;
}
