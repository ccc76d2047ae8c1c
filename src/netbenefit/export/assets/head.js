// A scorecard, written by netbenefit {version}.
//
//   import {{ {names} }} from "./card.mjs";
//   score(row)  the score, a whole number (a BigInt where it is beyond 2**53)
//   risk(row)   the risk, from 0 to 1
{scaled}//
// row is a plain object with all columns of the card by name: numbers, booleans or text.  Missing
// is null, undefined, NaN or blank text.  All return null where the card refuses the row: a column
// is absent or of the wrong kind, or a value is missing and no rule covers that.
