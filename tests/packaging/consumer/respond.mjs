// What every Worker here does with a request.
import { carry } from "./call.mjs";

/** What is the same in every Worker: the address and the key are in the query of the request, the outcome is the response. */
export async function respond(connect, request) {
  const query = new URL(request.url).searchParams;
  try {
    return Response.json(await carry(connect, query.get("url"), query.get("key")));
  } catch (error) {
    return new Response(String(error?.stack ?? error), { status: 500 });
  }
}
