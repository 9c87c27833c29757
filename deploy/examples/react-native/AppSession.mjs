import {GatewayError, call, refusal, send, tokens} from './gateway.mjs';

/**
 * Whether the user is signed in to the app, and the tokens for that. One object for the whole app.
 *
 * The store keeps `{refreshToken}`, from `/authorize`, which each use replaces, or `{sessionToken}`, from the exchange of two
 * codes, which stays the same until the session ends and is the app's access token, too.
 */
export class AppSession {
  #gateway;
  #store;
  #changed;
  // What counts, also while the store cannot keep it.
  #newest = null;
  #access = null;
  #refresh = null;
  #last = Promise.resolve();

  /**
   * @param {{origin: string, clientID: string}} gateway The host with the gateway's endpoints (`https://app.example.com`), and
   *   the name of this app among its `clients`.
   * @param {{load: () => Promise<object|null>, save: (credential: object) => Promise<void>, delete: () => Promise<void>}} store
   * @param {(isSignedIn: boolean) => void} changed
   */
  constructor(gateway, store, changed = () => {}) {
    this.#gateway = gateway;
    this.#store = store;
    this.#changed = changed;
  }

  get gateway() {
    return this.#gateway;
  }

  async isSignedIn() {
    return (await this.#credential()) !== null;
  }

  /** Keeps what a sign-in gave. */
  async begin({credential, access = null}) {
    await this.#last;
    this.#newest = credential;
    this.#access = access;
    await this.#store.save(credential);
    this.#changed(true);
  }

  /** A token for the app's API, good for 30 seconds at least. All who need one wait for the same refresh. */
  accessToken() {
    if (this.#access?.ends > Date.now() + 30_000) return Promise.resolve(this.#access.value);
    this.#refresh ??= this.#inTurn(async credential => {
      if (credential.sessionToken) return credential.sessionToken;
      const answer = await this.#use(credential.refreshToken);
      this.#access = accessToken(answer);
      return answer.access_token;
    }).finally(() => (this.#refresh = null));
    return this.#refresh;
  }

  /** The answer of the app's API, and its text. A token that was ended early is replaced once. */
  async fetch(url, options = {}) {
    const withToken = async () => {
      const headers = {...options.headers, Authorization: `Bearer ${await this.accessToken()}`};
      return send(url, {...options, headers, credentials: 'omit'});
    };
    const first = await withToken();
    if (first.answer.status !== 401) return first;
    this.#access = null;
    return withToken();
  }

  /** A token that signs one WebView or browser in, once and within a minute. Each page needs one of its own. */
  transferToken() {
    const audience = `urn:${hostname(this.#gateway.origin)}:session_transfer`;
    return this.#inTurn(async ({refreshToken, sessionToken}) => {
      const answer = refreshToken
        ? await this.#use(refreshToken, {audience})
        : await tokens(this.#gateway, {
            grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
            subject_token: sessionToken,
            subject_token_type: 'urn:sallyport:params:oauth:token-type:session_token',
            audience,
          });
      return answer.access_token;
    });
  }

  /**
   * Signs the user out: of this app, and of all browsers and WebViews that it has signed in. On the device that holds even if
   * this throws `unavailable`; then the gateway learns nothing of it, and its sessions end by themselves.
   */
  signOut() {
    const {origin, clientID} = this.#gateway;
    return this.#inTurn(async ({refreshToken, sessionToken}) => {
      await this.#forget();
      if (refreshToken) await call('POST', `${origin}/oauth/revoke`, {client_id: clientID, token: refreshToken});
      else await call('DELETE', `${origin}/self-service/logout/api`, {session_token: sessionToken}, 204);
    });
  }

  /**
   * The user's other sessions, the latest first: `{id, issued_at, devices: [{ip_address, user_agent}]}`. This app's session is not
   * one of them. After a sign-in at `/authorize`, this needs the scope `sessions`, and `manage_sessions` in the client's settings.
   */
  async otherSessions() {
    return JSON.parse(await this.#sessions('GET', '', 200));
  }

  /** Signs one of the other sessions out, for example the lost phone. 404: it has ended. */
  async endSession({id}) {
    await this.#sessions('DELETE', `/${id}`, 204, 404);
  }

  /** Signs all the other sessions out, also the pages in this app's WebViews, which then get new ones. */
  async endOtherSessions() {
    await this.#sessions('DELETE', '', 200);
  }

  async #sessions(method, path, ...expected) {
    const url = `${this.#gateway.origin}/sessions${path}`;
    const {answer, text} = await this.fetch(url, {method, headers: {Accept: 'application/json'}});
    if (!expected.includes(answer.status)) throw refusal(answer, text);
    return text;
  }

  async #use(refreshToken, more = {}) {
    const answer = await tokens(this.#gateway, {grant_type: 'refresh_token', refresh_token: refreshToken, ...more});
    if (answer.refresh_token) {
      // The one that was sent counts no more.
      this.#newest = {refreshToken: answer.refresh_token};
      await this.#store.save(this.#newest).catch(() => {});
    }
    return answer;
  }

  async #credential() {
    return this.#newest ?? (await this.#store.load());
  }

  async #forget() {
    this.#newest = null;
    this.#access = null;
    await this.#store.delete();
    this.#changed(false);
  }

  /** Uses the credential after all earlier uses, since each replaces it. */
  #inTurn(work) {
    const turn = this.#last.then(async () => {
      const credential = await this.#credential();
      if (credential === null) throw new GatewayError('signedOut');
      try {
        return await work(credential);
      } catch (error) {
        if (error.kind === 'signedOut') await this.#forget();
        throw error;
      }
    });
    this.#last = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }
}

/** The access token of an answer of the token endpoint. */
export function accessToken({access_token: value, expires_in: seconds = 0}) {
  return {value, ends: Date.now() + seconds * 1000};
}

// React Native's `URL` knows no host.
function hostname(origin) {
  return origin.replace(/^https?:\/\//, '').replace(/:\d+$/, '');
}
