// Every client that the drop-in is tried with.
import { aiSdk1, aiSdk2, aiSdk2Modern } from "./ai-sdk.mjs";
import { sdkV1 } from "./sdk-v1.mjs";
import { sdkV2Auto, sdkV2Legacy, sdkV2Modern } from "./sdk-v2.mjs";

export { aiSdk1, aiSdk2, aiSdk2Modern, sdkV1, sdkV2Auto, sdkV2Legacy, sdkV2Modern };

export const clients = [sdkV1, sdkV2Legacy, sdkV2Modern, aiSdk1, aiSdk2, aiSdk2Modern];
