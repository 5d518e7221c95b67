// Something a person starts: a failure is told, and a second click while it runs does nothing.
import { useCallback, useRef, useState } from "../ui.js";

export function useAct({ say, tell }) {
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const here = useRef({ say, tell });
  here.current = { say, tell };
  // take(error) -> whether whoever asked deals with the failure itself.
  const act = useCallback(async (work, done, take = () => false) => {
    if (running.current) return undefined;
    running.current = true;
    setBusy(true);
    try {
      const answer = await work();
      if (done) here.current.tell(done);
      return answer ?? true;
    } catch (error) {
      if (!take(error)) here.current.tell(reason(error, here.current.say), "bad");
      return undefined;
    } finally {
      running.current = false;
      setBusy(false);
    }
  }, []);
  return [act, busy];
}

export function reason(error, say) {
  const text = shortReason(error, say);
  return error.hint && error.code !== "forbidden" ? `${text} ${error.hint}` : text;
}

// Without what to do about it. Only one kind of refusal is about who asks; others say themselves what is wrong.
export function shortReason(error, say) {
  if (error.status === 0) return say("unreachable");
  return error.code === "forbidden" ? `${say("forbidden")} ${error.message}` : say("failed", { why: error.message });
}
