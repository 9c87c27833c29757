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

/** Whether `url` is a page of `origin`, as browsers write both. */
export function isPageOf(origin, url) {
  return url === origin || url.startsWith(`${origin}/`);
}

/** Handoff by query: the gateway takes the token out of the URL. */
export function pageWithToken(origin, target, token) {
  const [page, ...fragment] = (origin + target).split('#');
  return [`${page}${page.includes('?') ? '&' : '?'}session_transfer_token=${encodeURIComponent(token)}`, ...fragment].join('#');
}

/** Where the user signs in by hand, and comes back to the page. */
export function signInPage(origin, target) {
  return `${origin}/.sallyport/login?return_to=${encodeURIComponent(target)}`;
}

/**
 * Runs before each page: announces the WebView to the gateway, which then asks the app in place of showing its sign-in page. It is
 * no secret, and a script sets it because React Native has no cookie store of its own; `__Host-` forbids a domain.
 */
export function announcement(origin) {
  const cookie = origin.startsWith('https:') ? '__Host-sallyport-native=1; Path=/; Secure' : 'sallyport-native=1; Path=/';
  return `if (location.origin === ${JSON.stringify(origin)}) document.cookie = ${JSON.stringify(cookie)}; true;`;
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
