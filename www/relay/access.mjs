// Who calls, where a secret for all is not enough: a function of the request that gives the caller's name, or a Response
// that refuses. Its name is the same for each request of a caller; sessions and quotas are by it. For instance:
//
//   export default async (request) => {
//     const user = await whoHasThisToken(request.headers.get("authorization"));
//     return user ?? new Response(null, { status: 401 });
//   };
export default undefined;
