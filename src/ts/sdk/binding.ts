// What the SDK of a Client brings along.

import type { FetchLike } from "../api/options.js";
import type { Instances } from "../core/instance.js";
import { type ReadProvider, smallProviders } from "../http/credentials.js";
import { plainErrors, type SdkErrors } from "./errors.js";

/** What the SDK of a Client brings along. */
export interface Sdk {
  errors: SdkErrors;
  readProvider: ReadProvider;
  /** The fetch for the server, where the provider has to sign what goes there. */
  signing?(provider: unknown, fetch: FetchLike): FetchLike | undefined;
}

/** No SDK: its errors are told by marks, and of providers only the small one is known. */
export const noSdk: Sdk = {
  errors: plainErrors,
  readProvider: smallProviders(),
};

/** Where a transport gets its module, and what the SDK of its Client brings along. */
export interface Binding {
  instances: Instances;
  sdk: Sdk;
}
