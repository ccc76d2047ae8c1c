import type { Figures, Side, State } from "./types";
import { change, share, signed, whole } from "./words";

const SIDES: Side[] = ["training", "held-out"];

export function Costs({ state }: { state: State }) {
  const sides = SIDES.filter((side) => state.figures[side]);
  const rows: [string, (found: Figures) => string][] = [
    ["Rows (with the event)", (f) => `${whole(f.n)} (${whole(f.events)})`],
    ["Net benefit, mean over thresholds", (f) => signed(f.net_benefit)],
    ["… against the card before", (f) => change(f.net_benefit_before, f.net_benefit)],
    [`Net benefit at ${share(state.threshold)}`, (f) => signed(f.at)],
    ["… against the card before", (f) => change(f.at_before, f.at)],
    ["Called", (f) => whole(f.called)],
    ["Called now, not before (events)", (f) => moved(f, "now")],
    ["No longer called (events)", (f) => moved(f, "no")],
  ];
  const last = state.history[state.history.length - 1]!;
  return (
    <section class="costs" aria-labelledby="costs">
      <h2 id="costs">What it costs</h2>
      <div aria-live="polite">
        {last.effect && (
          <p>
            <strong>{last.what}</strong>: {last.effect}.
          </p>
        )}
        {state.standing.sentences.map((sentence) => (
          <p key={sentence} class={state.standing.broken.length ? "warm" : ""}>
            {sentence}
          </p>
        ))}
      </div>
      <p class="note">
        This is about what solvers maximise on the training rows
        {state.teacher
          ? `: outcomes blended with the risks of ${state.teacher}, less the price of questions`
          : ": net benefit less the price of questions"}
        .
        {state.share_kept !== null &&
          ` There, the card keeps ${share(Math.floor(state.share_kept * 1000) / 1000)} of the ` +
            "teacher’s net benefit."}
      </p>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">By the outcomes</th>
            {sides.map((side) => (
              <th key={side} scope="col">
                {side} rows
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, show], k) => (
            <tr key={k}>
              <th scope="row">{name}</th>
              {sides.map((side) => (
                <td key={side}>{show(state.figures[side]!)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="pair">
        {sides.map((side) => (
          <figure key={side}>
            <figcaption>Decision curve, {side} rows</figcaption>
            <Curve state={state} side={side} />
          </figure>
        ))}
      </div>
      <ul class="key">
        {LINES.filter(([name]) => name !== "teacher" || state.teacher_curve).map(
          ([name, words]) => (
            <li key={name}>
              <svg viewBox="0 0 30 8" aria-hidden="true">
                <line class={name} x1="0" x2="30" y1="4" y2="4" />
              </svg>
              {words}
            </li>
          ),
        )}
      </ul>
      <div class="pair">
        {sides.map((side) => (
          <Levels key={side} found={state.figures[side]!} side={side} />
        ))}
      </div>
    </section>
  );
}

function moved(found: Figures, which: "now" | "no"): string {
  const own = found.moved;
  const [people, events] =
    which === "now"
      ? [own.now_called, own.now_called_events]
      : [own.no_longer, own.no_longer_events];
  return `${whole(people)} (${whole(events)})`;
}

const LINES: [string, string][] = [
  ["card", "card"],
  ["before", "before the last edit"],
  ["teacher", "teacher (training rows, out of fold)"],
  ["all", "treat all"],
  ["none", "treat none"],
];

const NAMES: Record<string, string> = {
  card: "card",
  before: "before",
  "Treat All": "all",
  "Treat None": "none",
};

function Curve({ state, side }: { state: State; side: Side }) {
  const curve = state.figures[side]!.curve;
  const lines = new Map<string, [number, number][]>();
  curve.model.forEach((model, i) => {
    const name = NAMES[model] ?? model;
    const value = curve.net_benefit[i];
    if (value === null || value === undefined) return;
    lines.set(name, [...(lines.get(name) ?? []), [curve.threshold[i]!, value]]);
  });
  const teacher = state.teacher_curve;
  if (teacher && side === "training") {
    lines.set(
      "teacher",
      teacher.threshold.flatMap((p, i) => {
        const value = teacher.net_benefit[i];
        return value === null || value === undefined ? [] : [[p, value] as [number, number]];
      }),
    );
  }
  const width = 360;
  const height = 220;
  const card = lines.get("card") ?? [];
  const low = card[0]?.[0] ?? 0;
  const high = card[card.length - 1]?.[0] ?? 1;
  const values = [...lines].filter(([name]) => name !== "all").flatMap(([, line]) => line);
  const top = Math.max(...values.map(([, value]) => value), 0.001) * 1.05;
  const bottom = Math.min(...values.map(([, value]) => value), 0) - 0.08 * top;
  const x = (p: number) => 44 + ((p - low) / (high - low || 1)) * (width - 56);
  const y = (value: number) => 8 + ((top - value) / (top - bottom)) * (height - 36);
  const order = ["none", "all", "teacher", "before", "card"];
  return (
    <svg
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={`Net benefit by threshold on ${side} rows`}
    >
      <clipPath id={`inside-${side}`}>
        <rect x="44" y="8" width={width - 56} height={height - 36} />
      </clipPath>
      <line class="axis" x1="44" x2={width - 12} y1={y(0)} y2={y(0)} />
      <line
        class="at"
        x1={x(state.threshold)}
        x2={x(state.threshold)}
        y1="8"
        y2={height - 28}
        clip-path={`url(#inside-${side})`}
      />
      {order.map((name) => {
        const line = lines.get(name);
        if (!line) return null;
        const path = line.map(([p, value]) => `${x(p).toFixed(1)},${y(value).toFixed(1)}`);
        return (
          <polyline
            key={name}
            class={name}
            points={path.join(" ")}
            clip-path={`url(#inside-${side})`}
          />
        );
      })}
      <text x="40" y={y(0) + 4} text-anchor="end">
        0
      </text>
      <text x="40" y="16" text-anchor="end">
        {top.toFixed(2)}
      </text>
      <text x="44" y={height - 10}>
        {share(low, 0)}
      </text>
      <text x={width - 12} y={height - 10} text-anchor="end">
        {share(high, 0)}
      </text>
    </svg>
  );
}

function Levels({ found, side }: { found: Figures; side: Side }) {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={`Calibration, ${side} rows`}>
      <table class="levels">
        <caption>Calibration by score, {side} rows</caption>
        <thead>
          <tr>
            <th scope="col">Score</th>
            <th scope="col">Risk</th>
            <th scope="col">Observed (95%)</th>
            <th scope="col">Rows</th>
          </tr>
        </thead>
        <tbody>
          {found.levels.map((level) => (
            <tr key={level.scores}>
              <th scope="row">{level.scores}</th>
              <td>{level.risk_text}</td>
              <td>
                {level.rate === null
                  ? "–"
                  : `${share(level.rate)} (${share(level.low)} to ${share(level.high)})`}
              </td>
              <td>{whole(level.n)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
