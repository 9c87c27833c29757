import {AuthRequest} from 'expo-auth-session';
import {openAuthSessionAsync} from 'expo-web-browser';
import {accessToken} from './AppSession.mjs';
import {GatewayError, call, tokens} from './gateway.mjs';

/**
 * Signs the user in at `/authorize`, in the system's browser, with PKCE and a state (`AuthRequest` makes and compares them). The
 * app gets a refresh token.
 *
 * @param {AppSession} session
 * @param {string} redirectUri One of the client's `callbacks`: `com.example.app:/callback`, with the scheme in app.json, or an
 *   https URL that the app claims.
 * @param {string[]} scopes With `offline_access` the app gets a refresh token. Those of its API stand here, too.
 */
export async function signIn(session, redirectUri, scopes = ['openid', 'offline_access']) {
  const {origin, clientID} = session.gateway;
  const request = new AuthRequest({
    clientId: clientID,
    redirectUri,
    scopes,
    usePKCE: true,
  });
  const result = await request.promptAsync({authorizationEndpoint: `${origin}/authorize`}, optionsFor(redirectUri));
  if (result.type === 'error') {
    const reason = result.params?.error ?? result.error?.code ?? 'another state';
    throw new GatewayError(reason === 'temporarily_unavailable' ? 'unavailable' : 'refused', reason);
  }
  if (result.type !== 'success') throw new GatewayError('cancelled');
  const answer = await redeem(
    tokens(session.gateway, {
      grant_type: 'authorization_code',
      code: result.params.code,
      redirect_uri: redirectUri,
      code_verifier: request.codeVerifier,
    }),
  );
  if (!answer.refresh_token) throw new GatewayError('refused', 'no refresh token');
  await session.begin({credential: {refreshToken: answer.refresh_token}, access: accessToken(answer)});
}

/**
 * Signs the user in as Kratos's apps do. The app gets a session token.
 *
 * @param {string} returnTo One of the gateway's `exchange.return_to`.
 * @param {string} provider One of its `exchange.providers`.
 */
export async function signInByExchange(session, returnTo, provider) {
  const {origin} = session.gateway;
  const query = `return_session_token_exchange_code=true&return_to=${encodeURIComponent(returnTo)}`;
  const flow = await call('GET', `${origin}/self-service/login/api?${query}`);
  const {redirect_browser_to: page} = await call('POST', flow.ui.action, {method: 'oidc', provider}, 422);
  const result = await openAuthSessionAsync(page, returnTo, optionsFor(returnTo));
  if (result.type !== 'success') throw new GatewayError('cancelled');
  const code = codeOf(result.url, returnTo);
  // Another app that registers the scheme gets this code only, which is nothing without the first.
  const codes = `init_code=${encodeURIComponent(flow.session_token_exchange_code)}&return_to_code=${encodeURIComponent(code)}`;
  const answer = await redeem(call('GET', `${origin}/sessions/token-exchange?${codes}`));
  await session.begin({credential: {sessionToken: answer.session_token}});
}

/**
 * Ends the session of the system's browser, if the next sign-in is to ask for a password again.
 *
 * @param {string} returnTo One of the client's `allowed_logout_urls`.
 */
export async function signOutOfTheBrowser(session, returnTo) {
  const {origin, clientID} = session.gateway;
  const query = `client_id=${encodeURIComponent(clientID)}&post_logout_redirect_uri=${encodeURIComponent(returnTo)}`;
  await openAuthSessionAsync(`${origin}/oidc/logout?${query}`, returnTo, optionsFor(returnTo));
}

// Else iOS would wait for a scheme `https`, and for ever.
const optionsFor = callback => ({preferUniversalLinks: callback.startsWith('https:')});

function codeOf(url, returnTo) {
  const [place, query = ''] = url.split('#')[0].split('?');
  const code = query.split('&').find(part => part.startsWith('code='));
  if (place !== returnTo || !code) throw new GatewayError('refused', 'another callback');
  return decodeURIComponent(code.slice(5));
}

// A code that is not good any more: nobody was signed in.
async function redeem(answer) {
  try {
    return await answer;
  } catch (error) {
    throw error.kind === 'signedOut' ? new GatewayError('refused', 'the code has ended') : error;
  }
}
