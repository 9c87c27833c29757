/**
 * Gets a session-transfer token from the gateway for the app's refresh token: it signs one WebView in, once and within a
 * minute. With react-native-auth0, `getSSOCredentials()` does the same.
 *
 * @param {{gateway: string, clientID: string, refreshToken: () => Promise<string>, keep: (token: string) => Promise<void>}} app
 *   The host with the gateway's endpoints (`https://auth.example.com`), the app's client, and where it keeps its refresh token.
 */
export async function mint({gateway, clientID, refreshToken, keep}) {
  const answer = await fetch(`${gateway}/oauth/token`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({
      grant_type: 'refresh_token',
      client_id: clientID,
      refresh_token: await refreshToken(),
      audience: `urn:${new URL(gateway).host}:session_transfer`,
    }),
  });
  if (!answer.ok) throw new Error(`no transfer token: ${answer.status}`);
  const tokens = await answer.json();
  // The refresh token has been replaced: the one that was sent counts no more.
  if (tokens.refresh_token) await keep(tokens.refresh_token);
  return tokens.access_token;
}

/** The path and query that the gateway's page asks for; null if the message is no challenge of this origin. */
export function challengedTarget(message, origin) {
  try {
    const {type, realm, return_to: target} = JSON.parse(message);
    const isOurs = type === 'session_transfer' && realm === origin && typeof target === 'string';
    return isOurs && target.startsWith('/') && !target.startsWith('//') ? target : null;
  } catch {
    return null;
  }
}

/**
 * Three tries a minute. Without a bound, a device whose tokens are refused, or a WebView that keeps no cookies, would go
 * round for ever.
 */
export function makeTries() {
  let times = [];
  return (now = Date.now()) => {
    times = times.filter(time => now - time <= 60_000);
    times.push(now);
    return times.length <= 3;
  };
}
