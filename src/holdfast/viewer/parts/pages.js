// A long list that is fetched in pages as it is scrolled. Every row has an id.
import { useCallback, useEffect, useRetry, useRef, useState } from "../ui.js";

// fetchPage(offset) -> {rows, total, note}. {rows, total, note, error, loading, more, refresh, drop, reload}: `more` fetches the next
// page, `refresh` brings in what is new and leaves the rest where it is, `drop` takes out what is gone, `reload` begins
// again from the top. Lists have their newest rows first; one with `newestLast` grows at its end.
export function usePages(fetchPage, inputs, { newestLast = false } = {}) {
  const [state, setState] = useState({ rows: [], total: 0, error: null, loading: true });
  const turn = useRef(0);
  const busy = useRef(false);
  const held = useRef(state);
  held.current = state;
  const asking = useRef(fetchPage); // whoever refreshes late, after something was saved, means the list that is shown now
  asking.current = fetchPage;

  const load = useCallback(async (offset, merge) => {
    const mine = ++turn.current;
    busy.current = true;
    try {
      const page = await asking.current(offset);
      if (mine !== turn.current) return;
      setState({ rows: merge(held.current.rows, page), total: page.total, note: page.note, error: null, loading: false });
    } catch (error) {
      if (mine === turn.current) setState((old) => ({ ...old, error, loading: false }));
    } finally {
      if (mine === turn.current) busy.current = false;
    }
  }, inputs);
  const reload = useCallback(() => load(0, (_, page) => page.rows), [load]);
  useEffect(() => {
    setState((old) => ({ ...old, loading: true }));
    reload();
    return () => turn.current++;
  }, [reload]);
  const more = useCallback(() => {
    const { rows, total } = held.current;
    if (!busy.current && rows.length < total) load(rows.length, (old, page) => distinct([...old, ...page.rows]));
  }, [load]);
  const refresh = useCallback(() => {
    const { rows } = held.current;
    if (newestLast && rows.length) return load(rows.length, (old, page) => distinct([...old, ...page.rows]));
    return load(0, withNewest);
  }, [load]);
  const drop = useCallback((ids) => {
    const gone = new Set(ids);
    setState((old) => {
      const rows = old.rows.filter((row) => !gone.has(row.id));
      return rows.length === old.rows.length ? old : { ...old, rows, total: old.total - (old.rows.length - rows.length) };
    });
  }, []);
  useRetry(state.error, state.rows.length ? refresh : reload);
  return { ...state, more, refresh, drop, reload };
}

// The first page says what is there now; what lies below it is as it was.
function withNewest(old, page) {
  const places = new Map(old.map((row, place) => [row.id, place]));
  const last = [...page.rows].reverse().find((row) => places.has(row.id));
  // Where nothing is known in common, more has come than a page holds.
  return last ? distinct([...page.rows, ...old.slice(places.get(last.id) + 1)]).slice(0, page.total) : page.rows;
}

function distinct(rows) {
  const seen = new Set();
  return rows.filter((row) => !seen.has(row.id) && seen.add(row.id));
}
