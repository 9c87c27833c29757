import CookieManager from '@react-native-cookies/cookies';
import {createElement, useCallback, useEffect, useRef, useState} from 'react';
import {WebView} from 'react-native-webview';
import {challengedTarget, makeTries, mint} from './sessionTransfer.mjs';

/**
 * Shows a page of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
 *
 * @param {{origin: string, path: string, app: object}} properties Where the page is (`https://app.example.com`), its path and
 *   query, and what `mint` needs.
 */
export function TransferWebView({origin, path, app}) {
  const tries = useRef(makeTries());
  // The number makes the same page a new source, which the WebView opens again.
  const [page, setPage] = useState(null);

  const open = useCallback(
    async target => {
      const show = uri => setPage(last => ({uri, number: (last?.number ?? 0) + 1}));
      try {
        if (!tries.current()) throw new Error('too many tries');
        const token = await mint(app);
        const cookie = {path: '/', secure: true, httpOnly: true};
        // The last argument: into the cookie store of WKWebView.
        await CookieManager.set(origin, {...cookie, name: 'auth0_session_transfer_token', value: token}, true);
        await CookieManager.set(origin, {...cookie, name: '__Host-sallyport-native', value: '1'}, true);
        show(origin + target);
      } catch {
        // The user signs in by hand, and comes back to the page.
        show(`${origin}/.sallyport/login?return_to=${encodeURIComponent(target)}`);
      }
    },
    [origin, app],
  );

  useEffect(() => {
    open(path);
  }, [open, path]);

  const onMessage = ({nativeEvent}) => {
    // Every page in the WebView can send messages.
    const isOurs = nativeEvent.url === origin || nativeEvent.url.startsWith(`${origin}/`);
    const target = isOurs ? challengedTarget(nativeEvent.data, origin) : null;
    if (target !== null) open(target);
  };

  return page && createElement(WebView, {key: page.number, source: {uri: page.uri}, sharedCookiesEnabled: true, onMessage});
}
