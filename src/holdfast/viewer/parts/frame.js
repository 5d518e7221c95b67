// The bar on top and the list of panels.
import { html, useEffect, useRef, useState } from "../ui.js";
import { PANELS } from "../panels.js";
import { hashOf } from "../router.js";
import { THEMES } from "../theme.js";
import { LANGUAGES } from "../words.js";

const TYPING_MS = 250;

export function Icon({ path, size = 18 }) {
  return html`<svg class="icon" viewBox="0 0 24 24" width=${size} height=${size} aria-hidden="true" fill="none" stroke="currentColor"
    stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d=${path} /></svg>`;
}

export function TopBar({ say, live, go, route, settings, showKeys, signOut }) {
  return html`<header class="top">
    <a class="brand" href="#/dashboard" aria-label=${say("product")}><img src="/viewer/icon.svg" alt="" width="26" height="26" /><span>${say("product")}</span></a>
    <${Search} say=${say} go=${go} route=${route} />
    <${LiveState} say=${say} live=${live} />
    <div class="choices">
      <${Choices} say=${say} settings=${settings} />
      <button type="button" class="quiet" onClick=${showKeys} aria-label=${say("keys")} title=${say("keys")}>?</button>
      ${signOut && html`<button type="button" class="quiet" onClick=${signOut}>${say("signOut")}</button>`}
    </div>
  </header>`;
}

function Search({ say, go, route }) {
  const here = route.name === "memories";
  const asked = here ? route.params.q || "" : "";
  const [value, setValue] = useState(asked);
  const timer = useRef(0);
  const box = useRef(null);
  useEffect(() => {
    // What is being typed is ahead of the address.
    if (document.activeElement !== box.current || asked === "") setValue(asked);
  }, [asked]);
  const seek = (query, replace) => {
    clearTimeout(timer.current);
    go("memories", { ...(here ? route.params : {}), q: query.trim(), id: undefined }, { replace });
  };
  const typed = (event) => {
    const query = event.target.value;
    setValue(query);
    clearTimeout(timer.current);
    if (here) timer.current = setTimeout(() => seek(query, true), TYPING_MS);
  };
  // Out of the field without a mouse: to the hits, or back to where letters are keys again.
  const left = (event) => {
    const to = { ArrowDown: ".list", Escape: "#main" }[event.key];
    if (!to || (event.key === "Escape" && value)) return; // a first Escape empties the field
    event.preventDefault();
    document.querySelector(to)?.focus();
  };
  return html`<form class="search" role="search" onSubmit=${(event) => { event.preventDefault(); seek(value, false); }}>
    <${Icon} path="M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4" />
    <input ref=${box} id="search" type="search" value=${value} onInput=${typed} onKeyDown=${left} placeholder=${say("searchHint")} aria-label=${say("search")}
      autocomplete="off" spellcheck=${false} />
    <kbd aria-hidden="true">/</kbd>
  </form>`;
}

const LIVE_WORDS = { on: "liveOn", connecting: "liveConnecting", waiting: "liveWaiting", off: "liveOff" };

function LiveState({ say, live }) {
  const [state, setState] = useState("off");
  useEffect(() => live.onState(setState), [live]);
  const text = say(LIVE_WORDS[state]);
  return html`<span class=${`live ${state}`} role="status" title=${text}><i aria-hidden="true"></i><span>${text}</span></span>`;
}

// A line below the bar that nobody can miss: what is shown may be old, and what happens about it.
export function Broken({ say, live }) {
  const [state, setState] = useState("on");
  useEffect(() => live.onState(setState), [live]);
  return html`<div role="status">${state === "waiting" && html`<p class="banner">${say("brokenText")}</p>`}</div>`;
}

export function Choices({ say, settings }) {
  const { language, setLanguage, theme, chooseTheme } = settings;
  const names = { auto: say("themeAuto"), light: say("themeLight"), dark: say("themeDark") };
  return html`
    <select class="quiet" aria-label=${say("language")} value=${language} onChange=${(event) => setLanguage(event.target.value)}>
      ${Object.entries(LANGUAGES).map(([code, name]) => html`<option key=${code} value=${code} selected=${code === language}>${name}</option>`)}
    </select>
    <select class="quiet" aria-label=${say("theme")} value=${theme} onChange=${(event) => chooseTheme(event.target.value)}>
      ${THEMES.map((one) => html`<option key=${one} value=${one} selected=${one === theme}>${names[one]}</option>`)}
    </select>`;
}

export function Navigation({ say, current }) {
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const links = [...event.currentTarget.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    links[(at + step + links.length) % links.length].focus();
  };
  const strip = useRef(null);
  useEffect(() => {
    // On a phone the panels are a strip; the current one may be beyond its edge.
    strip.current.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [current]);
  return html`<nav ref=${strip} aria-label=${say("navigation")} onKeyDown=${onKeyDown}>
    ${PANELS.map((panel) => html`<a key=${panel.name} href=${hashOf(panel.name)} aria-current=${panel.name === current ? "page" : undefined}
      title=${`g ${panel.key}`}><${Icon} path=${panel.icon} /><span>${say(panel.name)}</span></a>`)}
  </nav>`;
}
