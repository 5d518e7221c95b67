// Times: how long ago, with the exact moment in the title and for machines.
import { html, useEffect, useState } from "../ui.js";

const STEPS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

export function ago(value, say, now = Date.now()) {
  const at = new Date(value).getTime();
  if (!value || Number.isNaN(at)) return say("never");
  const seconds = Math.round((at - now) / 1000);
  const step = STEPS.find(([, size]) => Math.abs(seconds) >= size);
  if (!step) return say("justNow");
  return new Intl.RelativeTimeFormat(say.language, { numeric: "auto", style: "short" }).format(Math.trunc(seconds / step[1]), step[0]);
}

export function moment(value, say) {
  const at = new Date(value);
  if (!value || Number.isNaN(at.getTime())) return say("never");
  return at.toLocaleString(say.language, { dateStyle: "medium", timeStyle: "medium" });
}

export function clock(value, say) {
  const at = new Date(value);
  return Number.isNaN(at.getTime()) ? "" : at.toLocaleTimeString(say.language);
}

// `exact` shows the moment itself, else how long ago it was, kept current.
export function Time({ value, say, exact = false }) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (exact) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), 30_000);
    return () => clearInterval(timer);
  }, [exact]);
  const whole = moment(value, say);
  if (!value) return html`<span class="faint">${whole}</span>`;
  return html`<time datetime=${value} title=${whole}>${exact ? whole : ago(value, say)}</time>`;
}
