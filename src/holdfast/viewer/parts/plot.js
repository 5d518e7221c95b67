// A plot over time by uPlot, in the colours of the theme, with its values as a table for those who cannot see it.
import { html, useEffect, useRef, useState } from "../ui.js";

const COLOURS = ["--plot-1", "--plot-2", "--plot-3", "--plot-4"];
let library = null;
// Null if it does not come: the values stand in the table, and with the next ones it is asked for again.
const load = () => (library ||= import("../vendor/uplot.js").then((module) => module.default, () => (library = null)));

// Days are those of UTC, as the server counts them: west of Greenwich their midnights lie on the day before.
const DAYS = { timeZone: "UTC" };

// series: [{label, values, area?}]; labels: the times in seconds, ascending; height in px.
export function Plot({ series, labels, height = 220, label, say }) {
  const box = useRef(null);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const changed = () => setTheme((count) => count + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const watch = new MutationObserver(changed);
    watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    dark.addEventListener("change", changed);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", changed);
    };
  }, []);
  useEffect(() => {
    let plot = null;
    let gone = false;
    const observer = new ResizeObserver(([entry]) => plot && plot.setSize({ width: entry.contentRect.width, height }));
    load().then((UPlot) => {
      if (!UPlot || gone || !box.current) return;
      plot = new UPlot({ ...options(series, box.current.clientWidth, height, say), tzDate: (at) => UPlot.tzDate(new Date(at * 1000), "Etc/UTC") }, [labels, ...series.map((one) => one.values)], box.current);
      observer.observe(box.current);
    });
    return () => {
      gone = true;
      observer.disconnect();
      if (plot) plot.destroy();
    };
  }, [series, labels, height, theme, say.language]);
  return html`<figure class="plot" aria-label=${label}>
    <div ref=${box} aria-hidden="true" style=${{ minHeight: `${height}px` }}></div>
    <details>
      <summary>${say("values")}</summary>
      <${Values} series=${series} labels=${labels} say=${say} />
    </details>
  </figure>`;
}

function Values({ series, labels, say }) {
  const day = (at) => new Date(at * 1000).toLocaleDateString(say.language, DAYS);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${say("values")}><table>
    <thead><tr><th scope="col">${say("day")}</th>${series.map((one) => html`<th scope="col" class="end">${one.label}</th>`)}</tr></thead>
    <tbody>${labels.map((at, index) => html`<tr key=${at}><th scope="row">${day(at)}</th>
      ${series.map((one) => html`<td class="end">${one.values[index]}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

function options(series, width, height, say) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const whole = (_, values) => values.map((value) => (Number.isInteger(value) ? value.toLocaleString(say.language) : ""));
  const short = (_, values) => values.map((at) => new Date(at * 1000).toLocaleDateString(say.language, { ...DAYS, month: "short", day: "numeric" }));
  return {
    width,
    height,
    padding: [10, 12, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { live: true },
    scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high * 1.08)] } },
    axes: [{ ...axis, values: short, space: 70 }, { ...axis, values: whole, size: 56 }],
    series: [
      { label: say("day"), value: (_, at) => (at ? new Date(at * 1000).toLocaleDateString(say.language, DAYS) : "–") },
      ...series.map((one, index) => ({
        label: one.label,
        stroke: colour(COLOURS[index % COLOURS.length]),
        fill: one.area ? `${colour(COLOURS[index % COLOURS.length])}22` : undefined,
        width: 2,
        points: { show: false },
        value: (_, value) => (value === null || value === undefined ? "–" : value.toLocaleString(say.language)),
      })),
    ],
  };
}
