// Numbers in words: a true minus sign, and as many digits as mean something.

export const signed = (value: number, digits = 5): string =>
  value.toFixed(digits).replace("-", "−");

export const whole = (value: number): string =>
  signed(value, Number.isInteger(value) ? 0 : 1).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

export const share = (value: number | null, digits = 1): string =>
  value === null ? "–" : `${(100 * value).toFixed(digits)}%`;

export function change(before: number, now: number): string {
  const difference = now - before;
  if (Math.abs(difference) < 5e-6) return "as before";
  return `${difference > 0 ? "+" : "−"}${Math.abs(difference).toFixed(5)}`;
}

export const points = (value: number): string => `${value}`.replace("-", "−");
