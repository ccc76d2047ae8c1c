/** Return the scaled score of a row, or null where the card refuses it. */
function scaledScore(row) {
  const units = unitsOf(row);
  if (units === null) return null;
  const scaled = BigInt(SCALE.offset) + BigInt(SCALE.multiplier) * wholeScore(units);
  return Number.isSafeInteger(Number(scaled)) ? Number(scaled) : scaled;
}
