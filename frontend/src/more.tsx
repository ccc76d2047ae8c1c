import { useState } from "preact/hooks";
import type { Actions } from "./app";
import { ask, tell } from "./api";
import type {
  Alternative,
  Alternatives as Found,
  Group,
  Limit,
  News,
  Pair,
  Side,
  State,
} from "./types";
import { points, share, signed, whole } from "./words";

interface Props {
  state: State;
  actions: Actions;
}

// -- the solver as a partner ---------------------------------------------------------------------

const KINDS: [string, string][] = [
  ["exclude", "ask nothing about"],
  ["include", "ask about"],
  ["+", "points never negative for"],
  ["-", "points never positive for"],
  ["exclusive", "only one of two columns"],
  ["implies", "a column only with another"],
  ["max_questions", "at most so many questions"],
];

export function Solver({ state, news, actions }: Props & { news: News | null }) {
  const [seconds, setSeconds] = useState(10);
  const running = news?.search ?? null;
  const limits = state.limits.map((one) => one.limit);
  return (
    <section aria-labelledby="solver">
      <h2 id="solver">Let the solver work</h2>
      <p class="soft">
        It looks for the best points within the limits, and proves how good they are. Lock rules in
        the card to keep them as they are.
      </p>
      <ul class="rules">
        {state.model_limits.map((text) => (
          <li key={text}>
            <span>{text}</span>
            <span class="soft">set with the model</span>
          </li>
        ))}
        {state.limits.map((one, k) => (
          <li key={one.text}>
            <span>{one.text}</span>
            <button
              aria-label={`Remove the limit: ${one.text}`}
              onClick={() =>
                actions.edit({ kind: "limits", limits: limits.filter((_, i) => i !== k) })
              }
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <NewLimit state={state} actions={actions} />
      <p class="inline">
        <label>
          Seconds{" "}
          <input
            type="number"
            min="1"
            max="3600"
            value={seconds}
            onChange={(event) => setSeconds(event.currentTarget.valueAsNumber || 10)}
          />
        </label>
        <button
          class="main"
          disabled={running !== null}
          onClick={() => actions.change("solve", { time_limit: seconds })}
        >
          Re-optimise the rest
        </button>
        <button disabled={running === null} onClick={() => tell("stop", {}).catch(actions.fail)}>
          Stop
        </button>
      </p>
      <p role="status">
        {running
          ? running.objective === null
            ? "The solver begins …"
            : `${running.seconds?.toFixed(0)} s · best ${signed(running.objective)} · ${
                running.bound === null ? "nothing proven yet" : `none above ${signed(running.bound)}`
              } · ${whole(running.cards ?? 0)} cards tried`
          : (news?.ended ?? "")}
      </p>
    </section>
  );
}

function NewLimit({ state, actions }: Props) {
  const [kind, setKind] = useState("exclude");
  const columns = [...new Set(state.conditions.map((one) => one.column))];
  const limits = state.limits.map((one) => one.limit);
  const two = kind === "exclusive" || kind === "implies";
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const limit = limitOf(kind, form);
        actions.edit({ kind: "limits", limits: [...limits, limit] });
      }}
    >
      <label>
        New limit{" "}
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
          {KINDS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {kind === "max_questions" ? (
        <label>
          Number <input type="number" name="limit" min="0" step="1" defaultValue="5" required />
        </label>
      ) : (
        <Columns name="column" label="Column" columns={columns} />
      )}
      {two && <Columns name="other" label="and" columns={columns} />}
      <button>Set</button>
    </form>
  );
}

function Columns({ name, label, columns }: { name: string; label: string; columns: string[] }) {
  return (
    <label>
      {label}{" "}
      <select name={name}>
        {columns.map((column) => (
          <option key={column} value={column}>
            {column}
          </option>
        ))}
      </select>
    </label>
  );
}

function limitOf(kind: string, form: FormData): Limit {
  const column = form.get("column") as string;
  const other = form.get("other") as string;
  switch (kind) {
    case "max_questions":
      return { kind, limit: Number(form.get("limit")) };
    case "+":
    case "-":
      return { kind: "sign", feature: column, sign: kind };
    case "exclusive":
      return { kind, features: [column, other] };
    case "implies":
      return { kind, feature: column, other };
    default:
      return { kind, features: [column] };
  }
}

// -- alternatives --------------------------------------------------------------------------------

export function Alternatives({ state, actions }: Props) {
  const [found, setFound] = useState<Found | null>(null);
  const [busy, setBusy] = useState(false);
  const [without, setWithout] = useState("");
  const [chosen, setChosen] = useState(0);
  const columns = [...new Set((found?.cards ?? []).flatMap((card) => card.columns))].sort();
  const shown = (found?.cards ?? [])
    .map((card, k): [Alternative, number] => [card, k])
    .filter(([card]) => !without || !card.columns.includes(without));
  const other = found?.cards[chosen];
  return (
    <section aria-labelledby="alternatives">
      <h2 id="alternatives">Alternatives</h2>
      <p class="inline">
        <button
          disabled={busy}
          onClick={() => {
            setBusy(true);
            tell<Found>("alternatives", { tolerance: 0.005, limit: 60, time_limit: 10 })
              .then((cards) => {
                setFound(cards);
                setChosen(0);
              })
              .catch(actions.fail)
              .finally(() => setBusy(false));
          }}
        >
          {busy ? "Looking …" : "Look for cards that are almost as good"}
        </button>
        {found && (
          <label>
            Without{" "}
            <select value={without} onChange={(event) => setWithout(event.currentTarget.value)}>
              <option value="">any column</option>
              {columns.map((column) => (
                <option key={column} value={column}>
                  {column}
                </option>
              ))}
            </select>
          </label>
        )}
      </p>
      {found && (
        <>
          <p class="note">
            {found.complete ? "These are all cards" : "These are some of the cards"} that lose at
            most {found.tolerance} of what solvers maximise. Darker: more decisions as the best one.
          </p>
          <div class="pair">
            <Scatter shown={shown} chosen={chosen} choose={setChosen} />
            <div class="wide short" tabIndex={0} role="region" aria-label="Alternative cards">
              <table class="figures">
                <thead>
                  <tr>
                    <th scope="col">Card</th>
                    <th scope="col">Loss</th>
                    <th scope="col">Rules</th>
                    <th scope="col">Agreement</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map(([card, k]) => (
                    <tr key={k} aria-current={k === chosen ? "true" : undefined}>
                      <th scope="row">
                        <button class="quiet" onClick={() => setChosen(k)}>
                          {k + 1}: {card.columns.join(", ") || "no questions"}
                        </button>
                      </th>
                      <td>{card.loss.toFixed(5)}</td>
                      <td>{card.rules}</td>
                      <td>{share(card.agreement)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          </div>
          {other && <Beside state={state} other={other} number={chosen + 1} actions={actions} />}
        </>
      )}
    </section>
  );
}

function Scatter({
  shown,
  chosen,
  choose,
}: {
  shown: [Alternative, number][];
  chosen: number;
  choose: (k: number) => void;
}) {
  const width = 360;
  const height = 200;
  const sizes = shown.map(([card]) => card.rules);
  const low = Math.min(...sizes, 1) - 0.5;
  const high = Math.max(...sizes, 2) + 0.5;
  const most = Math.max(...shown.map(([card]) => card.loss), 1e-6);
  const least = Math.min(...shown.map(([card]) => card.agreement), 0.999);
  const x = (rules: number) => 12 + ((rules - low) / (high - low)) * (width - 24);
  const y = (loss: number) => 14 + (loss / most) * (height - 44);
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label="Alternatives by rules and loss; the table beside lists them"
    >
      {shown.map(([card, k]) => (
        <circle
          key={k}
          class={k === chosen ? "dot chosen" : "dot"}
          cx={x(card.rules)}
          cy={y(card.loss)}
          r={k === chosen ? 7 : 5}
          fill-opacity={0.25 + 0.75 * ((card.agreement - least) / (1 - least))}
          onClick={() => choose(k)}
        />
      ))}
      <text x={12} y={height - 6}>
        fewer rules
      </text>
      <text x={width - 12} y={height - 6} text-anchor="end">
        more rules
      </text>
      <text x={width - 12} y={12} text-anchor="end">
        best
      </text>
    </svg>
  );
}

function Beside({
  state,
  other,
  number,
  actions,
}: Props & { other: Alternative; number: number }) {
  const now = new Map(state.conditions.map((one) => [one.rule, one.points]));
  const names = [...now.keys()].filter((name) => now.get(name) || other.points[name]);
  const same = names.every((name) => (now.get(name) ?? 0) === (other.points[name] ?? 0));
  const known = Object.keys(other.points).every((name) => now.has(name));
  return (
    <>
      <table class="figures">
        <caption>The present card and alternative {number}</caption>
        <thead>
          <tr>
            <th scope="col">Rule</th>
            <th scope="col">Now</th>
            <th scope="col">Alternative</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const [a, b] = [now.get(name) ?? 0, other.points[name] ?? 0];
            return (
              <tr key={name} class={a === b ? "" : "differs"}>
                <th scope="row">
                  {name}
                  {a === b ? "" : " (differs)"}
                </th>
                <td>{points(a)}</td>
                <td>{points(b)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p>
        <button
          disabled={same || !known}
          onClick={() =>
            actions.edit({
              kind: "take over",
              points: other.points,
              origin: `alternative ${number}`,
            })
          }
        >
          Take over
        </button>
        {!known && " It is for other cut points: look for alternatives again."}
      </p>
    </>
  );
}

// -- who is affected -----------------------------------------------------------------------------

export function Groups({ state, fail }: { state: State; fail: (error: unknown) => void }) {
  const [columns, setColumns] = useState<string[]>([]);
  const [column, setColumn] = useState("");
  const [found, setFound] = useState<Partial<Record<Side, Group[]>>>({});
  const [shownAt, setShownAt] = useState("");
  const key = `${state.revision} ${state.threshold} ${column}`;
  if (columns.length === 0) {
    setColumns([""]);
    ask<string[]>("columns")
      .then((names) => setColumns(["", ...names]))
      .catch(fail);
  }
  if (column && shownAt !== key) {
    setShownAt(key);
    ask<Partial<Record<Side, Group[]>>>("groups", { column, threshold: String(state.threshold) })
      .then(setFound)
      .catch(fail);
  }
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">Who is affected</h2>
      <label>
        Groups by{" "}
        <select value={column} onChange={(event) => setColumn(event.currentTarget.value)}>
          {columns.map((name) => (
            <option key={name} value={name}>
              {name || "choose a column"}
            </option>
          ))}
        </select>
      </label>
      {column &&
        (["training", "held-out"] as Side[]).map(
          (side) => found[side] && <GroupTable key={side} groups={found[side]} side={side} state={state} />,
        )}
    </section>
  );
}

function GroupTable({ groups, side, state }: { groups: Group[]; side: Side; state: State }) {
  const rate = (value: number | null, ends: Pair) =>
    value === null ? "–" : `${share(value)}${ends ? ` (${share(ends[0])} to ${share(ends[1])})` : ""}`;
  const benefit = (value: number | null, ends: Pair) =>
    value === null
      ? "–"
      : `${signed(value, 4)}${ends ? ` (${signed(ends[0], 4)} to ${signed(ends[1], 4)})` : ""}`;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`Groups, ${side} rows`}>
      <table class="figures">
        <caption>{side} rows; intervals hold with 95% confidence</caption>
        <thead>
          <tr>
            <th scope="col">Group</th>
            <th scope="col">Rows (events)</th>
            <th scope="col">Net benefit at {share(state.threshold)}</th>
            <th scope="col">Mean risk</th>
            <th scope="col">Observed</th>
            <th scope="col">Events called</th>
            <th scope="col">Others not called</th>
          </tr>
        </thead>
        <tbody>
          {groups.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td>
                {whole(one.n)} ({whole(one.events)})
              </td>
              <td>{benefit(one.at, one.at_interval)}</td>
              <td>{share(one.mean_risk)}</td>
              <td>{rate(one.observed, one.observed_interval)}</td>
              <td>{rate(one.sensitivity, one.sensitivity_interval)}</td>
              <td>{rate(one.specificity, one.specificity_interval)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// -- history -------------------------------------------------------------------------------------

export function History({ state }: { state: State }) {
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <ol class="history" reversed>
        {[...state.history].reverse().map((step) => (
          <li key={step.number}>
            {step.what} <span class="soft">by a {step.by}</span>
            {step.effect && <div class="note">{step.effect}</div>}
          </li>
        ))}
      </ol>
    </section>
  );
}
