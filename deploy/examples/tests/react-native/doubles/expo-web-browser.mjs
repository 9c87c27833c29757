import {listeners, say} from 'react-native';

export async function openAuthSessionAsync(url, redirectUrl, {preferUniversalLinks = false} = {}) {
  if (preferUniversalLinks !== redirectUrl.startsWith('https:')) throw new Error('iOS waits for a scheme `https`');
  const back = await new Promise(resolve => {
    listeners.callback = resolve;
    say({browse: url, until: redirectUrl});
  });
  return back ? {type: 'success', url: back} : {type: 'cancel'};
}
export const openBrowserAsync = async url => say({browser: url});
