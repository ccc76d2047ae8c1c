// What the server says: `netbenefit.studio.views`.

export interface Answer {
  text: string;
  points: number;
  editable: boolean;
  value?: number | string | null;
}

export interface Question {
  column: string;
  label: string;
  unit: string | null;
  answers: Answer[];
  units: { text: string; points: number }[];
}

export interface Card {
  title: string;
  asked: string;
  questions: Question[];
  risks: { scores: string; risk: number; text: string }[];
  notes: string[];
  footer: string;
}

export interface Condition {
  rule: string;
  column: string;
  points: number;
  off: number | null;
  cuts: number[];
}

export type Limit = { kind: string } & Record<string, unknown>;

export interface Step {
  number: number;
  when: string;
  by: "person" | "solver";
  what: string;
  effect: string;
}

export interface Level {
  scores: string;
  risk: number;
  risk_text: string;
  n: number;
  events: number;
  rate: number | null;
  low: number | null;
  high: number | null;
}

export interface Figures {
  n: number;
  events: number;
  net_benefit: number;
  net_benefit_before: number;
  at: number;
  at_before: number;
  called: number;
  called_before: number;
  moved: {
    now_called: number;
    now_called_events: number;
    no_longer: number;
    no_longer_events: number;
  };
  curve: { model: string[]; threshold: number[]; net_benefit: (number | null)[] };
  levels: Level[];
}

export type Side = "training" | "held-out";

export interface State {
  revision: number;
  card: Card;
  conditions: Condition[];
  limits: { text: string; limit: Limit }[];
  model_limits: string[];
  history: Step[];
  can_undo: boolean;
  can_redo: boolean;
  standing: { sentences: string[]; broken: string[]; settled: boolean };
  teacher: string | null;
  share_kept: number | null;
  thresholds: number[];
  threshold: number;
  figures: Partial<Record<Side, Figures>>;
  teacher_curve: { threshold: number[]; net_benefit: (number | null)[] } | null;
}

export interface News {
  revision: number;
  search: Search | null;
  ended: string;
}

export interface Search {
  done: boolean;
  objective: number | null;
  bound: number | null;
  rules: number | null;
  seconds: number | null;
  cards: number | null;
}

export interface Candidate {
  rule: string;
  column: string;
  points: number;
  gain: number;
  allowed: boolean;
}

export interface Alternative {
  points: Record<string, number>;
  columns: string[];
  objective: number;
  loss: number;
  rules: number;
  questions: number;
  agreement: number;
  present: boolean;
}

export interface Alternatives {
  complete: boolean;
  tolerance: number;
  cards: Alternative[];
}

export type Pair = [number, number] | null;

export interface Group {
  name: string;
  n: number;
  events: number;
  net_benefit: number | null;
  at: number | null;
  at_interval: Pair;
  mean_risk: number | null;
  observed: number | null;
  observed_interval: Pair;
  sensitivity: number | null;
  sensitivity_interval: Pair;
  specificity: number | null;
  specificity_interval: Pair;
}

export interface Bin {
  low: number;
  high: number;
  events: number;
  others: number;
}

export type Edit =
  | { kind: "points"; rule: string; points: number }
  | { kind: "answer"; column: string; value: number | string | null; points: number }
  | { kind: "off" | "on"; rule: string }
  | { kind: "cut"; column: string; old: number; new: number }
  | { kind: "rename"; what: string; column: string | null; text: string | null }
  | { kind: "limits"; limits: Limit[] }
  | { kind: "take over"; points: Record<string, number>; origin: string };
