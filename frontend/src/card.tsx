import { useEffect, useRef, useState } from "preact/hooks";
import type { Actions } from "./app";
import { ask } from "./api";
import type { Bin, Candidate, Condition, Limit, Question, State } from "./types";
import { points, signed } from "./words";

interface Props {
  state: State;
  actions: Actions;
}

export function CardEditor({ state, actions }: Props) {
  // A card puts the largest points first; while it is edited, questions stay where they are.
  const order = useRef<string[]>([]);
  for (const one of state.card.questions) {
    if (!order.current.includes(one.column)) order.current.push(one.column);
  }
  const place = (one: Question) => order.current.indexOf(one.column);
  const questions = [...state.card.questions].sort((a, b) => place(a) - place(b));
  const asked = new Set(questions.map((one) => one.column));
  const parked = state.conditions.filter((one) => one.off !== null && !asked.has(one.column));
  return (
    <section class="card" aria-labelledby="card">
      <h2 id="card">The card</h2>
      <p class="soft">{state.card.asked}. Change points with the arrow keys.</p>
      {questions.map((question) => (
        <QuestionEditor key={question.column} question={question} state={state} actions={actions} />
      ))}
      {parked.length > 0 && (
        <>
          <h3>Switched off</h3>
          <Rules rules={parked} state={state} actions={actions} />
        </>
      )}
      <Risks state={state} />
      <Add state={state} actions={actions} />
      {state.card.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <p class="note">{state.card.footer}</p>
    </section>
  );
}

function QuestionEditor({ question, state, actions }: Props & { question: Question }) {
  const rules = state.conditions.filter((one) => one.column === question.column);
  const name = question.label + (question.unit ? ` (${question.unit})` : "");
  return (
    <fieldset>
      <legend>{name}</legend>
      {question.answers.map((answer, k) => (
        <label class="answer" key={k}>
          <span>{answer.text}</span>
          {answer.editable ? (
            <input
              type="number"
              step="1"
              value={answer.points}
              aria-label={`Points for ${name}: ${answer.text}`}
              onChange={(event) => {
                const value = event.currentTarget.valueAsNumber;
                if (!Number.isInteger(value) || value === answer.points) return;
                actions.edit({
                  kind: "answer",
                  column: question.column,
                  value: answer.value ?? null,
                  points: value,
                });
              }}
            />
          ) : (
            <span class="points">{points(answer.points)}</span>
          )}
        </label>
      ))}
      {question.units.map((unit) => (
        <p class="answer" key={unit.text}>
          <span>{unit.text}</span>
          <span class="points">× {points(unit.points)}</span>
        </p>
      ))}
      <Details question={question} rules={rules} state={state} actions={actions} />
    </fieldset>
  );
}

function Details({
  question,
  rules,
  state,
  actions,
}: Props & { question: Question; rules: Condition[] }) {
  const [open, setOpen] = useState(false);
  const column = question.column;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Rules, cut points and names of {question.label}</summary>
      {open && (
        <>
          <Rules
            rules={rules.filter((one) => one.points || one.off !== null)}
            state={state}
            actions={actions}
          />
          <Cuts column={column} rules={rules} actions={actions} revision={state.revision} />
          {(["label", "unit"] as const).map((what) => (
            <form
              key={what}
              class="inline"
              onSubmit={(event) => {
                event.preventDefault();
                const text = (new FormData(event.currentTarget).get(what) as string).trim();
                actions.edit({ kind: "rename", what, column, text: text || null });
              }}
            >
              <label>
                {what === "label" ? "Label" : "Unit"}{" "}
                <input
                  type="text"
                  name={what}
                  maxLength={200}
                  defaultValue={(what === "label" ? question.label : question.unit) ?? ""}
                />
              </label>
              <button>Rename</button>
            </form>
          ))}
        </>
      )}
    </details>
  );
}

function lockOf(rule: string, value: number): Limit {
  return { kind: "bounds", feature: rule, lowest: value, highest: value };
}

