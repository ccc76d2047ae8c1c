const $ = (id) => document.getElementById(id);
const MINUS = "\u2212";
const NAMES = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const MOST_NAMES = 4;

// The threshold, exactly: as it was given, until somebody changes it; null where there is none.
let threshold = PAGE.threshold;

// -- reading fields ------------------------------------------------------------------------------

// What a field holds: {value} (null: not known), or {lack} with what is wrong with it.
function readField(field, place) {
  if (field.control === "check") return { value: $(`f${place}`).checked ? 1 : 0 };
  if (field.control === "number") return readNumber(field, place);
  const chosen =
    field.control === "select"
      ? $(`f${place}`).value
      : (document.querySelector(`input[name="f${place}"]:checked`)?.value ?? "");
  if (chosen === "") return { lack: "empty" };
  return { value: chosen === "unknown" ? null : field.values[Number(chosen)] };
}

function readNumber(field, place) {
  const box = $(`f${place}`);
  if ($(`f${place}u`)?.checked) return { value: null };
  if (box.validity.badInput) return { lack: "wrong" };
  if (box.value === "") return { lack: "empty" };
  const number = Number(box.value);
  if (!Number.isFinite(number)) return { lack: "wrong" };
  const outside =
    (field.low !== null && number < field.low) || (field.high !== null && number > field.high);
  return outside && !field.codes.includes(number) ? { lack: "outside" } : { value: number };
}

// Why a row with all fields filled in has no score: the column that the card cannot do without.
function refusedBy(row) {
  for (const [place, step] of CARD.steps.entries()) {
    const value = stepValue(step, row);
    const name = PAGE.names[place];
    if (value === undefined) return `${name} is missing, and the card has no rule for that.`;
    if (step.terms.some(([term]) => codeOf(term, value) === undefined)) {
      return `${name} is too large to be counted exactly.`;
    }
  }
  return "the score is too large.";
}

// -- words ---------------------------------------------------------------------------------------

function wholeText(number) {
  return String(number).replace("-", MINUS);
}

// Units as points: exact, with as many decimals as are needed.
function pointsText(units, plus) {
  const digits = String(units < 0n ? -units : units).padStart(PAGE.decimals + 1, "0");
  const cut = digits.length - PAGE.decimals;
  const rest = digits.slice(cut).replace(/0+$/, "");
  const text = digits.slice(0, cut) + (rest ? `.${rest}` : "");
  if (units < 0n) return MINUS + text;
  return plus && units > 0n ? `+${text}` : text;
}

// A share in percent, without more digits than it needs.
function percentText(share) {
  return `${Number((100 * share).toPrecision(4))}%`;
}

// The card's words for a risk, with more decimals where they would lie on the wrong side of the
// threshold: who decides by the number that is shown decides as the card does.
function riskText(level) {
  const shown = PAGE.risks[level];
  const risk = CARD.risks[level][1];
  if (threshold === null || !/^\d/.test(shown)) return shown;
  for (let text = shown, decimals = 2; decimals <= 8; decimals += 1) {
    if (Number(text.replace("%", "e-2")) >= threshold === risk >= threshold) return text;
    text = `${(100 * risk).toFixed(decimals)}%`;
  }
  return `${risk < threshold ? "<" : "\u2265"}${percentText(threshold)}`;
}

function counted(count, one, many) {
  const shown = count <= 10 && Number.isInteger(count) ? NAMES[count] : String(count);
  return `${shown} ${count === 1 ? one : many}`;
}

// Two whole numbers with this ratio, of which the second is small; null where there are none.
function fraction(ratio) {
  for (let below = 1; below <= 4; below += 1) {
    const above = Math.round(ratio * below);
    if (Math.abs(above / below / ratio - 1) < 1e-9) return [above, below];
  }
  return null;
}

// What a threshold says about the weights of the two errors.
function weightText(p) {
  const oftenMissed = p > 0.5; // more than one missed case for one unnecessary intervention
  const ratio = oftenMissed ? p / (1 - p) : (1 - p) / p;
  const rare = oftenMissed
    ? ["unnecessary intervention", "unnecessary interventions"]
    : ["missed case", "missed cases"];
  const common = oftenMissed
    ? ["missed case", "missed cases"]
    : ["unnecessary intervention", "unnecessary interventions"];
  const pair = fraction(ratio);
  const [above, below] = pair ?? [Number(ratio.toPrecision(3)), 1];
  const verb = below === 1 ? "weighs" : "weigh";
  const about = pair ? "as much as" : "about as much as";
  return `${counted(below, ...rare)} ${verb} ${about} ${counted(above, ...common)}`;
}

