import { HoldfastUnreachable } from "./errors.js";
import type { Json } from "./generated.js";
import type { Transport } from "./transport.js";

/** Something that happened in the memory. `place` is where to go on after a break: `events({since: event.place})`. */
export type LiveEvent = Json & { type: string; place?: string };

export interface LiveOptions {
  /** The place of the last event that was seen; what was missed comes first. */
  since?: string;
  agentId?: string;
  /** Ends the events. */
  signal?: AbortSignal;
}

/** Events as they happen, until the signal is aborted or the connection ends, which throws. */
export async function* liveEvents(transport: Transport, options: LiveOptions): AsyncGenerator<LiveEvent, void, void> {
  if (typeof WebSocket === "undefined") {
    throw new TypeError("events: this runtime has no WebSocket; Node has one from version 22 on");
  }
  const query = new URLSearchParams({ since: options.since ?? "" });
  if (options.agentId !== undefined) query.set("agentId", options.agentId);
  const protocols = ["holdfast.live"];
  if (transport.token !== undefined) protocols.push(`bearer.${base64url(transport.token)}`);
  const socket = new WebSocket(`${transport.base.replace(/^http/, "ws")}/stream/mem-live/viewer?${query}`, protocols);
  const waiting: LiveEvent[] = [];
  let wake: () => void = () => undefined;
  let ended: Event | undefined;
  socket.onmessage = (message) => {
    waiting.push(JSON.parse(String(message.data)) as LiveEvent);
    wake();
  };
  socket.onclose = socket.onerror = (event) => {
    ended ??= event;
    wake();
  };
  const stop = (): void => {
    socket.close();
    wake();
  };
  options.signal?.addEventListener("abort", stop, { once: true });
  try {
    while (!options.signal?.aborted) {
      const next = waiting.shift();
      if (next !== undefined) yield next;
      else if (ended !== undefined) throw new HoldfastUnreachable(transport.base, ended);
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    options.signal?.removeEventListener("abort", stop);
    socket.close();
  }
}

function base64url(text: string): string {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
