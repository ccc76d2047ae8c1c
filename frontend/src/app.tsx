import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ask, tell } from "./api";
import { CardEditor } from "./card";
import { Costs } from "./costs";
import { Alternatives, Groups, History, Solver } from "./more";
import type { Edit, News, State } from "./types";
import { share } from "./words";

/** What parts of the page may ask of it. */
export interface Actions {
  edit: (edit: Edit) => void;
  fail: (error: unknown) => void;
  change: (path: string, body?: object) => void;
}

export function App() {
  const [state, setState] = useState<State | null>(null);
  const [news, setNews] = useState<News | null>(null);
  const [error, setError] = useState("");
  const [lost, setLost] = useState(false);
  const threshold = useRef<number | null>(null);
  const revision = useRef(0);
  const queue = useRef(Promise.resolve());

  const fail = useCallback((reason: unknown) => {
    setError(reason instanceof Error ? reason.message : String(reason));
  }, []);

  const refresh = useCallback(async () => {
    const query: Record<string, string> = {};
    if (threshold.current !== null) query.threshold = String(threshold.current);
    const found = await ask<State>("state", query);
    revision.current = found.revision;
    setState(found);
  }, []);

  // One change at a time: each is about the revision that the one before has made.
  const change = useCallback(
    (path: string, body: object = {}) => {
      queue.current = queue.current.then(async () => {
        try {
          setError("");
          const done = await tell<{ revision: number }>(path, {
            ...body,
            revision: revision.current,
          });
          revision.current = done.revision;
        } catch (reason) {
          fail(reason);
        }
        await refresh().catch(fail);
      });
    },
    [fail, refresh],
  );
  const edit = useCallback((one: Edit) => change("edit", { edit: one }), [change]);

  useEffect(() => {
    refresh().catch(fail);
    const stream = new EventSource("api/events");
    stream.onmessage = (message) => {
      const found = JSON.parse(message.data) as News;
      setLost(false);
      setNews(found);
      if (found.revision !== revision.current) {
        queue.current = queue.current.then(() => refresh().catch(fail));
      }
    };
    stream.onerror = () => setLost(true);
    return () => stream.close();
  }, [fail, refresh]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      const field = event.target as HTMLElement | null;
      if (field instanceof HTMLInputElement && field.type === "text") return;
      event.preventDefault();
      change(event.shiftKey ? "redo" : "undo");
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [change]);

  useEffect(() => {
    if (state) document.title = `${state.card.title} – studio`;
  }, [state]);

  if (state === null) {
    return <main>{error ? <p role="alert">{error}</p> : <p>Loading the card …</p>}</main>;
  }
  const actions: Actions = { edit, fail, change };
  const own = state.thresholds.includes(state.threshold) ? [] : [state.threshold];
  return (
    <>
      <header>
        <Title title={state.card.title} edit={edit} />
        <div class="tools">
          <button disabled={!state.can_undo} onClick={() => change("undo")}>
            Undo
          </button>
          <button disabled={!state.can_redo} onClick={() => change("redo")}>
            Redo
          </button>
          <label>
            Act from a risk of{" "}
            <select
              value={String(state.threshold)}
              onChange={(event) => {
                threshold.current = Number(event.currentTarget.value);
                refresh().catch(fail);
              }}
            >
              {[...own, ...state.thresholds]
                .filter((p) => p > 0)
                .map((p) => (
                  <option key={p} value={String(p)}>
                    {share(p, 1).replace(".0%", "%")}
                  </option>
                ))}
            </select>
          </label>
        </div>
        <nav aria-label="Save">
          <a href="files/card.json" download>
            Card
          </a>
          <a href="files/report.html" download>
            Report
          </a>
          <a href="files/calculator.html" download>
            Calculator
          </a>
          <a href="files/edits.py" download>
            Python code
          </a>
        </nav>
      </header>
      <div role="alert" class={error || lost ? "alert" : ""}>
        {lost
          ? "The studio's server does not answer. Start it again: no edit is lost."
          : error}
      </div>
      <main>
        <CardEditor state={state} actions={actions} />
        <Costs state={state} />
        <Solver state={state} news={news} actions={actions} />
        <Alternatives state={state} actions={actions} />
        <Groups state={state} fail={fail} />
        <History state={state} />
      </main>
    </>
  );
}

function Title({ title, edit }: { title: string; edit: (edit: Edit) => void }) {
  const [open, setOpen] = useState(false);
  if (!open) {
    return (
      <h1>
        {title}{" "}
        <button class="quiet" onClick={() => setOpen(true)}>
          Rename
        </button>
      </h1>
    );
  }
  return (
    <form
      class="title"
      onSubmit={(event) => {
        event.preventDefault();
        const text = new FormData(event.currentTarget).get("title") as string;
        setOpen(false);
        edit({ kind: "rename", what: "title", column: null, text: text.trim() || null });
      }}
    >
      <label>
        Title of the card <input type="text" name="title" maxLength={200} defaultValue={title} />
      </label>
      <button>Rename</button>
      <button type="button" class="quiet" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}
