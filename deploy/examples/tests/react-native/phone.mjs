// Runs the example's app for deploy/examples/tests/check.py: commands on standard input, one JSON object a line.
import {createInterface} from 'node:readline';
import {render} from 'react';
import {listeners, say} from 'react-native';
import {AppSession, WebAppView, secureStore, signIn, signInByExchange, signOutOfTheBrowser} from './index.mjs';

const {GATEWAY: origin, CALLBACK: callback, RETURN_TO: returnTo, HTTPS: https, SCOPE: scope} = process.env;
const newSession = () => new AppSession({origin, clientID: 'app'}, secureStore);
let session = newSession();
let view;

const times = (count, work) => Promise.all(Array.from({length: count}, work));
const commands = {
  state: async () => ((await session.isSignedIn()) ? 'signedIn' : 'signedOut'),
  stored: () => secureStore.load(),
  restart: () => {
    session = newSession();
    return null;
  },
  signIn: () => signIn(session, callback, scope.split(' ')),
  signInByHTTPS: () => signIn(session, https),
  signInByExchange: () => signInByExchange(session, returnTo, 'static'),
  signOutOfTheBrowser: () => signOutOfTheBrowser(session, callback),
  signOut: () => session.signOut(),
  transferToken: () => session.transferToken(),
  accessTokens: ({count}) => times(count, () => session.accessToken()),
  transferTokens: ({count}) => times(count, () => session.transferToken()),
  otherSessions: () => session.otherSessions(),
  endSession: ({session: other}) => session.endSession(other),
  endOtherSessions: () => session.endOtherSessions(),
  fetch: async ({path}) => {
    const {answer, text} = await session.fetch(origin + path);
    return [answer.status, text];
  },
  open: ({target}) => {
    view?.close();
    view = render(WebAppView, {origin, target, session, onSignedOut: () => say({signedOut: true})});
    return null;
  },
  navigates: async ({url, link}) => view.shown.props.onShouldStartLoadWithRequest({url, navigationType: link ? 'click' : 'other'}),
};
const events = {
  message: ({data, url}) => view.shown.props.onMessage({nativeEvent: {data, url}}),
  tryAgain: () => view.shown.props.onPress(),
  callback: ({url}) => listeners.callback(url),
};

for await (const line of createInterface({input: process.stdin})) {
  const {id, do: name, event, ...parameters} = JSON.parse(line);
  if (event) events[event](parameters);
  else {
    Promise.resolve()
      .then(() => commands[name](parameters))
      .then(value => say({id, value: value ?? null}), error => say({id, error: error.kind ?? String(error.stack), reason: error.message}));
  }
}
process.exit(0);