// The scores that reach the threshold, in words.
function reachText() {
  const first = PAGE.listed.findIndex(([level]) => CARD.risks[level][1] >= threshold);
  if (first < 0) return "No score on this card reaches it.";
  if (first === 0) return "Every score on this card reaches it.";
  return `On this card that is a score of ${PAGE.listed[first][1]} or more.`;
}

// -- showing -------------------------------------------------------------------------------------

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function isolated(text) {
  const name = document.createElement("bdi");
  name.textContent = text;
  return name;
}

function showNeeds(lacks, refused) {
  const needs = $("needs");
  needs.replaceChildren();
  const parts = [
    ["Not a number: ", lacks.wrong],
    ["Not plausible: ", lacks.outside],
    ["Still needed: ", lacks.empty],
  ];
  for (const [words, fields] of parts) {
    if (!fields.length) continue;
    const line = document.createElement("p");
    line.append(words);
    fields.slice(0, MOST_NAMES).forEach((field, index) => {
      line.append(index ? ", " : "", isolated(field.label));
    });
    const more = fields.length - MOST_NAMES;
    line.append(more > 0 ? ` and ${more} more` : "");
    needs.append(line);
  }
  if (refused) needs.append(Object.assign(document.createElement("p"), { textContent: refused }));
}

// Which of the answers to a question applies to a value; -1 where the value itself is counted.
function answerPlace(question, value) {
  const place = question.terms.findIndex((term) => term !== null && codeOf(term, value) === 1);
  return place < 0 && value !== null ? question.terms.indexOf(null) : place;
}

function answerText(question, index, value) {
  const place = answerPlace(question, value);
  if (place < 0 || (question.counted && value !== null)) return plainText(value);
  return document.querySelector(`[data-question="${index}"][data-answer="${place}"] [data-words]`)
    .textContent;
}

function plainText(value) {
  return value === null ? "not known" : String(value).replace("-", MINUS);
}

function showRows(row) {
  let sum = 0n;
  const lines = PAGE.questions.map((question, index) => {
    const step = CARD.steps[question.step];
    const value = stepValue(step, row);
    const brought = unitsOfStep(step, value);
    sum += brought;
    const line = document.createElement("tr");
    const answer = document.createElement("td");
    answer.append(isolated(question.name), ": ", isolated(answerText(question, index, value)));
    const points = document.createElement("td");
    points.textContent = pointsText(brought);
    line.append(answer, points);
    return line;
  });
  if (!lines.length) {
    const none = Object.assign(document.createElement("td"), { textContent: "nothing is asked" });
    none.colSpan = 2;
    lines.push(document.createElement("tr"));
    lines[0].append(none);
  }
  $("fired").replaceChildren(...lines);
  document.querySelectorAll("[data-answer]").forEach((line) => {
    const place = PAGE.questions[Number(line.dataset.question)];
    const value = stepValue(CARD.steps[place.step], row);
    line.classList.toggle("chosen", answerPlace(place, value) === Number(line.dataset.answer));
  });
  const whole = wholeScore(sum);
  const rounded = whole * BigInt(CARD.unit) !== sum;
  setText($("sum-name"), rounded ? `Score: ${pointsText(sum)}, rounded down` : "Score");
  setText($("sum"), wholeText(whole));
}

function showThreshold() {
  const mark = $("mark");
  mark.hidden = threshold === null;
  const meaning = $("meaning");
  const note = $("act-note");
  note.hidden = threshold === null;
  document.querySelectorAll("[data-level]").forEach((cell) => {
    const act = threshold !== null && CARD.risks[Number(cell.dataset.level)][1] >= threshold;
    cell.classList.toggle("act", act);
  });
  if (threshold === null) {
    setText(
      meaning,
      $("threshold").value === "" && !$("threshold").validity.badInput
        ? "Enter the risk from which you would act, to see what it means."
        : "A threshold lies between 0% and 100%.",
    );
    return;
  }
  mark.style.insetInlineStart = `${100 * threshold}%`;
  const rule = `Act when the risk is ${percentText(threshold)} or more`;
  setText(meaning, `${rule}: ${weightText(threshold)}. ${reachText()}`);
  setText(note, `${rule}. ${reachText()}`);
}

