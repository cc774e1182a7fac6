// Made by the build: the gzipped module as base64.
declare const base64: string;
export default base64;
