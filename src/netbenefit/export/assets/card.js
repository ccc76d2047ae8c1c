const COMBINE = {
  sum: (a, b) => a + b,
  max: (a, b) => Math.max(a, b),
  min: (a, b) => Math.min(a, b),
};
const TESTS = {
  ">=": (x, v) => x >= v,
  ">": (x, v) => x > v,
  "<=": (x, v) => x <= v,
  "<": (x, v) => x < v,
  "==": (x, v) => x === v,
  "!=": (x, v) => x !== v,
  between: (x, v) => v[0] <= x && x < v[1],
  in: (x, v) => v.includes(x),
  "not in": (x, v) => !v.includes(x),
};
const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
// Blanks as Python's strip() has them, which are not quite those of trim().
const BLANKS =
  "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const EDGES = new RegExp(`^${BLANKS}|${BLANKS}$`, "g");

// One plain value as the card reads it: null where missing, undefined where it cannot be used.
function plainValue(input, raw) {
  if (raw === null || raw === undefined) return null;
  if (typeof raw === "string") {
    const bare = raw.replace(EDGES, "");
    if (bare === "" || input.special.includes(bare)) return null;
    if (input.kind === "text") return raw;
    if (input.numerals && NUMERAL.test(bare)) {
      const number = Number(bare);
      if (Number.isFinite(number)) return number;
    }
    return input.kind === "any" ? raw : undefined;
  }
  const number = typeof raw === "boolean" || typeof raw === "bigint" ? Number(raw) : raw;
  if (typeof number !== "number") return input.kind === "any" ? "" : undefined;
  if (Number.isNaN(number)) return null;
  if (input.kind === "any") return number;
  if (!Number.isFinite(number)) return undefined;
  if (input.kind === "number") return number;
  if (!input.spelt || typeof raw === "boolean") return undefined;
  return input.special.includes(number) ? null : spelt(number);
}

// A number as the text of a level: 7 is the level "7", and 0.00001 the level "1e-05".
function spelt(number) {
  if (Number.isInteger(number)) return BigInt(number).toString();
  if (Math.abs(number) >= 1e-4) return String(number);
  return number.toExponential().replace(/-(\d)$/, "-0$1");
}

// What a missing or special value counts as: null where it stays missing, undefined if refused.
function filled(reading, value) {
  if (value === undefined) return undefined;
  if (value !== null && !reading.special.includes(value)) return value;
  return reading.refuse ? undefined : reading.fill;
}

function inputValue(input, row) {
  if (!Object.prototype.hasOwnProperty.call(row, input.name)) return undefined;
  return filled(input, plainValue(input, row[input.name]));
}

// The value that a column's rules look at: undefined where the row can have no score.
function stepValue(step, row) {
  const parts = step.inputs.map((index) => inputValue(CARD.inputs[index], row));
  if (parts.includes(undefined)) return undefined;
  let value = parts[0];
  if (step.combine !== null) {
    value = parts.includes(null) ? null : parts.reduce(COMBINE[step.combine]);
    value = filled(step, value);
  }
  return value === null && !step.mayMiss ? undefined : value;
}

// The whole number that a term makes of a value; undefined where it is too large to be exact.
function codeOf(term, value) {
  if (value === null || term.op === "missing") {
    return value === null && term.op === "missing" ? 1 : 0;
  }
  if (term.op === "per unit" || term.op === "log") {
    let x = value;
    if (term.lower !== null && x < term.lower) x = term.lower;
    if (term.upper !== null && x > term.upper) x = term.upper;
    if (term.op === "log") return reached(CARD.ends[term.decimals], x);
    const steps = x * 10 ** term.decimals;
    return Math.abs(steps) > 2 ** 53 ? undefined : Math.floor(steps + 0.5);
  }
  return TESTS[term.op](value, term.value) ? 1 : 0;
}

// How many of some ascending numbers are at most x.
function reached(ends, x) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The units of one column, as a BigInt: exact, however many points a unit brings.
function unitsOfStep(step, value) {
  if (value === undefined) return null;
  let units = BigInt(step.base);
  for (const [term, factor] of step.terms) {
    const code = codeOf(term, value);
    if (code === undefined) return null;
    units += BigInt(factor) * BigInt(code);
  }
  return units;
}

// All units of a row; null where it can have no score.
function unitsOf(row) {
  let units = 0n;
  for (const step of CARD.steps) {
    const own = unitsOfStep(step, stepValue(step, row));
    if (own === null) return null;
    units += own;
  }
  return units >= -(2n ** 63n) && units < 2n ** 63n ? units : null;
}

function wholeScore(units) {
  const unit = BigInt(CARD.unit);
  const rest = ((units % unit) + unit) % unit;
  return (units - rest) / unit;
}

// The row of the SCORE to RISK table that a score stands in.
function levelOf(score) {
  let level = 0;
  CARD.risks.forEach(([low], index) => {
    if (low !== null && score >= BigInt(low)) level = index;
  });
  return level;
}

/** Return the score of a row, or null where the card refuses it. */
function score(row) {
  const units = unitsOf(row);
  if (units === null) return null;
  const whole = wholeScore(units);
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
}

/** Return the risk of a row, from 0 to 1, or null where the card refuses it. */
function risk(row) {
  const units = unitsOf(row);
  return units === null ? null : CARD.risks[levelOf(wholeScore(units))][1];
}