function showResult(row) {
  const units = unitsOf(row);
  const whole = wholeScore(units);
  const level = levelOf(whole);
  const share = CARD.risks[level][1];
  const shown = riskText(level);
  setText($("score"), wholeText(whole));
  setText($("risk"), shown);
  if ($("scaled")) setText($("scaled"), wholeText(scaledScore(row)));
  $("fill").style.inlineSize = `${100 * share}%`;
  const reaches = threshold !== null && share >= threshold;
  $("fill").classList.toggle("reaches", reaches);
  const verdict = $("verdict");
  verdict.hidden = threshold === null;
  verdict.classList.toggle("reaches", reaches);
  const limit = threshold === null ? "" : percentText(threshold);
  const side = reaches ? "At or above" : "Below";
  setText(verdict, `${side} the threshold of ${limit}`);
  showRows(row);
  markRisk(level);
  setText($("seen"), PAGE.seen[seenPlace(whole)] ?? "");
  $("seen").hidden = !$("seen").textContent;
  const decided = threshold === null ? "" : ` ${side} the threshold of ${limit}.`;
  return `Score ${wholeText(whole)}, risk ${shown}.${decided}`;
}

// Which count of held-out rows holds a score.
function seenPlace(score) {
  return PAGE.seenFrom.findLastIndex((first) => first === null || BigInt(first) <= score);
}

// Mark the risk of a score in the table; null where there is none to mark.
function markRisk(level) {
  document.querySelectorAll("[data-level]").forEach((line) => {
    const here = Number(line.dataset.level) === level;
    line.classList.toggle("chosen", here);
    if (here) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  });
}

function showCaution(field, place, read) {
  const caution = $(`f${place}c`);
  let words = "";
  if (read.value === null && field.unseen) {
    words = "None was missing where the card was learnt: fill it in if it is known.";
  } else if (field.whole && Number.isFinite(read.value) && !Number.isInteger(read.value)) {
    words = "Only whole numbers where the card was learnt: round it if it should be whole.";
  } else if (read.lack === "wrong") {
    words = "This is not a number.";
  } else if (read.lack === "outside") {
    words = `Not plausible: ${field.rangeText} is expected.`;
  }
  caution.hidden = words === "";
  setText(caution, words);
  if (field.control === "number") {
    const box = $(`f${place}`);
    box.disabled = Boolean($(`f${place}u`)?.checked);
    if (read.lack === "wrong" || read.lack === "outside") box.setAttribute("aria-invalid", "true");
    else box.removeAttribute("aria-invalid");
  }
}

let waiting = 0;

// Say a result once it stands still, not at every key.
function speak(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => setText($("spoken"), text), 700);
}

function update() {
  const row = {};
  const lacks = { empty: [], wrong: [], outside: [] };
  PAGE.fields.forEach((field, place) => {
    const read = readField(field, place);
    showCaution(field, place, read);
    if (read.lack) lacks[read.lack].push(field);
    else Object.defineProperty(row, field.name, { value: read.value, enumerable: true });
  });
  const bad = lacks.wrong.length + lacks.outside.length;
  const complete = !lacks.empty.length && !bad;
  const usable = complete && unitsOf(row) !== null;
  showNeeds(lacks, complete && !usable ? `No score: ${refusedBy(row)}` : "");
  $("needs").hidden = usable;
  $("figures").hidden = !usable;
  $("points").hidden = !usable;
  showThreshold();
  if (usable) {
    speak(showResult(row));
  } else {
    markRisk(null);
    $("verdict").hidden = true;
    $("seen").hidden = true;
    $("fill").style.inlineSize = "0";
    const left = `${counted(lacks.empty.length, "field", "fields")} to fill in.`;
    speak(complete || bad ? $("needs").textContent : left);
  }
}

// -- what people do ------------------------------------------------------------------------------

// Percent as typed, divided by 100 without rounding twice: 33.3 is the same number as 0.333.
function typedThreshold(box) {
  const [digits, exponent = "0"] = box.value.toLowerCase().split("e");
  const share = box.value === "" ? NaN : Number(`${digits}e${Number(exponent) - 2}`);
  return share > 0 && share < 1 ? share : null;
}

$("threshold").addEventListener("input", (event) => {
  threshold = typedThreshold(event.target);
  const wrong = threshold === null && (event.target.value !== "" || event.target.validity.badInput);
  if (wrong) event.target.setAttribute("aria-invalid", "true");
  else event.target.removeAttribute("aria-invalid");
  update();
});
$("form")?.addEventListener("input", update);
$("form")?.addEventListener("submit", (event) => event.preventDefault());
$("print").addEventListener("click", () => window.print());
$("clear")?.addEventListener("click", () => {
  $("form").reset();
  update();
});
$("rest")?.addEventListener("click", () => {
  PAGE.fields.forEach((field, place) => {
    if (!field.canMiss || readField(field, place).lack !== "empty") return;
    if (field.control === "number") $(`f${place}u`).checked = true;
    else if (field.control === "select") $(`f${place}`).value = "unknown";
    else document.querySelector(`input[name="f${place}"][value="unknown"]`).checked = true;
  });
  update();
});
window.addEventListener("pageshow", update); // a page that comes back may have kept its fields

window.netbenefit = { score, risk };
update();
