// What servers of the protocol say, as far as it is named here. It is given as it came: landfall checks its form and not
// its members.

/** Members that anybody may add, under names with a prefix of their own. */
export type Meta = Record<string, unknown>;

/** Who speaks in a conversation with a model. */
export type Role = "user" | "assistant";

/** How much a log message matters, the least first. */
export type LoggingLevel =
  | "debug"
  | "info"
  | "notice"
  | "warning"
  | "error"
  | "critical"
  | "alert"
  | "emergency";

/** A picture of something, small. */
export interface Icon {
  /** Where it is: a URL, or a `data:` URI. */
  src: string;
  /** Its media type. */
  mimeType?: string;
  /** As in `48x48`, or `any`. */
  sizes?: string[];
  /** The background that it was drawn for. */
  theme?: "light" | "dark";
}

/** A program, by its name and version. */
export interface Implementation {
  /** Its name, for a program. */
  name: string;
  /** Its version. */
  version: string;
  /** Its name, for a person. */
  title?: string;
  /** What it is. */
  description?: string;
  /** Where there is more about it. */
  websiteUrl?: string;
  /** Pictures of it. */
  icons?: Icon[];
}

/** What a server can do: a member that is there says that it can. */
export interface ServerCapabilities {
  /** Tools, and whether it tells when they change. */
  tools?: { listChanged?: boolean };
  /** Resources; whether it tells when one changes, and when their list does. */
  resources?: { subscribe?: boolean; listChanged?: boolean };
  /** Prompts, and whether it tells when they change. */
  prompts?: { listChanged?: boolean };
  /** `completion/complete`. */
  completions?: object;
  /** Log messages, of the level that `logging/setLevel` asks for. */
  logging?: object;
  /** What is no part of the protocol. */
  experimental?: Record<string, unknown>;
  /** What this version of landfall does not name. */
  [capability: string]: unknown;
}

/** For whom something is, and how much it matters. */
export interface Annotations {
  /** Whom it is for. */
  audience?: Role[];
  /** From 0, least, to 1, required. */
  priority?: number;
  /** When it was changed last, in ISO 8601. */
  lastModified?: string;
}

/** A JSON Schema of an object. */
export interface ObjectSchema {
  /** Always an object. */
  type: "object";
  /** The schema of each member. */
  properties?: Record<string, object>;
  /** The members that must be there. */
  required?: string[];
  /** What else JSON Schema has. */
  [keyword: string]: unknown;
}

/** What a server says of a tool: hints, not to be relied on where the server is not trusted. */
export interface ToolAnnotations {
  /** Its name, for a person. */
  title?: string;
  /** It changes nothing. */
  readOnlyHint?: boolean;
  /** It may destroy something. */
  destructiveHint?: boolean;
  /** Calling it again with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** It deals with a world that others change, too. */
  openWorldHint?: boolean;
}

/** A tool, as the server lists it. */
export interface Tool {
  /** Its name, for `callTool`. */
  name: string;
  /** Its name, for a person. */
  title?: string;
  /** What it does, for a model. */
  description?: string;
  /** Of its arguments. */
  inputSchema: ObjectSchema;
  /** Of the `structuredContent` of its results. */
  outputSchema?: ObjectSchema;
  /** Hints. */
  annotations?: ToolAnnotations;
  /** Pictures of it. */
  icons?: Icon[];
  /** What others added. */
  _meta?: Meta;
  /** What this version of landfall does not name. */
  [member: string]: unknown;
}

/** Text. */
export interface TextContent {
  /** What it is. */
  type: "text";
  /** The text. */
  text: string;
  /** For whom. */
  annotations?: Annotations;
  /** What others added. */
  _meta?: Meta;
}

/** An image, or a sound. */
export interface MediaContent {
  /** What it is. */
  type: "image" | "audio";
  /** The bytes, as base64. */
  data: string;
  /** Its media type. */
  mimeType: string;
  /** For whom. */
  annotations?: Annotations;
  /** What others added. */
  _meta?: Meta;
}

/** A resource, as the server lists it. */
export interface Resource {
  /** Its name, for `resources/read`. */
  uri: string;
  /** Its name, for a program. */
  name: string;
  /** Its name, for a person. */
  title?: string;
  /** What it is, for a model. */
  description?: string;
  /** Its media type. */
  mimeType?: string;
  /** Its bytes, as they are. */
  size?: number;
  /** For whom. */
  annotations?: Annotations;
  /** Pictures of it. */
  icons?: Icon[];
  /** What others added. */
  _meta?: Meta;
}

/** Resources whose URIs follow a pattern. */
export interface ResourceTemplate extends Omit<Resource, "uri" | "size"> {
  /** The pattern, as of RFC 6570. */
  uriTemplate: string;
}

/** What is in a resource: it has `text`, or else a `blob`. */
export interface ResourceContents {
  /** The resource. */
  uri: string;
  /** Its media type. */
  mimeType?: string;
  /** What is in it, where that is text. */
  text?: string;
  /** What is in it, as base64. */
  blob?: string;
  /** What others added. */
  _meta?: Meta;
}

/** A resource that the server can read. */
export interface ResourceLink extends Resource {
  /** What it is. */
  type: "resource_link";
}

/** A resource, with what is in it. */
export interface EmbeddedResource {
  /** What it is. */
  type: "resource";
  /** The resource. */
  resource: ResourceContents;
  /** For whom. */
  annotations?: Annotations;
  /** What others added. */
  _meta?: Meta;
}

