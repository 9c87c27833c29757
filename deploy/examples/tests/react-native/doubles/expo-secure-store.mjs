const kept = new Map();

export const AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY = 1;
export const getItemAsync = async key => kept.get(key) ?? null;
export async function setItemAsync(key, value, {keychainAccessible}) {
  if (keychainAccessible !== AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY) throw new Error('readable elsewhere');
  kept.set(key, value);
}
export const deleteItemAsync = async key => kept.delete(key);
