// What every part and panel draws with: preact, its hooks, htm, and a few hooks of our own.
import { Component, Fragment, h, render } from "./vendor/preact.js";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Component, Fragment, render, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState };

// Loads data: {data, error, loading, reload}. An answer that was overtaken by a later question is dropped, and the
// data stays in view while it is loaded anew.
export function useLoad(load, inputs) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const turn = useRef(0);
  const reload = useCallback(() => {
    const mine = ++turn.current;
    setState((old) => ({ ...old, loading: true }));
    return load().then(
      (data) => mine === turn.current && setState({ data, error: null, loading: false }),
      (error) => mine === turn.current && setState((old) => ({ data: old.data, error, loading: false })),
    );
  }, inputs);
  useEffect(() => {
    reload();
    return () => turn.current++;
  }, [reload]);
  useRetry(state.error, reload);
  return { ...state, reload };
}

const RETRY_MS = 3_000;

// While the server does not answer, the question is put again and again; whoever asked need not do anything.
export function useRetry(error, again) {
  useEffect(() => {
    if (!error || error.status !== 0) return undefined;
    const timer = setTimeout(again, RETRY_MS);
    return () => clearTimeout(timer);
  }, [error, again]);
}

// After these events nothing that is shown can be believed any more: events were missed, or another memory is live.
export const isAnew = (event) => event.type === "gap" || event.type === "snapshot_restored";

// Calls back for each live event while the component is shown.
export function useLive(live, fn) {
  const latest = useRef(fn);
  latest.current = fn;
  useEffect(() => live.on((event) => latest.current(event)), [live]);
}

// Calls `fn` soon after the last of many calls, and at most every `ms`: a burst of events is one reload.
export function useSoon(fn, ms = 300) {
  const latest = useRef(fn);
  const timer = useRef(0);
  latest.current = fn;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    if (timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, ms);
  }, [ms]);
}

// A value that follows another once it stands still: what is typed becomes a query.
export function useSettled(value, ms = 200) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