/** A piece of what a tool or a prompt gives. */
export type ContentBlock = TextContent | MediaContent | ResourceLink | EmbeddedResource;

/** What a tool gave. `Structured` is the caller's word on its `structuredContent`, which nobody checks. */
export interface CallToolResult<Structured = Record<string, unknown>> {
  /** What it gave, for a model. */
  content: ContentBlock[];
  /** What it gave, for a program: as its `outputSchema` says, where it has one. */
  structuredContent?: Structured;
  /** It failed, and `content` says how. */
  isError?: boolean;
  /** What others added. */
  _meta?: Meta;
}

/** A prompt, as the server lists it. */
export interface Prompt {
  /** Its name, for `prompts/get`. */
  name: string;
  /** Its name, for a person. */
  title?: string;
  /** What it is for. */
  description?: string;
  /** What may be filled in. */
  arguments?: PromptArgument[];
  /** Pictures of it. */
  icons?: Icon[];
  /** What others added. */
  _meta?: Meta;
}

/** What may be filled in in a prompt. */
export interface PromptArgument {
  /** Its name, for `prompts/get`. */
  name: string;
  /** Its name, for a person. */
  title?: string;
  /** What it is. */
  description?: string;
  /** It must be there. */
  required?: boolean;
}

/** One message of a prompt. */
export interface PromptMessage {
  /** Who speaks. */
  role: Role;
  /** What is said. */
  content: ContentBlock;
}

/** One page of a list. */
export interface PageResult {
  /** Where the next page begins, for the `cursor` of the next request; absent on the last. */
  nextCursor?: string;
  /** What others added. */
  _meta?: Meta;
}

/** What is asked with a request that has nothing to say. */
export interface EmptyParams {
  /** What others added. */
  _meta?: Meta;
}

/** An answer that says no more than that it is one. */
export interface EmptyResult {
  /** What others added. */
  _meta?: Meta;
}

/** What is asked with a request for one page of a list. */
export interface PageParams extends EmptyParams {
  /** `nextCursor` of the page before; absent for the first. */
  cursor?: string;
}

/** What is asked with a request about one resource. */
export interface ResourceParams extends EmptyParams {
  /** Its name. */
  uri: string;
}

/** What is asked with `tools/call`. */
export interface CallToolParams extends EmptyParams {
  /** The tool. */
  name: string;
  /** As its `inputSchema` says. */
  arguments?: Record<string, unknown>;
}

/** What is asked with `prompts/get`. */
export interface GetPromptParams extends EmptyParams {
  /** The prompt. */
  name: string;
  /** What is filled in. */
  arguments?: Record<string, string>;
}

/** A prompt that was filled in. */
export interface GetPromptResult extends EmptyResult {
  /** What it is for. */
  description?: string;
  /** What it says. */
  messages: PromptMessage[];
}

/** What is asked with `completion/complete`. */
export interface CompleteParams extends EmptyParams {
  /** What is being filled in: a prompt by its name, or a template by its URI. */
  ref: { type: "ref/prompt"; name: string; title?: string } | { type: "ref/resource"; uri: string };
  /** The argument, and what there is of it. */
  argument: { name: string; value: string };
  /** What was filled in already. */
  context?: { arguments?: Record<string, string> };
}

/** How something may be filled in. */
export interface CompleteResult extends EmptyResult {
  /** At most 100 values, the best first; how many there are in all, and whether there are more. */
  completion: { values: string[]; total?: number; hasMore?: boolean };
}

/** What is asked with `logging/setLevel`. */
export interface SetLevelParams extends EmptyParams {
  /** Messages of this level and above. */
  level: LoggingLevel;
}

/** The requests of the protocol: what is asked with each, and what the answer is. */
export interface RequestMap {
  /** Whether the server is there. */
  ping: { params: EmptyParams; result: EmptyResult };
  /** Calls a tool, as `callTool` does. */
  "tools/call": { params: CallToolParams; result: CallToolResult };
  /** One page of the tools; `listTools` gives all. */
  "tools/list": { params: PageParams; result: PageResult & { tools: Tool[] } };
  /** One page of the resources. */
  "resources/list": { params: PageParams; result: PageResult & { resources: Resource[] } };
  /** One page of the templates of resources. */
  "resources/templates/list": {
    params: PageParams;
    result: PageResult & { resourceTemplates: ResourceTemplate[] };
  };
  /** What is in a resource, which may be several. */
  "resources/read": { params: ResourceParams; result: EmptyResult & { contents: ResourceContents[] } };
  /** Wants to be told when a resource changes. */
  "resources/subscribe": { params: ResourceParams; result: EmptyResult };
  /** Does not want that any more. */
  "resources/unsubscribe": { params: ResourceParams; result: EmptyResult };
  /** One page of the prompts. */
  "prompts/list": { params: PageParams; result: PageResult & { prompts: Prompt[] } };
  /** Fills a prompt in. */
  "prompts/get": { params: GetPromptParams; result: GetPromptResult };
  /** How an argument may be filled in. */
  "completion/complete": { params: CompleteParams; result: CompleteResult };
  /** From which level on the server sends log messages. */
  "logging/setLevel": { params: SetLevelParams; result: EmptyResult };
}

/** What follows the name of a method: its params, which may be left out where none are needed, and options. */
export type RequestArguments<Method extends keyof RequestMap, Options> =
  Record<never, never> extends RequestMap[Method]["params"]
    ? [params?: RequestMap[Method]["params"], options?: Options]
    : [params: RequestMap[Method]["params"], options?: Options];
