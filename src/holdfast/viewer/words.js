// The texts of the page in the chosen language. A missing word is an error of ours; its key is shown then.
import frame from "./words/frame.js";

const KEY = "holdfast.language";
export const LANGUAGES = { en: "English", zh: "中文" };

export function firstLanguage() {
  const kept = localStorage.getItem(KEY);
  if (kept in LANGUAGES) return kept;
  return (navigator.languages || []).some((one) => one.toLowerCase().startsWith("zh")) &&
    !(navigator.language || "").toLowerCase().startsWith("en")
    ? "zh"
    : "en";
}

export function keepLanguage(language) {
  localStorage.setItem(KEY, language);
}

// say(key, values): `{name}` in a text stands for values.name. "one" and "many" of a key are chosen by values.count.
export function sayer(language, words = {}) {
  const own = words[language] || {};
  const shared = frame[language];
  const say = (key, values = {}) => {
    const text = own[key] ?? shared[key];
    if (text === undefined) return key;
    const chosen = typeof text === "string" ? text : Number(values.count) === 1 ? text.one : text.many;
    return chosen.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? shown(values[name], say.language) : whole));
  };
  say.language = (navigator.languages || []).find((one) => one.toLowerCase().startsWith(language)) || language; // for dates and numbers
  return say;
}

function shown(value, language) {
  return typeof value === "number" ? value.toLocaleString(language) : String(value);
}
