// Live events over one WebSocket. The server numbers events; after a break this asks for everything past the last
// number it saw. Where the server no longer has it, listeners get {type: "gap"} and load their data anew.
const PATH = "/stream/mem-live/viewer";
const PROTOCOL = "holdfast.live";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const UNAUTHORIZED = 1008;

// `check` asks the server for something small: a socket that is refused does not say why, an answer does.
export function makeLive({ token, onUnauthorized, check }) {
  const listeners = new Set();
  const watchers = new Set();
  let socket = null;
  let place = "";
  let wait = FIRST_WAIT;
  let timer = 0;
  let state = "off";
  let ready = () => {};

  const tell = (event) => [...listeners].forEach((listener) => listener(event));
  const become = (next) => {
    state = next;
    [...watchers].forEach((watcher) => watcher(next));
  };

  function open() {
    clearTimeout(timer);
    const url = new URL(PATH, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.searchParams.set("since", place);
    const opened = new WebSocket(url, token() ? [PROTOCOL, bearer(token())] : [PROTOCOL]);
    socket = opened;
    if (state !== "waiting") become("connecting");
    opened.onmessage = (message) => opened === socket && take(JSON.parse(message.data));
    opened.onclose = (closed) => opened === socket && lost(closed);
  }

  function take(event) {
    const first = place === "";
    if (event.place) place = event.place;
    if (event.type === "hello" || event.type === "gap") {
      wait = FIRST_WAIT;
      socket.greeted = true;
      become("on");
      ready(first);
      if (event.type === "gap" && !first) tell({ type: "gap" });
      return;
    }
    tell(event);
  }

  function lost(closed) {
    const refused = socket.greeted !== true;
    socket = null;
    if (refused && token()) check();
    if (closed.code === UNAUTHORIZED) {
      become("off");
      onUnauthorized();
      return;
    }
    become("waiting");
    // Spread over half of the time, so that all pages do not come back at once.
    timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }

  return {
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onState(watcher) {
      watchers.add(watcher);
      watcher(state);
      return () => watchers.delete(watcher);
    },
    // Resolves once events are followed, or after `patience`: a panel that loads its data then misses none. A socket
    // that is later than that tells of a gap.
    start(patience = 1_000) {
      place = "";
      return new Promise((done) => {
        let late = false;
        const giveUp = setTimeout(() => {
          late = true;
          done();
        }, patience);
        ready = (first) => {
          ready = () => {};
          clearTimeout(giveUp);
          if (late && first) tell({ type: "gap" });
          done();
        };
        open();
      });
    },
    stop() {
      clearTimeout(timer);
      const closing = socket;
      socket = null;
      if (closing) closing.close();
      become("off");
    },
  };
}

// A sub-protocol is the one header a page can set on a socket; unlike a query it is in no log. Base64url, as a
// sub-protocol may hold only letters, digits and a few signs.
function bearer(token) {
  const bytes = new TextEncoder().encode(token);
  const text = btoa(String.fromCharCode(...bytes));
  return `bearer.${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}
