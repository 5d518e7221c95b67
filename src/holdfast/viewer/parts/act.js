// Something a person starts: a failure is told, and a second click while it runs does nothing.
import { useCallback, useRef, useState } from "../ui.js";

export function useAct({ say, tell }) {
  const [busy, setBusy] = useState(false);
  const running = useRef(false);
  const here = useRef({ say, tell });
  here.current = { say, tell };
  const act = useCallback(async (work, done) => {
    if (running.current) return undefined;
    running.current = true;
    setBusy(true);
    try {
      const answer = await work();
      if (done) here.current.tell(done);
      return answer ?? true;
    } catch (error) {
      here.current.tell(reason(error, here.current.say), "bad");
      return undefined;
    } finally {
      running.current = false;
      setBusy(false);
    }
  }, []);
  return [act, busy];
}

export function reason(error, say) {
  if (error.status === 0) return say("unreachable");
  const why = error.hint ? `${error.message} ${error.hint}` : error.message;
  return error.status === 403 ? `${say("forbidden")} ${error.message}` : say("failed", { why });
}
