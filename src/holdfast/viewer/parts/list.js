// A list that draws only the rows in view. Rows are of one height, so 100,000 of them cost what 30 do.
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";

const BEYOND = 8; // rows drawn above and below the view, so that a fast scroll shows no gaps

// rows; height of a row in px; row(item, index) -> what to draw; keyOf(item) -> its key; onOpen(item, index) on a
// click or Enter; onClose() on Escape; selected: the key of the open row; onEnd() when the last rows come into view;
// label for readers. Rows that come in above leave those in view, and the row the keys are on, where they are.
export function VirtualList({ rows, height, row, keyOf, onOpen, onClose, selected, onEnd, label, total }) {
  const box = useRef(null);
  const id = useId();
  const [view, setView] = useState({ top: 0, tall: 600 });
  const [active, setActive] = useState(-1);
  const current = Math.min(active, rows.length - 1);
  const before = useRef(rows);

  useLayoutEffect(() => {
    const moved = mover(before.current, rows, keyOf);
    before.current = rows;
    if (!moved) return;
    if (active >= 0) setActive((at) => moved(at));
    const top = Math.floor(box.current.scrollTop / height);
    if (top > 0) box.current.scrollTop += (moved(top) - top) * height;
  }, [rows]);

  useEffect(() => {
    const measure = () => box.current && setView({ top: box.current.scrollTop, tall: box.current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(view.top / height) - BEYOND);
  const last = Math.min(rows.length, Math.ceil((view.top + view.tall) / height) + BEYOND);

  useEffect(() => {
    if (onEnd && rows.length && last >= rows.length) onEnd();
  }, [last, rows.length, onEnd]);

  const show = (index) => {
    const top = index * height;
    const node = box.current;
    if (top < node.scrollTop) node.scrollTop = top;
    else if (top + height > node.scrollTop + node.clientHeight) node.scrollTop = top + height - node.clientHeight;
    setActive(index);
  };
  const onKeyDown = (event) => {
    const page = Math.max(1, Math.floor(view.tall / height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    if (event.key in steps && rows.length) {
      event.preventDefault();
      show(Math.min(rows.length - 1, Math.max(0, current + steps[event.key])));
    } else if ((event.key === "Enter" || event.key === " ") && onOpen && rows[current]) {
      event.preventDefault();
      onOpen(rows[current], current);
    } else if (event.key === "Escape" && onClose) {
      event.preventDefault();
      onClose();
    }
  };
  const drawn = rows.slice(first, last);
  const lineId = (index) => `${id}-${index}`;
  return html`<div class="list" ref=${box} role="listbox" tabindex="0" aria-label=${label}
    aria-activedescendant=${current >= first && current < last && current >= 0 ? lineId(current) : undefined}
    onScroll=${(event) => setView({ top: event.currentTarget.scrollTop, tall: event.currentTarget.clientHeight })}
    onKeyDown=${onKeyDown} onFocus=${() => active < 0 && rows.length && setActive(Math.max(0, rows.findIndex((one) => keyOf(one) === selected)))}>
    <div class="tall" role="presentation" style=${{ height: `${rows.length * height}px` }}>
      ${drawn.map((item, offset) => {
        const index = first + offset;
        const key = keyOf(item);
        return html`<div key=${key} id=${lineId(index)} role="option" aria-selected=${selected !== undefined && key === selected}
          aria-posinset=${index + 1} aria-setsize=${total ?? rows.length} class=${`row ${index === current ? "active" : ""}`}
          style=${{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
          onClick=${() => { setActive(index); if (onOpen) onOpen(item, index); }}>
          ${row(item, index)}
        </div>`;
      })}
    </div>
  </div>`;
}

// Where the row at a place stands now; null if no row moved.
function mover(before, now, keyOf) {
  if (before === now || !before.length || !now.length) return null;
  const places = new Map(now.map((item, index) => [keyOf(item), index]));
  return (place) => places.get(keyOf(before[Math.min(place, before.length - 1)])) ?? Math.min(place, now.length - 1);
}
