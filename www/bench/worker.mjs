// The Worker that is measured: a request names the scenario, and is answered with its samples.
import { run } from "./hosted.mjs";

export default {
  async fetch(request) {
    try {
      const { id, ...how } = await request.json();
      return Response.json(await run(id, how));
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 });
    }
  },
};
