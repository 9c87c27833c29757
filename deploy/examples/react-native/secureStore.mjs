import * as SecureStore from 'expo-secure-store';

const KEY = 'sallyport.credential';
// On this device only, and readable once it has been unlocked after it was started.
const OPTIONS = {keychainAccessible: SecureStore.AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY};

/**
 * The keychain of iOS, and preferences under a key of Android's Keystore. On iOS it survives the deletion of the app: call
 * `delete` at the app's first start.
 */
export const secureStore = {
  async load() {
    const text = await SecureStore.getItemAsync(KEY, OPTIONS);
    return text ? JSON.parse(text) : null;
  },
  save: credential => SecureStore.setItemAsync(KEY, JSON.stringify(credential), OPTIONS),
  delete: () => SecureStore.deleteItemAsync(KEY, OPTIONS),
};
