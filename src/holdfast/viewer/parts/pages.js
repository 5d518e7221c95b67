// A list that is loaded page by page: {rows, total, error, loading, more(), reload()}.
import { useCallback, useEffect, useRef, useState } from "../ui.js";

// load(offset) -> promise of {rows, total?}. Without a total the list ends at the first page that is not full.
export function usePages(load, inputs, size) {
  const [state, setState] = useState({ rows: [], total: undefined, error: null, loading: true, ended: false });
  const turn = useRef(0);
  const busy = useRef(false);
  const fetchFrom = useCallback(async (offset) => {
    const mine = ++turn.current;
    busy.current = true;
    try {
      const page = await load(offset);
      if (mine !== turn.current) return;
      setState((old) => ({
        rows: offset ? [...old.rows, ...page.rows] : page.rows,
        total: page.total,
        error: null,
        loading: false,
        ended: page.total === undefined ? page.rows.length < size : offset + page.rows.length >= page.total,
      }));
    } catch (error) {
      if (mine === turn.current) setState((old) => ({ ...old, error, loading: false, ended: true }));
    } finally {
      if (mine === turn.current) busy.current = false;
    }
  }, inputs);
  const reload = useCallback(() => fetchFrom(0), [fetchFrom]);
  useEffect(() => {
    setState((old) => ({ ...old, loading: true, ended: false }));
    reload();
    return () => turn.current++;
  }, [reload]);
  const more = useCallback(() => {
    if (!busy.current && !state.ended && !state.loading) fetchFrom(state.rows.length);
  }, [state.ended, state.loading, state.rows.length, fetchFrom]);
  return { ...state, more, reload };
}