function Rules({ rules, state, actions }: Props & { rules: Condition[] }) {
  const limits = state.limits.map((one) => one.limit);
  return (
    <ul class="rules">
      {rules.map((one) => {
        const isLock = (limit: Limit) =>
          limit.kind === "bounds" && limit.feature === one.rule && limit.lowest === limit.highest;
        const locked = limits.some(isLock);
        return (
          <li key={one.rule}>
            <span>{one.rule}</span>
            <input
              type="number"
              step="1"
              value={one.points}
              aria-label={`Points of the rule ${one.rule}`}
              onChange={(event) => {
                const value = event.currentTarget.valueAsNumber;
                if (!Number.isInteger(value) || value === one.points) return;
                actions.edit({ kind: "points", rule: one.rule, points: value });
              }}
            />
            {one.off === null ? (
              <button
                aria-label={`Switch off ${one.rule}`}
                onClick={() => actions.edit({ kind: "off", rule: one.rule })}
              >
                Off
              </button>
            ) : (
              <button
                aria-label={`Switch on ${one.rule}`}
                onClick={() => actions.edit({ kind: "on", rule: one.rule })}
              >
                On ({points(one.off)})
              </button>
            )}
            <label>
              <input
                type="checkbox"
                checked={locked}
                aria-label={`Lock ${one.rule} for the solver`}
                onChange={() => {
                  const rest = limits.filter((limit) => !isLock(limit));
                  const next = locked ? rest : [...rest, lockOf(one.rule, one.points)];
                  actions.edit({ kind: "limits", limits: next });
                }}
              />{" "}
              locked
            </label>
          </li>
        );
      })}
    </ul>
  );
}

function Cuts({
  column,
  rules,
  actions,
  revision,
}: {
  column: string;
  rules: Condition[];
  actions: Actions;
  revision: number;
}) {
  const cuts = [...new Set(rules.flatMap((one) => one.cuts))].sort((a, b) => a - b);
  const [bins, setBins] = useState<Bin[]>([]);
  const has = cuts.length > 0;
  useEffect(() => {
    if (has) ask<Bin[]>("distribution", { column }).then(setBins).catch(actions.fail);
  }, [column, has, actions.fail]);
  if (!has) return null;
  return (
    <div class="cuts">
      <Distribution
        bins={bins}
        cuts={cuts}
        column={column}
        move={(old, value) => actions.edit({ kind: "cut", column, old, new: value })}
      />
      <p class="inline">
        Cut points:{" "}
        {cuts.map((cut) => (
          <input
            key={`${cut} ${revision}`}
            type="number"
            step="any"
            defaultValue={String(cut)}
            aria-label={`Cut point ${cut} of ${column}`}
            onKeyDown={(event) => {
              if (event.key === "Enter") event.currentTarget.blur();
            }}
            onBlur={(event) => {
              const value = event.currentTarget.valueAsNumber;
              if (!Number.isFinite(value) || value === cut) return;
              actions.edit({ kind: "cut", column, old: cut, new: value });
            }}
          />
        ))}
      </p>
    </div>
  );
}

const WIDTH = 360;
const HEIGHT = 90;

