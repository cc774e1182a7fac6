// Options that all clients are given.

/** The official clients' own timer: later than anything landfall is given to decide. Their default is 60 s. */
export const CLIENT_MS = 9_000;
