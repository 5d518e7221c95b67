// The frame around the panels: navigation, search, signing in, notices, keys. Starts the page.
import { makeApi, Refused } from "./api.js";
import { makeLive } from "./live.js";
import { Boundary } from "./parts/boundary.js";
import { Confirm } from "./parts/dialog.js";
import { Failed } from "./parts/empty.js";
import { Keys, watchKeys } from "./parts/keys.js";
import { Broken, Navigation, TopBar } from "./parts/frame.js";
import { Notices } from "./parts/notices.js";
import { SignIn } from "./parts/signin.js";
import { panelOf } from "./panels.js";
import { hashOf, routeOf } from "./router.js";
import { firstTheme, setTheme } from "./theme.js";
import { firstLanguage, keepLanguage, sayer } from "./words.js";
import { html, render, useCallback, useEffect, useMemo, useRef, useRetry, useState } from "./ui.js";

const NOTICE_MS = 6_000;

function App() {
  const [language, setLanguage] = useState(firstLanguage);
  const [theme, chooseTheme] = useState(firstTheme);
  const [route, setRoute] = useState(() => routeOf(location.hash));
  const [phase, setPhase] = useState("starting"); // starting, signin, open, failed
  const [failure, setFailure] = useState(null);
  const [secured, setSecured] = useState(false);
  const [question, setQuestion] = useState(null);
  const [notices, tell, dismiss] = useNotices();
  const [keys, setKeys] = useState(false);
  const say = useMemo(() => sayer(language), [language]);

  const signOut = useCallback(() => {
    wires.live.stop();
    wires.api.signOut();
    setPhase("signin");
  }, []);
  const wires = useMemo(() => {
    const onUnauthorized = () => signOut();
    const api = makeApi({ onUnauthorized });
    const check = () => api.get("/config/flags").catch(() => {});
    return { api, live: makeLive({ token: api.token, onUnauthorized, check }) };
  }, []);
  const { api, live } = wires;

  const open = useCallback(async () => {
    if (api.signedIn()) await api.get("/config/flags"); // a token that is not valid is noticed before anything is drawn
    await live.start();
    setPhase("open");
  }, []);
  const start = useCallback(async () => {
    setPhase("starting");
    try {
      const needed = await api.needsSignIn();
      setSecured(needed);
      if (needed && !api.signedIn()) setPhase("signin");
      else await open();
    } catch (error) {
      if (error.status === 401) return;
      setFailure(error);
      setPhase("failed");
    }
  }, []);
  useEffect(() => {
    start();
  }, []);
  useRetry(phase === "failed" && failure, start);

  const go = useCallback((name, params = {}, { replace = false } = {}) => {
    const hash = hashOf(name, params);
    if (replace) {
      history.replaceState(null, "", hash);
      setRoute(routeOf(hash));
    } else location.hash = hash;
  }, []);
  useEffect(() => {
    const changed = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  useEffect(() => watchKeys({ go, showKeys: () => setKeys(true) }), []);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : language;
    keepLanguage(language);
  }, [language]);
  useEffect(() => setTheme(theme), [theme]);
  useEffect(() => {
    document.title = phase === "open" && panelOf(route.name) ? `${say(route.name)} · Holdfast` : "Holdfast";
  }, [route.name, say, phase]);

  const ask = useCallback((about) => new Promise((answer) => setQuestion({ ...about, answer })), []);
  const answered = (yes) => {
    question.answer(yes);
    setQuestion(null);
  };
  const settings = { language, setLanguage, theme, chooseTheme };
  return html`
    ${phase === "open"
      ? html`<a class="skip" href="#main" onClick=${skip}>${say("skip")}</a>
        <${TopBar} ...${{ say, live, go, route, settings, showKeys: () => setKeys(true), signOut: secured ? signOut : null }} />
        <${Broken} say=${say} live=${live} />
        <div class="frame">
          <${Navigation} say=${say} current=${route.name} />
          <main id="main" tabindex="-1" aria-label=${panelOf(route.name) ? say(route.name) : say("product")}>
            <${Boundary} key=${route.name} say=${say}>
              <${Opened} ...${{ name: route.name, params: route.params, language, say, api, live, go, ask, tell }} />
            <//>
          </main>
        </div>`
      : html`<${Outside} ...${{ phase, say, api, open, settings, failure, retry: start }} />`}
    ${question && html`<${Confirm} ...${question} say=${say} onAnswer=${answered} />`}
    ${keys && html`<${Keys} say=${say} onClose=${() => setKeys(false)} />`}
    <${Notices} notices=${notices} dismiss=${dismiss} say=${say} />`;
}

function Outside({ phase, say, api, open, settings, failure, retry }) {
  if (phase === "signin") return html`<${SignIn} ...${{ say, api, open, settings }} />`;
  return html`<main class="outside">
    ${phase === "failed" ? html`<${Failed} error=${failure} say=${say} retry=${retry} />` : html`<p class="faint" role="status">${say("loading")}</p>`}
  </main>`;
}

// Files that do not come are like a server that does not answer: they are asked for again.
async function loadPanel(name) {
  try {
    const [panel, words] = await Promise.all([import(`./panels/${name}.js`), import(`./words/${name}.js`)]);
    return { panel: panel.default, words: words.default };
  } catch (error) {
    throw error instanceof TypeError ? new Refused(0, {}) : error;
  }
}

// A panel and its words, loaded when it is first opened.
function Opened({ name, language, say, ...given }) {
  const [loaded, setLoaded] = useState(null);
  const [failure, setFailure] = useState(null);
  const panelNode = useRef(null);
  const load = useCallback(() => {
    if (panelOf(name)) loadPanel(name).then(setLoaded, setFailure);
  }, [name]);
  useEffect(load, [load]);
  useRetry(failure, load);
  const own = useMemo(() => loaded && sayer(language, loaded.words), [loaded, language]);
  if (!panelOf(name)) return html`<div class="empty"><h2>${say("noSuchPanel")}</h2></div>`;
  if (failure && !loaded) return html`<${Failed} error=${failure} say=${say} retry=${load} />`;
  if (!loaded) return html`<p class="faint waiting" role="status">${say("loading")}</p>`;
  return html`<section class=${`panel ${name}`} ref=${panelNode}><${loaded.panel.Panel} ...${given} say=${own} /></section>`;
}

function useNotices() {
  const [notices, setNotices] = useState([]);
  const count = useRef(0);
  const dismiss = useCallback((id) => setNotices((all) => all.filter((one) => one.id !== id)), []);
  const tell = useCallback((text, kind = "good") => {
    const id = ++count.current;
    setNotices((all) => [...all.slice(-3), { id, text: String(text), kind }]);
    if (kind !== "bad") setTimeout(() => dismiss(id), NOTICE_MS);
  }, []);
  return [notices, tell, dismiss];
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

const first = routeOf(location.hash).name;
if (panelOf(first)) loadPanel(first).catch(() => {}); // while the page signs in; a failure is told when it is opened
render(html`<${App} />`, document.getElementById("app"));
