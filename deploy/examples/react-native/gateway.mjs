/**
 * Why the app got no token. Each kind asks for another answer of the app:
 *
 * - `signedOut`: the user is signed out: show the app's own sign-in.
 * - `unavailable`: no network, or the gateway is away or busy: the user stays signed in, so offer to try again, after
 *   `after` seconds if the gateway says so.
 * - `cancelled`: the user closed the browser: nothing to say.
 * - `refused`: the gateway refuses what the app asks for, as it does when their settings do not fit: tell the developer.
 */
export class GatewayError extends Error {
  constructor(kind, reason = kind, after) {
    super(reason);
    this.kind = kind;
    this.after = after;
  }
}

/**
 * Asks the gateway, for 10 seconds at most: a dead network must not keep the user waiting.
 *
 * @returns The JSON of an answer with the status `expected`, or null if it has none.
 */
export async function call(method, url, body, expected = 200) {
  const {answer, text} = await send(url, {
    method,
    headers: {Accept: 'application/json', ...(body && {'Content-Type': 'application/json'})},
    body: body && JSON.stringify(body),
    // The gateway's sessions are for browsers: the app shows tokens.
    credentials: 'omit',
  });
  if (answer.status === expected) return parsed(text);
  throw refusal(answer, text);
}

/** Why an answer has another status than the expected one. */
export function refusal(answer, text) {
  if (answer.status === 429 || answer.status >= 500) {
    return new GatewayError('unavailable', `status ${answer.status}`, Number(answer.headers.get('Retry-After')) || undefined);
  }
  // Whatever the status: an `invalid_grant` of a deleted user is 403.
  const error = parsed(text)?.error;
  if (error === 'invalid_grant') return new GatewayError('signedOut');
  return new GatewayError('refused', typeof error === 'string' ? error : `status ${answer.status}`);
}

/** Fetches with a time limit, body included; `unavailable` if nothing comes. */
export async function send(url, options = {}) {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), 10_000);
  try {
    const answer = await fetch(url, {...options, signal: limit.signal});
    return {answer, text: await answer.text()};
  } catch (error) {
    throw new GatewayError('unavailable', error.message);
  } finally {
    clearTimeout(timer);
  }
}

/** The tokens that the gateway gives for `parameters` (RFC 6749, RFC 8693). */
export function tokens({origin, clientID}, parameters) {
  return call('POST', `${origin}/oauth/token`, {client_id: clientID, ...parameters});
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
