// What programs read out of the text of an error: `agents` and others choose between credentials and another transport
// by these words, so that a text may have them only where they are what happened.

const WORDS = [
  [/401|Unauthorized/, 401],
  [/404/, 404],
  [/405/, 405],
  [/Not Implemented|not implemented/, 501],
];

/** What a text says that did not happen; `statuses` are those that were met. */
export function misleading(text, ...statuses) {
  return WORDS.filter(([word, meant]) => word.test(text) && !statuses.includes(meant)).map(
    ([word]) => `says ${word}: ${text}`,
  );
}
