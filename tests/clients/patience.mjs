// The clients give up on a server within seconds, the hooks within half of one, rather than hold up an agent. While a
// test machine is busy, that would make every test a matter of chance. Loaded before a client, this lets it wait longer.
const FACTOR = 30;
const { setTimeout: after } = globalThis;
const { timeout: within } = AbortSignal;

globalThis.setTimeout = (work, ms, ...given) => after(work, FACTOR * ms, ...given);
AbortSignal.timeout = (ms) => within.call(AbortSignal, FACTOR * ms);
