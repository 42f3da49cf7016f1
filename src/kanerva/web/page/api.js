// The HTTP API of the server that this page came from.

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers: body === undefined ? {} : { "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      signal: AbortSignal.timeout(35_000),
    });
  } catch {
    throw new ApiError("The server does not answer. Start it again with: kanerva play", 0);
  }
  if (answer.status === 204) return null;
  let found;
  try {
    found = await answer.json();
  } catch {
    throw new ApiError(`The server gave an answer that is not JSON (${answer.status}).`, answer.status);
  }
  if (!answer.ok) {
    const { got, fix, message } = found.error ?? {};
    throw new ApiError(got && fix ? `${got}. ${fix}` : message ?? `Error ${answer.status}`, answer.status);
  }
  return found;
}
