// The version of the package.

/** The version of the package, as `clientInfo` tells it to servers that are given no other. */
export const VERSION = "0.1.0";
