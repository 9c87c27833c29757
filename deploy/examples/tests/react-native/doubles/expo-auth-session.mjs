import {createHash, randomBytes} from 'node:crypto';
import {openAuthSessionAsync} from 'expo-web-browser';

/** Answers as Expo's does: `success`, `error` (also for another state), `cancel`. */
export class AuthRequest {
  constructor({clientId, redirectUri, scopes, usePKCE}) {
    Object.assign(this, {clientId, redirectUri, scopes, usePKCE, state: randomBytes(10).toString('base64url')});
  }

  async promptAsync({authorizationEndpoint}, options) {
    this.codeVerifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      code_challenge: createHash('sha256').update(this.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      redirect_uri: this.redirectUri,
      client_id: this.clientId,
      response_type: 'code',
      state: this.state,
      scope: this.scopes.join(' '),
    });
    const result = await openAuthSessionAsync(`${authorizationEndpoint}?${query}`, this.redirectUri, options);
    if (result.type !== 'success') return {type: result.type};
    const params = Object.fromEntries(new URL(result.url).searchParams);
    const code = params.state !== this.state ? 'state_mismatch' : params.error;
    return {type: code ? 'error' : 'success', error: code && {code}, params, url: result.url};
  }
}
