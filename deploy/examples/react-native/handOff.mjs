import {openBrowserAsync} from 'expo-web-browser';
import {pageWithToken} from './webApp.mjs';

/**
 * Opens a page in SFSafariViewController or a Custom Tab, signed in. iOS may reach the gateway from there through iCloud Private
 * Relay, from another address than the app; `enforce_device_binding: none` lets it.
 */
export async function handOffToBrowser(session, origin, target) {
  await openBrowserAsync(pageWithToken(origin, target, await session.transferToken()));
}
