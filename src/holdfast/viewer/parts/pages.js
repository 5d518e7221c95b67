// A long list that is fetched in pages as it is scrolled.
import { useCallback, useEffect, useRef, useState } from "../ui.js";

// fetchPage(offset) -> {rows, total}. {rows, total, error, loading, more, reload}: `more` fetches the next page, and
// `reload` begins again with as many rows as were shown, so that nothing jumps.
export function usePages(fetchPage, inputs) {
  const [state, setState] = useState({ rows: [], total: 0, error: null, loading: true });
  const turn = useRef(0);
  const busy = useRef(false);
  const held = useRef(state);
  held.current = state;

  const load = useCallback(async (offset, keep) => {
    const mine = ++turn.current;
    busy.current = true;
    try {
      const page = await fetchPage(offset);
      if (mine !== turn.current) return;
      const before = keep ? held.current.rows.slice(0, offset) : [];
      setState({ rows: [...before, ...page.rows], total: page.total, error: null, loading: false });
    } catch (error) {
      if (mine === turn.current) setState((old) => ({ ...old, error, loading: false }));
    } finally {
      if (mine === turn.current) busy.current = false;
    }
  }, inputs);
  useEffect(() => {
    setState((old) => ({ ...old, loading: true }));
    load(0, false);
    return () => turn.current++;
  }, [load]);
  const more = useCallback(() => {
    const { rows, total } = held.current;
    if (!busy.current && rows.length < total) load(rows.length, true);
  }, [load]);
  const reload = useCallback(() => load(0, false), [load]);
  return { ...state, more, reload };
}

// The total of a list that does not say its own: one more than is known, as long as pages are full.
export const atLeast = (offset, rows, size) => offset + rows.length + (rows.length === size ? 1 : 0);
