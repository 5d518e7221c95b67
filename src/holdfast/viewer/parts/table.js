// A plain table, for tens of rows. columns: {name, title, cell(row) -> what to draw, align?: "end"}.
import { html } from "../ui.js";

export function Table({ columns, rows, keyOf, label }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${columns.map((one) => html`<th key=${one.name} scope="col" class=${one.align || ""}>${one.title}</th>`)}</tr></thead>
      <tbody>
        ${rows.map((row, index) => html`<tr key=${keyOf ? keyOf(row) : index}>
          ${columns.map((one) => html`<td key=${one.name} class=${one.align || ""}>${one.cell(row)}</td>`)}
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}