/** Rows by outcome; a cut point can be dragged, or typed below. */
function Distribution({
  bins,
  cuts,
  column,
  move,
}: {
  bins: Bin[];
  cuts: number[];
  column: string;
  move: (old: number, value: number) => void;
}) {
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  if (bins.length === 0) return null;
  const low = bins[0]!.low;
  const high = bins[bins.length - 1]!.high;
  const most = Math.max(...bins.map((one) => one.events + one.others), 1);
  const x = (value: number) => ((value - low) / (high - low)) * WIDTH;
  const y = (value: number) => (value / most) * HEIGHT;
  const whole = [low, high, ...cuts].every(Number.isInteger);
  const digits = whole ? 0 : Math.max(0, 2 - Math.floor(Math.log10(high - low)));
  const valueAt = (event: PointerEvent) => {
    const box = (event.currentTarget as SVGElement).ownerSVGElement!.getBoundingClientRect();
    const value = low + ((event.clientX - box.left) / box.width) * (high - low);
    return Number(value.toFixed(digits));
  };
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT + 16}`}
      role="img"
      aria-label={`Training rows by ${column}, events below, from ${low} to ${high}`}
    >
      {bins.map((one) => {
        const left = x(one.low);
        const wide = Math.max(x(one.high) - left - 0.5, 0.5);
        return (
          <g key={one.low}>
            <rect
              class="others"
              x={left}
              width={wide}
              y={HEIGHT - y(one.events + one.others)}
              height={y(one.others)}
            />
            <rect
              class="events"
              x={left}
              width={wide}
              y={HEIGHT - y(one.events)}
              height={y(one.events)}
            />
          </g>
        );
      })}
      {cuts.map((cut) => {
        const at = x(dragged && dragged[0] === cut ? dragged[1] : cut);
        return (
          <g key={cut}>
            <line class="cut" x1={at} x2={at} y1={0} y2={HEIGHT} />
            <rect
              class="grip"
              x={at - 8}
              width={16}
              y={0}
              height={HEIGHT}
              onPointerDown={(event) => {
                event.currentTarget.setPointerCapture(event.pointerId);
                setDragged([cut, cut]);
              }}
              onPointerMove={(event) => {
                if (dragged && dragged[0] === cut) setDragged([cut, valueAt(event)]);
              }}
              onPointerUp={() => {
                if (dragged && dragged[0] === cut && dragged[1] !== cut) move(cut, dragged[1]);
                setDragged(null);
              }}
            />
          </g>
        );
      })}
      <text x={0} y={HEIGHT + 13}>
        {signed(low, digits)}
      </text>
      <text x={WIDTH} y={HEIGHT + 13} text-anchor="end">
        {dragged ? signed(dragged[1], digits) : signed(high, digits)}
      </text>
    </svg>
  );
}

function Risks({ state }: { state: State }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Risk of each score">
      <table class="risks">
        <tbody>
          <tr>
            <th scope="row">Score</th>
            {state.card.risks.map((one) => (
              <td key={one.scores}>{one.scores}</td>
            ))}
          </tr>
          <tr>
            <th scope="row">Risk</th>
            {state.card.risks.map((one) => (
              <td key={one.scores}>{one.text}</td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

const SHOWN = 12;

function Add({ state, actions }: Props) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState<Candidate[]>([]);
  const [words, setWords] = useState("");
  useEffect(() => {
    if (open) ask<Candidate[]>("ranking").then(setFound).catch(actions.fail);
  }, [open, state.revision, actions.fail]);
  const off = new Set(state.conditions.filter((one) => one.off !== null).map((one) => one.rule));
  const matching = found.filter(
    (one) => !off.has(one.rule) && one.rule.toLowerCase().includes(words.toLowerCase()),
  );
  return (
    <details class="add" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Add a condition</summary>
      <label>
        Search{" "}
        <input
          type="text"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </label>
      <p class="note">
        Ranked by what each would add to what solvers maximise, with the points that add the most.
      </p>
      <ul class="rules">
        {matching.slice(0, SHOWN).map((one) => (
          <li key={one.rule}>
            <span>{one.rule}</span>
            <span class="soft">
              {one.gain >= 0 ? "+" : "−"}
              {Math.abs(one.gain).toFixed(5)}
              {one.allowed ? "" : ", breaks a limit"}
            </span>
            <button
              aria-label={`Add ${one.rule} with ${points(one.points)} points`}
              onClick={() => actions.edit({ kind: "points", rule: one.rule, points: one.points })}
            >
              Add ({points(one.points)})
            </button>
          </li>
        ))}
      </ul>
      {matching.length > SHOWN && <p class="note">… and {matching.length - SHOWN} more</p>}
      {open && matching.length === 0 && (
        <p class="note">
          {found.length ? "No condition is called so." : "All conditions are on the card."}
        </p>
      )}
    </details>
  );
}
