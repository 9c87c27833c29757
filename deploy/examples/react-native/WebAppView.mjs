import {createElement, useCallback, useEffect, useRef, useState} from 'react';
import {Button, Linking} from 'react-native';
import {WebView} from 'react-native-webview';
import {announcement, challengedTarget, isPageOf, makeTries, pageWithToken, signInPage} from './webApp.mjs';

/**
 * Shows pages of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
 *
 * @param {object} properties
 * @param {string} properties.origin Where the pages are, e.g. `https://app.example.com`.
 * @param {string} properties.target The path and query of the first page.
 * @param {AppSession} properties.session
 * @param {() => void} properties.onSignedOut Shows the app's sign-in: the user is signed out.
 */
export function WebAppView({origin, target, session, onSignedOut}) {
  const tries = useRef(makeTries());
  // What the view shows: a page, or a button in place of a page that did not come.
  const [shown, setShown] = useState(null);

  const open = useCallback(
    async to => {
      try {
        if (!tries.current()) throw new Error('too many tries');
        const uri = pageWithToken(origin, to, await session.transferToken());
        setShown({source: {uri, headers: {'Sallyport-Native': '1'}}});
      } catch ({kind}) {
        if (kind === 'signedOut') onSignedOut();
        else if (kind === 'unavailable') setShown({failed: to});
        else setShown({source: {uri: signInPage(origin, to)}});
      }
    },
    [origin, session, onSignedOut],
  );

  useEffect(() => {
    open(target);
  }, [open, target]);

  if (shown?.failed) {
    const again = () => {
      tries.current = makeTries();
      open(shown.failed);
    };
    return createElement(Button, {title: 'No connection. Try again', onPress: again});
  }
  return (
    shown &&
    createElement(WebView, {
      source: shown.source,
      injectedJavaScriptBeforeContentLoaded: announcement(origin),
      onMessage: ({nativeEvent}) => {
        // Every page in the WebView can send messages.
        const to = isPageOf(origin, nativeEvent.url) ? challengedTarget(nativeEvent.data, origin) : null;
        if (to !== null) open(to);
      },
      onError: ({nativeEvent}) => {
        const isOurs = isPageOf(origin, nativeEvent.url ?? '');
        // A URL with a token is of no use a second time.
        const to = isOurs ? nativeEvent.url.slice(origin.length).replace(/[?&]session_transfer_token=[^&#]*/, '') : target;
        setShown({failed: to || '/'});
      },
      // Links to other sites open in the browser, which says where the user is. On Android the view does not say what is a link.
      onShouldStartLoadWithRequest: ({url, navigationType}) => {
        if (navigationType !== 'click' || isPageOf(origin, url)) return true;
        Linking.openURL(url);
        return false;
      },
    })
  );
}
