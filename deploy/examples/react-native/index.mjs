export {AppSession} from './AppSession.mjs';
export {GatewayError} from './gateway.mjs';
export {secureStore} from './secureStore.mjs';
export {signIn, signInByExchange, signOutOfTheBrowser} from './signIn.mjs';
export {WebAppView} from './WebAppView.mjs';
export {handOffToBrowser} from './handOff.mjs';
